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
	"errors"
	"fmt"
	"maps"
	"slices"
)

// errUnplaced tells that not everything is placed yet.
var errUnplaced = errors.New("not everything is placed")

// landed is where a replica went.
type landed struct {
	name, deployment, cluster, pool string
	index                           int32
}

// checkLanded verifies the outcome of a run: each wanted replica is placed exactly
// once, on hardware of its kind, and no cluster holds more than it has room for. The
// error wraps errUnplaced if that is only not so yet.
func checkLanded(s shape, all []landed) error {
	byName := map[string]landed{}
	for _, l := range all {
		if l.cluster != "" {
			byName[l.name] = l
		}
	}
	used := map[string]map[string]int{}
	for i := range s.placements {
		wanted := replicaAt(i)
		l, ok := byName[wanted.name()]
		if !ok {
			return fmt.Errorf("%w: %d of %d are; %s is not", errUnplaced, len(byName), s.placements, wanted.name())
		}
		if l.pool != wanted.kind.pool {
			return fmt.Errorf("%s is on pool %s of %s and wants %s", l.name, l.pool, l.cluster, wanted.kind.pool)
		}
		if used[l.cluster] == nil {
			used[l.cluster] = map[string]int{}
		}
		used[l.cluster][l.pool]++
	}
	if len(all) != s.placements {
		return fmt.Errorf("%d objects exist, %d were created", len(all), s.placements)
	}
	return checkRoomKept(s, used)
}

func checkRoomKept(s shape, used map[string]map[string]int) error {
	known := map[string]bool{}
	for i := range s.clusters {
		known[clusterName(i)] = true
	}
	for _, cluster := range slices.Sorted(maps.Keys(used)) {
		if !known[cluster] {
			return fmt.Errorf("something was placed on %s, which does not exist", cluster)
		}
		for pool, count := range used[cluster] {
			if count > roomPerKind {
				return fmt.Errorf("pool %s of %s is overcommitted: %d replicas of one node each, %d nodes", pool, cluster, count, roomPerKind)
			}
		}
	}
	return nil
}

// checkIndexes verifies that the replicas of a deployment on one cluster have
// different indexes: cluster and index make the ModelReplica's name.
func checkIndexes(all []landed) error {
	type key struct {
		deployment, cluster string
		index               int32
	}
	taken := map[key]string{}
	for _, l := range all {
		k := key{l.deployment, l.cluster, l.index}
		if other, ok := taken[k]; ok {
			return fmt.Errorf("%s and %s both have index %d on %s", other, l.name, l.index, l.cluster)
		}
		taken[k] = l.name
	}
	return nil
}

// checkSpread verifies that each replica went where fewest of its deployment were,
// from the outcome alone: room and load only change one way while nothing leaves, so
// a cluster that still has room had it all the time, and no other cluster may have
// come to hold two more of the deployment than it.
func checkSpread(s shape, all []landed) error {
	load := map[string]map[string]int{} // deployment, cluster
	used := map[string]map[string]int{} // pool, cluster
	pools := map[string]string{}
	count := func(counts map[string]map[string]int, group, cluster string) {
		if counts[group] == nil {
			counts[group] = map[string]int{}
		}
		counts[group][cluster]++
	}
	for _, l := range all {
		count(load, l.deployment, l.cluster)
		count(used, l.pool, l.cluster)
		pools[l.deployment] = l.pool
	}
	for _, deployment := range slices.Sorted(maps.Keys(load)) {
		highest := slices.Max(slices.Collect(maps.Values(load[deployment])))
		for i := range s.clusters {
			cluster := clusterName(i)
			hasRoom := used[pools[deployment]][cluster] < roomPerKind
			if hasRoom && load[deployment][cluster] < highest-1 {
				return fmt.Errorf("deployment %s has %d replicas on one cluster and %d on %s, which has room for more",
					deployment, highest, load[deployment][cluster], cluster)
			}
		}
	}
	return nil
}
