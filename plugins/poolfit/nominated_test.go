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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/internal/testhub"
)

func priority(n int32) testhub.Option {
	return func(p *evenkeel.ReplicaPlacement) { p.Spec.Priority = ptr.To(n) }
}

func preemptedBy(preemptor *evenkeel.ReplicaPlacement) testhub.Option {
	return func(p *evenkeel.ReplicaPlacement) {
		p.Status.PreemptedBy = &evenkeel.Preemptor{Namespace: preemptor.Namespace, Name: preemptor.Name, UID: preemptor.UID}
	}
}

// A placement waits for two replicas to leave a cluster of two nodes. Nobody gets the node of the one that has gone first.
func TestNodesOfVictimsAreKept(t *testing.T) {
	urgent := testhub.Placement("urgent", 0, copies(2), priority(10))
	urgent.Status.NominatedCluster = "east"
	first := testhub.Replica("batch", "east", 0, "h100", 1)
	second := testhub.Replica("batch", "east", 1, "h100", 1)
	f := newFixture(t, h100(2),
		placements{testhub.Placement("batch", 0, testhub.On("east", 0, "h100"), preemptedBy(urgent)), testhub.Placement("batch", 1, testhub.On("east", 1, "h100"), preemptedBy(urgent))},
		replicas{first, second})
	info, err := framework.NewPodInfo(virtual.PodFor(urgent))
	require.NoError(t, err)

	// What the scheduler does with nominated Pods at Filter.
	fits := func() bool {
		state, pod := f.cycle(testhub.Placement("chat", 0))
		node := f.node("east").Snapshot()
		node.AddPodInfo(info)
		return f.plugin.Filter(t.Context(), state, pod, node).IsSuccess()
	}
	assert.False(t, fits())
	require.NoError(t, f.cache.RemovePod(f.logger, virtual.PodFor(testhub.Placement("batch", 0, testhub.On("east", 0, "h100"), preemptedBy(urgent)))))
	f.deleteReplica(first)
	assert.False(t, fits(), "one of two nodes is free, and kept")
	assert.True(t, f.filter(testhub.Placement("chat", 0), "east").IsSuccess(), "it is free for somebody who need not wait")
	assert.False(t, f.filter(urgent, "east").IsSuccess(), "for the one that waits it is too little")
	require.NoError(t, f.cache.RemovePod(f.logger, virtual.PodFor(testhub.Placement("batch", 1, testhub.On("east", 1, "h100"), preemptedBy(urgent)))))
	f.deleteReplica(second)
	assert.True(t, f.filter(urgent, "east").IsSuccess())
}

// Filter finds a place beside the one that is kept; Reserve must not choose the other.
func TestReserveLeavesTheNominatedItsPool(t *testing.T) {
	cluster := testhub.Cluster("east", testhub.Pool("h100", 1), twin("h100-b"))
	f := newFixture(t, []*modelplane.InferenceCluster{cluster}, nil, nil)
	urgent := testhub.Placement("urgent", 0, priority(10))
	urgent.Status.NominatedCluster = "east"
	require.NoError(t, f.nominator.Nominate(virtual.PodFor(urgent)))

	poolFor := func(p *evenkeel.ReplicaPlacement) string {
		a, status := f.reserve(p, "east")
		require.True(t, status.IsSuccess(), status.Message())
		defer f.unreserve(a)
		assignment, err := ChosenAssignment(a.state)
		require.NoError(t, err)
		return assignment.Engines[0].Members[0].NodePoolName
	}
	assert.Equal(t, "h100-b", poolFor(testhub.Placement("chat", 0)))
	assert.Equal(t, "h100-b", poolFor(testhub.Placement("as-urgent", 0, priority(10))), "who comes later with the same priority waits")
	assert.Equal(t, "h100", poolFor(urgent), "it does not wait for itself")
	assert.Equal(t, "h100", poolFor(testhub.Placement("more-urgent", 0, priority(11))), "higher priority need not wait")
}

// waiting is a cluster as Filter sees it, with placements that are nominated to it.
func (f *fixture) waiting(cluster string, nominated ...*evenkeel.ReplicaPlacement) *account {
	f.t.Helper()
	node := f.node(cluster).Snapshot()
	for _, p := range nominated {
		info, err := framework.NewPodInfo(virtual.PodFor(p))
		require.NoError(f.t, err)
		node.AddPodInfo(info)
	}
	a, err := f.plugin.ledger.account(node)
	require.NoError(f.t, err)
	return a
}

// Of those that wait for one cluster the most urgent takes its nodes first, in whatever order they are listed.
func TestTheMostUrgentTakesFirst(t *testing.T) {
	urgent, batch := testhub.Placement("urgent", 0, copies(2), priority(20)), testhub.Placement("batch", 0, priority(10))
	f := newFixture(t, h100(2), nil, nil)
	assert.EqualValues(t, 0, f.waiting("east", urgent, batch).free["h100"])
	assert.EqualValues(t, 0, f.waiting("east", batch, urgent).free["h100"])
	// Of equals the first by name.
	first, second := testhub.Placement("a", 0, copies(2)), testhub.Placement("b", 0)
	assert.EqualValues(t, 0, f.waiting("east", second, first).free["h100"])
	assert.EqualValues(t, 0, f.waiting("east", first, second).free["h100"])
}

// A victim that a simulation has removed makes room once, not twice.
func TestAVictimMakesRoomOnce(t *testing.T) {
	urgent := testhub.Placement("urgent", 0, copies(2), priority(10))
	f := newFixture(t, h100(2),
		placements{testhub.Placement("batch", 0, testhub.On("east", 0, "h100"), preemptedBy(urgent)), testhub.Placement("stays", 0, testhub.On("east", 0, "h100"))},
		replicas{testhub.Replica("batch", "east", 0, "h100", 1), testhub.Replica("stays", "east", 0, "h100", 1)})
	a := f.waiting("east", urgent)
	assert.EqualValues(t, 0, a.free["h100"])
	removed := map[types.NamespacedName]bool{replicaName(testhub.Namespace, "batch", "east", 0): true}
	assert.EqualValues(t, 1, f.plugin.ledger.freeFor(a, removed)["h100"], "too little for the one that waits, so it takes nothing")
}

// twin is a pool with the devices of h100.
func twin(name string) modelplane.GPUPool {
	pool := testhub.Pool("h100", 1)
	pool.Name = name
	return pool
}
