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

package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// randomFleets is how many fleets each property is tried on.
const randomFleets = 500

// randomFleet is a fleet at rest, with room that has come up since, and the clusters to drain.
func randomFleet(t *testing.T, random *rand.Rand, uniform bool) (*Snapshot, []string) {
	t.Helper()
	var fleet Snapshot
	names := []string{"east", "north", "south", "west"}[:2+random.IntN(3)]
	for _, name := range names {
		fleet.Clusters = append(fleet.Clusters, testCluster(name, random.Int64N(4)))
	}
	for i := range 1 + random.IntN(4) {
		size := int32(1)
		if !uniform {
			size += random.Int32N(2)
		}
		d := testDeployment([]string{"a", "b"}[random.IntN(2)], fmt.Sprintf("d%d", i), 1+random.Int32N(3), size)
		if !uniform && random.IntN(4) == 0 {
			d.Spec.Template.Spec.ClusterSelector = &modelplane.LabelSelector{MatchLabels: map[string]string{"name": names[random.IntN(len(names))]}}
		}
		if random.IntN(6) == 0 {
			d.Spec.Template.Spec.Tolerations = []modelplane.Toleration{{Operator: modelplane.TolerationOpExists}}
		}
		fleet.Deployments = append(fleet.Deployments, d)
	}
	snapshot := settled(t, fleet)
	for i := range snapshot.Clusters {
		snapshot.Clusters[i].Status.GPUPools[0].Nodes += random.Int64N(3)
		snapshot.Clusters[i].ResourceVersion = "2"
	}
	if random.IntN(2) == 0 {
		snapshot.Policies = []evenkeel.DisruptionPolicy{testPolicy("a", "p", randomPolicy(random))}
	}
	drained := []string{names[random.IntN(len(names))]}
	if other := names[random.IntN(len(names))]; random.IntN(3) == 0 && other != drained[0] {
		drained = append(drained, other)
	}
	return snapshot, drained
}

func randomPolicy(random *rand.Rand) evenkeel.DisruptionSettings {
	settings := evenkeel.DisruptionSettings{MaxUnavailable: ptr.To(intstr.FromInt32(random.Int32N(4)))}
	settings.Strategy = []evenkeel.DisruptionStrategy{evenkeel.StrategyRecreate, evenkeel.StrategyMakeBeforeBreak}[random.IntN(2)]
	settings.WhenUnplaceable = []evenkeel.UnplaceablePolicy{evenkeel.WhenUnplaceableEvict, evenkeel.WhenUnplaceableHold}[random.IntN(2)]
	return settings
}

// outcome gives where a plan leaves the replica of each slot that it tells of, "" for one without a cluster.
func outcome(plan *Plan) map[string]string {
	out := map[string]string{}
	for i := range plan.Replicas {
		r := &plan.Replicas[i]
		if r.Outcome == OutcomeRemoved {
			continue
		}
		key := fmt.Sprintf("%s/%s-%d", r.Namespace, r.Deployment, r.Slot)
		out[key] = ""
		if r.To != nil {
			out[key] = fmt.Sprintf("%s/%d", r.To.Cluster, r.To.Index)
		}
	}
	return out
}

// With one move at a time, a plan is what happens when other programs with the same decisions are driven step by step.
func TestPlanIsWhatHappens(t *testing.T) {
	told := 0
	for seed := range randomFleets {
		random := rand.New(rand.NewPCG(uint64(seed), 1))
		snapshot, drained := randomFleet(t, random, false)
		options := testOptions(t)
		options.Controller.MaxParallelMoves, options.Controller.MaxLoadingPerCluster = 1, 0

		plan, err := Run(t.Context(), snapshot, Drain(testTaint, drained...), options)
		require.NoError(t, err, "seed %d", seed)
		require.Empty(t, plan.Unfinished, "seed %d", seed)

		r := newReference(snapshot, 1)
		before := r.outcome()
		r.taint(drained...)
		require.NoError(t, r.settle(), "seed %d\n%s", seed, strings.Join(r.trace, "\n"))
		want := r.outcome()
		foreseen := outcome(plan)
		told += len(foreseen)
		for slot, place := range want {
			foretold, found := foreseen[slot]
			if !found {
				foretold = before[slot]
			}
			require.Equal(t, place, foretold, "seed %d: %s of a drain of %v\n%s", seed, slot, drained, strings.Join(r.trace, "\n"))
		}
	}
	require.Greater(t, told, randomFleets, "the fleets are too dull to tell anything")
}

// With many moves at a time and in another order the replicas may go elsewhere, but no cluster gets more than it has
// room for, no budget is overdrawn, and as many find no place.
func TestOrderChangesNoNumbers(t *testing.T) {
	for seed := range randomFleets / 5 {
		random := rand.New(rand.NewPCG(uint64(seed), 2))
		snapshot, drained := randomFleet(t, random, true)
		plan, err := Run(t.Context(), snapshot, Drain(testTaint, drained...), testOptions(t))
		require.NoError(t, err, "seed %d", seed)

		r := newReference(snapshot, 0)
		r.order = func(keys []types.NamespacedName) {
			random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		}
		r.taint(drained...)
		require.NoError(t, r.settle(), "seed %d", seed)
		waiting := 0
		for _, p := range r.placements {
			if !over(p) && p.Status.Assignment == nil {
				waiting++
			}
		}
		require.Equal(t, waiting, unplaced(snapshot, plan), "seed %d: drain of %v: %v", seed, drained, told(plan))
		checkRoom(t, snapshot, plan, seed)
	}
}

// unplaced counts the placements that wait in the end, those included that waited before and still do.
func unplaced(snapshot *Snapshot, plan *Plan) int {
	n := plan.Unplaceable()
	landed := plan.Count(OutcomeLands)
	for i := range snapshot.Placements {
		if p := &snapshot.Placements[i]; !over(p) && p.Status.Assignment == nil {
			n++
		}
	}
	return n - landed
}

// checkRoom checks that no cluster has more replicas than nodes in the end.
func checkRoom(t *testing.T, snapshot *Snapshot, plan *Plan, seed int) {
	t.Helper()
	used := map[string]int64{}
	for i := range snapshot.Replicas {
		used[snapshot.Replicas[i].Spec.ClusterName]++
	}
	for i := range plan.Replicas {
		if r := &plan.Replicas[i]; r.From != nil {
			used[r.From.Cluster]--
		}
		if r := &plan.Replicas[i]; r.To != nil {
			used[r.To.Cluster]++
		}
	}
	for i := range snapshot.Clusters {
		c := &snapshot.Clusters[i]
		require.LessOrEqual(t, used[c.Name], c.Status.GPUPools[0].Nodes, "seed %d: cluster %s", seed, c.Name)
	}
}
