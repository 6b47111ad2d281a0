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

package poolfit

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"pgregory.net/rapid"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/internal/testhub"
)

func TestReserveChoosesPoolsAndIndex(t *testing.T) {
	f := newFixture(t, clusters{testhub.Cluster("east", testhub.Pool("h100", 1), testhub.Pool("l4", 4))}, nil, nil)
	p := testhub.Placement("chat", 0, testhub.Engines(testhub.Engine("prefill", 1, "h100"), testhub.Engine("decode", 3, "l4")))
	got, status := f.reserve(p, "east")
	require.True(t, status.IsSuccess(), status.Message())

	assignment, err := ChosenAssignment(got.state)
	require.NoError(t, err)
	want := &evenkeel.Assignment{ClusterName: "east", Index: 0, Engines: []evenkeel.EngineAssignment{
		{Name: "prefill", Members: []evenkeel.MemberAssignment{{NodePoolName: "h100"}}},
		{Name: "decode", Members: []evenkeel.MemberAssignment{{NodePoolName: "l4"}}},
	}}
	assert.Empty(t, cmp.Diff(want, assignment))

	f.update()
	assert.Equal(t, int64(0), f.free("east", "h100"))
	assert.Equal(t, int64(1), f.free("east", "l4"))

	cloned, err := ChosenAssignment(got.state.Clone())
	require.NoError(t, err, "the binding cycle may have a clone of the state")
	assert.Empty(t, cmp.Diff(want, cloned))
}

// A placement holds its nodes from Reserve on, through the binding, until its ModelReplica does.
func TestReservationLifeCycle(t *testing.T) {
	f := newFixture(t, h100(1), nil, nil)
	first, second := testhub.Placement("first", 0), testhub.Placement("second", 0)

	got, status := f.reserve(first, "east")
	require.True(t, status.IsSuccess(), status.Message())
	assert.Equal(t, 1, f.reservations())
	assert.Equal(t, fwk.Unschedulable, f.filter(second, "east").Code(), "while the first is being bound")

	f.unreserve(got)
	assert.Zero(t, f.reservations())
	assert.True(t, f.filter(second, "east").IsSuccess(), "after the binding of the first failed")
	assert.NotPanics(t, func() { f.plugin.Unreserve(t.Context(), got.state, got.pod, "east") }, "twice is as good as once")

	got, status = f.reserve(first, "east")
	require.True(t, status.IsSuccess(), status.Message())
	f.bind(first, got)
	assert.Equal(t, fwk.Unschedulable, f.filter(second, "east").Code(), "after the first is bound")
	assert.Equal(t, 1, f.reservations(), "its name is not to be given away yet")

	replica := testhub.Replica("first", "east", 0, "h100", 1)
	f.addReplica(replica)
	assert.Equal(t, fwk.Unschedulable, f.filter(second, "east").Code(), "after its replica is seen")
	assert.Zero(t, f.free("east", "h100"), "and not charged twice")
	assert.Zero(t, f.reservations(), "the replica holds the name")
}

// Between the two calls by which the scheduler gives up a binding, the Pod is still counted on the cluster.
func TestUnreservedPodCountsUntilForgotten(t *testing.T) {
	f := newFixture(t, h100(1), nil, nil)
	got, status := f.reserve(testhub.Placement("first", 0), "east")
	require.True(t, status.IsSuccess(), status.Message())
	f.plugin.Unreserve(t.Context(), got.state, got.pod, "east")
	assert.False(t, f.filter(testhub.Placement("second", 0), "east").IsSuccess())
}

// The replica of a placement that is being bound may be seen before the placement with its assignment is.
func TestReplicaSeenBeforeTheAssignment(t *testing.T) {
	f := newFixture(t, h100(2), nil, nil)
	_, status := f.reserve(testhub.Placement("first", 0), "east")
	require.True(t, status.IsSuccess(), status.Message())
	f.addReplica(testhub.Replica("first", "east", 0, "h100", 1))
	f.update()
	assert.Equal(t, int64(1), f.free("east", "h100"))
	assert.Equal(t, 1, f.reservations(), "what the binding ends with must still know it")
}

// A name has 20 bits of hash: here are two clusters on which a deployment's first replicas would share theirs.
func TestNamesOfTwoClustersCollide(t *testing.T) {
	clusterOf := map[string]string{}
	var first, second string
	for i := 0; second == ""; i++ {
		cluster := fmt.Sprintf("cluster-%d", i)
		name := placement.ReplicaName("chat", cluster, 0)
		if other, found := clusterOf[name]; found {
			first, second = other, cluster
		}
		clusterOf[name] = cluster
	}
	f := newFixture(t, clusters{testhub.Cluster(first, testhub.Pool("h100", 1)), testhub.Cluster(second, testhub.Pool("h100", 1))}, nil, nil)
	p := testhub.Placement("chat", 0)
	got, status := f.reserve(p, first)
	require.True(t, status.IsSuccess(), status.Message())
	f.bind(p, got)
	f.update()
	f.free(first, "h100")

	got, status = f.reserve(testhub.Placement("chat", 1), second)
	require.True(t, status.IsSuccess(), status.Message())
	assignment, err := ChosenAssignment(got.state)
	require.NoError(t, err)
	assert.Equal(t, int32(1), assignment.Index, "%s and %s", first, second)
}

func TestDeletedPodGivesUpItsReservation(t *testing.T) {
	for name, event := range map[string]func(*v1.Pod) any{
		"seen":   func(pod *v1.Pod) any { return pod },
		"missed": func(pod *v1.Pod) any { return cache.DeletedFinalStateUnknown{Key: "ml-team/first-0-1", Obj: pod} },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, h100(1), nil, nil)
			got, status := f.reserve(testhub.Placement("first", 0), "east")
			require.True(t, status.IsSuccess(), status.Message())
			f.plugin.ledger.podDeleted(event(virtual.PodFor(testhub.Placement("other", 0))))
			assert.Equal(t, 1, f.reservations(), "another pod")
			f.plugin.ledger.podDeleted(event(got.pod))
			assert.Zero(t, f.reservations())
		})
	}
	t.Run("not a pod", func(t *testing.T) {
		f := newFixture(t, h100(1), nil, nil)
		assert.NotPanics(t, func() {
			f.plugin.ledger.podDeleted(nil)
			f.plugin.ledger.nodeDeleted("east")
		})
	})
}

func TestReserveSeesAReplicaThatAppearedAfterFilter(t *testing.T) {
	f := newFixture(t, h100(1), nil, nil)
	state, pod := f.cycle(testhub.Placement("chat", 0))
	require.True(t, f.plugin.Filter(t.Context(), state, pod, f.node("east")).IsSuccess())
	f.addReplica(testhub.Replica("other", "east", 0, "h100", 1))
	status := f.plugin.Reserve(t.Context(), state, pod, "east")
	assert.Equal(t, fwk.Unschedulable, status.Code())
	assert.Equal(t, []string{ErrReasonNotEnoughNodes}, status.Reasons())
	assert.Zero(t, f.reservations())
}

func TestReserveTakesTheLowestFreeIndex(t *testing.T) {
	tests := map[string]struct {
		placements placements
		replicas   replicas
		reserved   placements // in flight, in this order
		want       int32
	}{
		"first": {want: 0},
		"after two": {
			placements: placements{testhub.Placement("chat", 0, testhub.On("east", 0, "h100")), testhub.Placement("chat", 1, testhub.On("east", 1, "h100"))},
			want:       2,
		},
		"fills a gap": {
			placements: placements{testhub.Placement("chat", 0, testhub.On("east", 0, "h100")), testhub.Placement("chat", 2, testhub.On("east", 2, "h100"))},
			want:       1,
		},
		"another deployment's indexes are its own": {
			placements: placements{testhub.Placement("other", 0, testhub.On("east", 0, "h100"))}, want: 0,
		},
		"another namespace's indexes are its own": {
			placements: placements{testhub.Placement("chat", 0, testhub.In("other-team"), testhub.On("east", 0, "h100"))},
			replicas:   replicas{testhub.Replica("chat", "east", 0, "h100", 1, testhub.ReplicaIn("other-team"))},
			want:       0,
		},
		"indexes on another cluster are that cluster's": {
			placements: placements{testhub.Placement("chat", 0, testhub.On("west", 0, "h100"))},
			replicas:   replicas{testhub.Replica("chat", "west", 0, "h100", 1)},
			want:       0,
		},
		"a placement that is about to leave keeps its index": {
			placements: placements{testhub.Placement("chat", 0, testhub.On("east", 0, "h100"),
				testhub.Condition(evenkeel.ConditionDisruptionTarget, evenkeel.CauseTaint))},
			want: 1,
		},
		"a terminating placement keeps its index": {
			placements: placements{testhub.Placement("chat", 0, testhub.On("east", 0, "h100"), testhub.Terminating)}, want: 1,
		},
		"a replica without a placement keeps its name": {
			replicas: replicas{testhub.Replica("chat", "east", 0, "h100", 1)}, want: 1,
		},
		"a terminating replica keeps its name": {
			placements: placements{testhub.Placement("chat", 0, testhub.On("east", 0, "h100"), testhub.Condition(evenkeel.ConditionMoved, "Moved"))},
			replicas:   replicas{testhub.Replica("chat", "east", 0, "h100", 1, testhub.ReplicaTerminating)},
			want:       1,
		},
		"a foreign object keeps its name, on whatever cluster": {
			replicas: replicas{
				testhub.Replica("stranger", "west", 7, "l4", 1, testhub.ReplicaNamed(placement.ReplicaName("chat", "east", 0))),
				testhub.Replica("stranger", "west", 8, "l4", 1, testhub.ReplicaNamed(placement.ReplicaName("chat", "east", 1))),
			},
			want: 2,
		},
		"indexes that are being bound": {
			reserved: placements{testhub.Placement("chat", 0), testhub.Placement("chat", 1), testhub.Placement("other", 0)}, want: 2,
		},
		"a gap, then one that is being bound, then a foreign name": {
			placements: placements{testhub.Placement("chat", 0, testhub.On("east", 0, "h100"))},
			reserved:   placements{testhub.Placement("chat", 1)},
			replicas:   replicas{testhub.Replica("stranger", "west", 7, "l4", 1, testhub.ReplicaNamed(placement.ReplicaName("chat", "east", 2)))},
			want:       3,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			fleet := clusters{testhub.Cluster("east", testhub.Pool("h100", 16)), testhub.Cluster("west", testhub.Pool("h100", 16))}
			f := newFixture(t, fleet, tc.placements, tc.replicas)
			for _, p := range tc.reserved {
				_, status := f.reserve(p, "east")
				require.True(t, status.IsSuccess(), status.Message())
			}
			got, status := f.reserve(testhub.Placement("chat", 9), "east")
			require.True(t, status.IsSuccess(), status.Message())
			assignment, err := ChosenAssignment(got.state)
			require.NoError(t, err)
			assert.Equal(t, tc.want, assignment.Index)
		})
	}
}

// However placements, bindings, failures and replicas follow each other, no pool is overcommitted and no name is given
// twice.
func TestNeverOvercommits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const nodes = 6
		f := newFixture(t, clusters{testhub.Cluster("east", testhub.Pool("h100", nodes)), testhub.Cluster("west", testhub.Pool("h100", nodes))}, nil, nil)
		type bound struct {
			placement *evenkeel.ReplicaPlacement
			assumed   assumed
			cost      int32
			seen      bool
		}
		var inFlight, done []*bound
		slot := int32(0)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"place", "place", "bind", "fail", "see"}).Draw(rt, "step") {
			case "place":
				cost := rapid.Int32Range(1, 3).Draw(rt, "cost")
				p := testhub.Placement(rapid.SampledFrom([]string{"chat", "code"}).Draw(rt, "deployment"), slot, copies(cost))
				slot++
				got, status := f.reserve(p, rapid.SampledFrom([]string{"east", "west"}).Draw(rt, "cluster"))
				if status.IsSuccess() {
					inFlight = append(inFlight, &bound{placement: p, assumed: got, cost: cost})
				}
			case "bind":
				if len(inFlight) > 0 {
					f.bind(inFlight[0].placement, inFlight[0].assumed)
					done, inFlight = append(done, inFlight[0]), inFlight[1:]
				}
			case "fail":
				if len(inFlight) > 0 {
					f.unreserve(inFlight[0].assumed)
					inFlight = inFlight[1:]
				}
			case "see":
				for _, b := range done {
					if !b.seen {
						b.seen = true
						a, _ := ChosenAssignment(b.assumed.state)
						f.addReplica(testhub.Replica(b.placement.Spec.DeploymentName, a.ClusterName, a.Index, "h100", b.cost))
						break
					}
				}
			}
			taken, given := map[string]int32{}, map[string]bool{}
			for _, b := range append(append([]*bound{}, inFlight...), done...) {
				a, err := ChosenAssignment(b.assumed.state)
				require.NoError(rt, err)
				taken[a.ClusterName] += b.cost
				name := placement.ReplicaName(b.placement.Spec.DeploymentName, a.ClusterName, a.Index)
				require.False(rt, given[name], "%s given twice", name)
				given[name] = true
			}
			f.update()
			for _, cluster := range []string{"east", "west"} {
				require.LessOrEqual(rt, taken[cluster], int32(nodes), cluster)
				require.Equal(rt, int64(nodes-taken[cluster]), f.free(cluster, "h100"), fmt.Sprintf("free on %s", cluster))
			}
		}
	})
}
