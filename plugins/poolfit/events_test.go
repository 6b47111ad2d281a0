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
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/internal/testhub"
)

type hint func(pl *PoolFit) fwk.QueueingHintFn

func nodeHint(pl *PoolFit) fwk.QueueingHintFn    { return pl.isSchedulableAfterNodeChange }
func podHint(pl *PoolFit) fwk.QueueingHintFn     { return pl.isSchedulableAfterPodChange }
func replicaHint(pl *PoolFit) fwk.QueueingHintFn { return pl.isSchedulableAfterModelReplicaChange }

func node(pools ...modelplane.GPUPool) *v1.Node {
	return virtual.NodeFor(testhub.Cluster("east", pools...))
}

func generation(n int64) testhub.ReplicaOption {
	return func(r *modelplane.ModelReplica) { r.Generation = n }
}

func clusterName(name string) testhub.ReplicaOption {
	return func(r *modelplane.ModelReplica) { r.Spec.ClusterName = name }
}

// The hub has a cluster east with four h100 nodes; the placement that waits needs two.
func TestHints(t *testing.T) {
	pending := func(options ...testhub.Option) *evenkeel.ReplicaPlacement {
		return testhub.Placement("chat", 0, append([]testhub.Option{copies(2)}, options...)...)
	}
	other := func(options ...testhub.Option) *v1.Pod {
		return virtual.PodFor(testhub.Placement("other", 0, append(options, testhub.On("east", 0, "h100"))...))
	}
	nominated := func(cluster string) *v1.Pod {
		p := testhub.Placement("other", 0)
		p.Status.NominatedCluster = cluster
		return virtual.PodFor(p)
	}
	elsewhere := virtual.PodFor(testhub.Placement("other", 0, testhub.On("gone", 0, "h100")))
	gone := testhub.Replica("other", "east", 9, "h100", 2)

	tests := map[string]struct {
		replicas replicas // as they are when the event is heard
		pending  *evenkeel.ReplicaPlacement
		hint     hint
		old, new any
		want     fwk.QueueingHint
		wantErr  bool
	}{
		"cluster with enough nodes came":         {hint: nodeHint, new: node(testhub.Pool("h100", 2)), want: fwk.Queue},
		"cluster with too few nodes came":        {hint: nodeHint, new: node(testhub.Pool("h100", 1)), want: fwk.QueueSkip},
		"cluster with other devices came":        {hint: nodeHint, new: node(testhub.Pool("l4", 9)), want: fwk.QueueSkip},
		"cluster without pools came":             {hint: nodeHint, new: node(), want: fwk.QueueSkip},
		"pool grew enough":                       {hint: nodeHint, old: node(testhub.Pool("h100", 1)), new: node(testhub.Pool("h100", 2)), want: fwk.Queue},
		"pool grew, but all of it is taken":      {hint: nodeHint, old: node(testhub.Pool("h100", 1)), new: node(testhub.Pool("h100", 2)), replicas: replicas{gone}, want: fwk.QueueSkip},
		"pool with the right devices was added":  {hint: nodeHint, old: node(testhub.Pool("l4", 9)), new: node(testhub.Pool("l4", 9), testhub.Pool("h100", 2)), want: fwk.Queue},
		"cluster changed, but not its pools":     {hint: nodeHint, old: virtual.NodeFor(&modelplane.InferenceCluster{}), new: virtual.NodeFor(&modelplane.InferenceCluster{}), want: fwk.QueueSkip},
		"cluster came, its replicas still there": {hint: nodeHint, new: node(testhub.Pool("h100", 3)), replicas: replicas{gone}, want: fwk.QueueSkip},
		"not a node":                             {hint: nodeHint, new: &v1.Pod{}, want: fwk.Queue, wantErr: true},
		"pools that nobody can read":             {hint: nodeHint, new: brokenNode(), want: fwk.Queue, wantErr: true},

		"replica went": {hint: replicaHint, old: gone, want: fwk.Queue},
		"replica went unseen": {
			hint: replicaHint, old: cache.DeletedFinalStateUnknown{Key: "ml-team/x", Obj: gone}, want: fwk.Queue,
		},
		"replica went, but others leave too little": {
			hint: replicaHint, old: gone, replicas: replicas{testhub.Replica("other", "east", 1, "h100", 3)}, want: fwk.QueueSkip,
		},
		"replica went from a pool that does not match": {
			hint: replicaHint, old: testhub.Replica("other", "east", 0, "l4", 3), replicas: replicas{testhub.Replica("other", "east", 1, "h100", 3)}, want: fwk.QueueSkip,
		},
		"replica went from a cluster that is gone": {
			hint: replicaHint, old: testhub.Replica("other", "gone", 0, "h100", 3), want: fwk.QueueSkip,
		},
		"replica's status changed": {
			hint: replicaHint, old: testhub.Replica("other", "east", 0, "h100", 3, generation(2)), new: testhub.Replica("other", "east", 0, "h100", 3, generation(2)), want: fwk.QueueSkip,
		},
		"replica costs less": {
			hint: replicaHint, old: testhub.Replica("other", "east", 0, "h100", 3, generation(1)), new: testhub.Replica("other", "east", 0, "h100", 1, generation(2)),
			replicas: replicas{testhub.Replica("other", "east", 0, "h100", 1)}, want: fwk.Queue,
		},
		"replica costs less, but not enough": {
			hint: replicaHint, old: testhub.Replica("other", "east", 0, "h100", 4, generation(1)), new: testhub.Replica("other", "east", 0, "h100", 3, generation(2)),
			replicas: replicas{testhub.Replica("other", "east", 0, "h100", 3)}, want: fwk.QueueSkip,
		},
		"replica costs more": {
			hint: replicaHint, old: testhub.Replica("other", "east", 0, "h100", 1), new: testhub.Replica("other", "east", 0, "h100", 2),
			replicas: replicas{testhub.Replica("other", "east", 0, "h100", 2)}, want: fwk.QueueSkip,
		},
		"replica was moved away by hand": {
			hint: replicaHint, old: testhub.Replica("other", "east", 0, "h100", 3), new: testhub.Replica("other", "east", 0, "h100", 3, clusterName("west")), want: fwk.Queue,
		},
		"not a replica": {hint: replicaHint, old: &v1.Pod{}, want: fwk.Queue, wantErr: true},
		"placement that takes over from a replica that is still there": {
			hint: replicaHint, pending: pending(testhub.Attempt(2), testhub.Replaces("chat-0-1")), old: gone,
			replicas: replicas{testhub.Replica("chat", "east", 0, "h100", 4)}, want: fwk.Queue,
		},
		"placement that takes over from none, and its deployment's replicas leave too little": {
			hint: replicaHint, old: gone, replicas: replicas{testhub.Replica("chat", "east", 0, "h100", 4)}, want: fwk.QueueSkip,
		},
		"placement that takes over from a replica of another deployment's name": {
			hint: replicaHint, pending: pending(testhub.Attempt(2), testhub.Replaces("chat-0-1")), old: gone,
			replicas: replicas{testhub.Replica("chat", "east", 0, "h100", 4, testhub.ReplicaIn("other-team"))}, want: fwk.QueueSkip,
		},
		"placement with an invalid selector": {
			hint: replicaHint, pending: pending(testhub.Engines(testhub.Engine("main", 1, `"`))), old: gone, want: fwk.QueueSkip,
		},

		"placement without a replica went": {hint: podHint, old: other(), want: fwk.Queue},
		"placement went unseen":            {hint: podHint, old: cache.DeletedFinalStateUnknown{Key: "x", Obj: other()}, want: fwk.Queue},
		"placement went, its replica is still there": {
			hint: podHint, old: other(), replicas: replicas{testhub.Replica("other", "east", 0, "h100", 1)}, want: fwk.QueueSkip,
		},
		"placement went, its replica was moved by hand": {
			hint: podHint, old: other(), replicas: replicas{testhub.Replica("other", "east", 0, "h100", 1, clusterName("west"))}, want: fwk.Queue,
		},
		"placement went, but replicas leave too little": {
			hint: podHint, old: other(), replicas: replicas{testhub.Replica("more", "east", 0, "h100", 3)}, want: fwk.QueueSkip,
		},
		"placement went from a cluster that is gone":     {hint: podHint, old: elsewhere, want: fwk.QueueSkip},
		"placement that had no cluster went":             {hint: podHint, old: nominated(""), want: fwk.QueueSkip},
		"placement that was nominated to a cluster went": {hint: podHint, old: nominated("east"), want: fwk.Queue},
		"placement needs less":                           {hint: podHint, old: other(copies(3)), new: other(copies(1)), want: fwk.Queue},
		"placement needs less, its replica is there": {
			hint: podHint, old: other(copies(3)), new: other(copies(1)), replicas: replicas{testhub.Replica("other", "east", 0, "h100", 3)}, want: fwk.QueueSkip,
		},
		"placement's status changed": {
			hint: podHint, old: other(), new: other(testhub.Condition(evenkeel.ConditionDisruptionTarget, evenkeel.CauseTaint)), want: fwk.QueueSkip,
		},
		"not a placement": {hint: podHint, old: &v1.Node{}, want: fwk.Queue, wantErr: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			logger, _ := ktesting.NewTestContext(t)
			f := newFixture(t, h100(4), nil, tc.replicas)
			p := tc.pending
			if p == nil {
				p = pending()
			}
			got, err := tc.hint(f.plugin)(logger, virtual.PodFor(p), tc.old, tc.new)
			assert.Equal(t, tc.wantErr, err != nil, "error %v", err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func brokenNode() *v1.Node {
	broken := node()
	broken.Annotations[virtual.AnnotationPools] = "{"
	return broken
}

// Engines choose pools greedily. What does not fit with more nodes may fit with fewer, and a hint, which sees more free
// nodes than there are, must not let that placement sleep.
func TestHintDoesNotMissAGreedyFit(t *testing.T) {
	both := testhub.Engine("any", 2, "")
	both.Members[0].Devices = testhub.Requests("true")
	p := testhub.Placement("chat", 0, testhub.Engines(both, testhub.Engine("main", 1, "h100")))
	east := testhub.Cluster("east", testhub.Pool("h100", 2), testhub.Pool("l4", 2))

	unseen := testhub.Placement("other", 0, testhub.On("east", 0, "h100"))
	f := newFixture(t, clusters{east}, placements{unseen}, nil)
	require.True(t, f.filter(p, "east").IsSuccess(), "any goes to l4, since h100 has one node left")

	logger, _ := ktesting.NewTestContext(t)
	got, err := f.plugin.isSchedulableAfterNodeChange(logger, virtual.PodFor(p), nil, f.node("east").Node())
	require.NoError(t, err)
	assert.Equal(t, fwk.Queue, got)
}

func TestEventsMatchWhatTheSchedulerSends(t *testing.T) {
	f := newFixture(t, h100(4), nil, nil)
	registered, err := f.plugin.EventsToRegister(t.Context())
	require.NoError(t, err)
	matches := func(event fwk.ClusterEvent) bool {
		for _, r := range registered {
			if framework.MatchClusterEvents(r.Event, event) {
				return true
			}
		}
		return false
	}
	grown := framework.NodeSchedulingPropertiesChange(node(testhub.Pool("h100", 2)), node(testhub.Pool("h100", 1)))
	assert.True(t, matches(fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}))
	assert.Contains(t, grown, fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeAnnotation})
	assert.True(t, matches(framework.EventAssignedPodDelete))
	assert.True(t, matches(framework.EventAssignedPodUpdate))
	assert.True(t, matches(fwk.ClusterEvent{Resource: "modelreplicas.v1alpha1.modelplane.ai", ActionType: fwk.Delete}))
	assert.True(t, matches(fwk.ClusterEvent{Resource: "modelreplicas.v1alpha1.modelplane.ai", ActionType: fwk.Update}))
	assert.False(t, matches(fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeTaint}), "a taint changes nothing here")
	assert.False(t, matches(framework.EventAssignedPodAdd), "more placements leave fewer nodes")
}
