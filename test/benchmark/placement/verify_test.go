/*
Copyright The Evenkeel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package placement

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// spreadOut places everything as the hub scheduler must: where fewest replicas of
// the deployment are, then by name, while there is room.
func spreadOut(s shape) []landed {
	used := map[string]map[string]int{}
	load := map[string]map[string]int{}
	var all []landed
	for i := range s.placements {
		r := replicaAt(i)
		best := ""
		for c := range s.clusters {
			cluster := clusterName(c)
			if used[r.kind.pool][cluster] >= roomPerKind {
				continue
			}
			if best == "" || load[r.deployment][cluster] < load[r.deployment][best] {
				best = cluster
			}
		}
		for _, counts := range []struct {
			of    map[string]map[string]int
			group string
		}{{used, r.kind.pool}, {load, r.deployment}} {
			if counts.of[counts.group] == nil {
				counts.of[counts.group] = map[string]int{}
			}
			counts.of[counts.group][best]++
		}
		all = append(all, landed{
			name: r.name(), deployment: r.deployment, cluster: best, pool: r.kind.pool,
			index: int32(load[r.deployment][best] - 1),
		})
	}
	return all
}

func TestChecksAcceptTheRightOutcome(t *testing.T) {
	for _, s := range []shape{
		{clusters: 1, placements: 1},
		{clusters: 3, placements: 95},     // more replicas of a deployment than clusters
		{clusters: 3, placements: 100},    // nearly full: the last deployments find little room
		{clusters: 100, placements: 2000}, // the measured size
	} {
		require.NoError(t, s.checkRoom())
		all := spreadOut(s)
		assert.NoError(t, checkLanded(s, all))
		assert.NoError(t, checkIndexes(all))
		assert.NoError(t, checkSpread(s, all))
	}
}

func TestCheckLanded(t *testing.T) {
	s := shape{clusters: 3, placements: 60}
	for name, tc := range map[string]struct {
		spoil func([]landed) []landed
		want  string
	}{
		"one is not placed": {
			func(all []landed) []landed { all[7].cluster = ""; return all },
			"not everything is placed: 59 of 60 are; model-0000-7-1 is not",
		},
		"one is gone": {
			func(all []landed) []landed { return all[:59] },
			"59 of 60 are; model-0005-9-1 is not",
		},
		"one more": {
			func(all []landed) []landed { return append(all, landed{name: "stranger", cluster: clusterName(0)}) },
			"61 objects exist, 60 were created",
		},
		"a cluster that is not there": {
			func(all []landed) []landed { all[0].cluster = "cluster-0003"; return all },
			"cluster-0003, which does not exist",
		},
		"the wrong hardware": {
			func(all []landed) []landed { all[0].pool = "l4"; return all },
			"is on pool l4 of cluster-0000 and wants h100",
		},
		"overcommitted": {
			func(all []landed) []landed {
				for i := range all {
					all[i].cluster = clusterName(1)
				}
				return all
			},
			"of cluster-0001 is overcommitted: 40 replicas of one node each, 24 nodes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorContains(t, checkLanded(s, tc.spoil(spreadOut(s))), tc.want)
		})
	}
	assert.ErrorIs(t, checkLanded(s, nil), errUnplaced)
	assert.NotErrorIs(t, checkLanded(s, append(spreadOut(s), landed{name: "stranger"})), errUnplaced)
}

func TestCheckIndexes(t *testing.T) {
	all := spreadOut(shape{clusters: 3, placements: 30})
	all[3].index = all[0].index // both of model-0000 on cluster-0000
	assert.EqualError(t, checkIndexes(all), "model-0000-0-1 and model-0000-3-1 both have index 0 on cluster-0000")
}

func TestCheckSpread(t *testing.T) {
	s := shape{clusters: 3, placements: 30}
	all := spreadOut(s)
	all[1].cluster, all[2].cluster = clusterName(0), clusterName(0)
	assert.ErrorContains(t, checkSpread(s, all), "deployment model-0000 has 6 replicas on one cluster and 2 on")

	// The same crowding is right where nothing else has room: 24 of another
	// deployment fill the only other cluster, one more or less on each.
	crowded := shape{clusters: 2}
	var full []landed
	for i := range 2 * roomPerKind {
		deployment, cluster := "filler", clusterName(i%2)
		if i%2 == 0 && i >= 40 {
			deployment = "late"
		}
		full = append(full, landed{deployment: deployment, cluster: cluster, pool: kinds[0].pool})
	}
	assert.NoError(t, checkSpread(crowded, full))
	full = full[:len(full)-1] // and now one node of the other cluster is free
	assert.ErrorContains(t, checkSpread(crowded, full), "deployment late has 4 replicas on one cluster and 0 on cluster-0001")
}
