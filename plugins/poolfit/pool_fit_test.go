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
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/internal/testhub"
)

type (
	clusters   = []*modelplane.InferenceCluster
	placements = []*evenkeel.ReplicaPlacement
	replicas   = []*modelplane.ModelReplica
)

func h100(nodes int64) clusters {
	return clusters{testhub.Cluster("east", testhub.Pool("h100", nodes))}
}

// copies of an engine that each cost one h100 node.
func copies(n int32) testhub.Option {
	return testhub.Engines(testhub.Engine("main", n, "h100"))
}

// The ledger: each row has a cluster "east" and asks what is free in its pool h100 for a new placement.
func TestFilterCountsNodes(t *testing.T) {
	tests := map[string]struct {
		clusters   clusters
		placements placements
		replicas   replicas
		replaces   string
		surge      bool
		free       int64
	}{
		"empty": {clusters: h100(4), free: 4},
		"replica of another deployment": {
			clusters: h100(4), replicas: replicas{testhub.Replica("other", "east", 0, "h100", 3)}, free: 1,
		},
		"replica of this deployment": {
			clusters: h100(4), replicas: replicas{testhub.Replica("chat", "east", 0, "h100", 3)}, free: 1,
		},
		"replica of another namespace": {
			clusters: h100(4), replicas: replicas{testhub.Replica("chat", "east", 0, "h100", 3, testhub.ReplicaIn("other-team"))}, free: 1,
		},
		"replica on another cluster": {
			clusters: h100(4), replicas: replicas{testhub.Replica("other", "west", 0, "h100", 3)}, free: 4,
		},
		"replica without labels, made by hand": {
			clusters: h100(4),
			replicas: replicas{testhub.Replica("other", "east", 0, "h100", 3, func(r *modelplane.ModelReplica) { r.Labels = nil })},
			free:     1,
		},
		"replica that claims nothing": {
			clusters: h100(4), replicas: replicas{testhub.Replica("other", "east", 0, "h100", 3, testhub.ReplicaClaimless)}, free: 4,
		},
		"replica on a pool that is not published any more": {
			clusters: h100(4), replicas: replicas{testhub.Replica("other", "east", 0, "a100", 3)}, free: 4,
		},
		"terminating replica": {
			clusters: h100(4), replicas: replicas{testhub.Replica("other", "east", 0, "h100", 3, testhub.ReplicaTerminating)}, free: 1,
		},
		"terminating replica of this deployment": {
			clusters: h100(4), replicas: replicas{testhub.Replica("chat", "east", 0, "h100", 3, testhub.ReplicaTerminating)}, free: 1,
		},
		"placement whose replica is not seen yet": {
			clusters: h100(4), placements: placements{testhub.Placement("other", 0, copies(3), testhub.On("east", 0, "h100"))}, free: 1,
		},
		"placement whose replica is seen counts once": {
			clusters:   h100(4),
			placements: placements{testhub.Placement("other", 0, copies(3), testhub.On("east", 0, "h100"))},
			replicas:   replicas{testhub.Replica("other", "east", 0, "h100", 3)},
			free:       1,
		},
		"placement whose adopted replica has a name of its own counts once": {
			clusters: h100(4),
			placements: placements{testhub.Placement("other", 0, copies(3), testhub.On("east", 0, "h100"), func(p *evenkeel.ReplicaPlacement) {
				p.Spec.Adopts = "made-by-hand"
			})},
			replicas: replicas{testhub.Replica("other", "east", 0, "h100", 3, testhub.ReplicaNamed("made-by-hand"))},
			free:     1,
		},
		"what is stamped counts, not what the placement asks for now": {
			clusters:   h100(4),
			placements: placements{testhub.Placement("other", 0, copies(3), testhub.On("east", 0, "h100"))},
			replicas:   replicas{testhub.Replica("other", "east", 0, "h100", 2)},
			free:       2,
		},
		"placement of the same name in another namespace is another one": {
			clusters:   h100(4),
			placements: placements{testhub.Placement("other", 0, copies(3), testhub.In("other-team"), testhub.On("east", 0, "h100"))},
			replicas:   replicas{testhub.Replica("other", "east", 0, "h100", 1)},
			free:       0,
		},
		"replica that was moved by hand counts where it is, and its placement where it was assigned": {
			clusters:   h100(4),
			placements: placements{testhub.Placement("other", 0, copies(3), testhub.On("east", 0, "h100"))},
			replicas: replicas{testhub.Replica("other", "east", 0, "h100", 3, func(r *modelplane.ModelReplica) {
				r.Spec.ClusterName = "west"
			})},
			free: 1,
		},
		"terminating placement": {
			clusters:   h100(4),
			placements: placements{testhub.Placement("other", 0, copies(3), testhub.On("east", 0, "h100"), testhub.Terminating)},
			free:       1,
		},
		"placement that is about to leave": {
			clusters: h100(4),
			placements: placements{testhub.Placement("other", 0, copies(3), testhub.On("east", 0, "h100"),
				testhub.Condition(evenkeel.ConditionDisruptionTarget, evenkeel.CauseTaint))},
			free: 1,
		},
		"placement that is over": {
			clusters: h100(4),
			placements: placements{testhub.Placement("other", 0, copies(3), testhub.On("east", 0, "h100"),
				testhub.Condition(evenkeel.ConditionMoved, "Moved"))},
			free: 4,
		},
		"the replaced one with a replica": {
			clusters:   h100(4),
			placements: placements{testhub.Placement("chat", 0, copies(3), testhub.On("east", 0, "h100"))},
			replicas:   replicas{testhub.Replica("chat", "east", 0, "h100", 3), testhub.Replica("chat", "east", 1, "h100", 1)},
			replaces:   "chat-0-1",
			free:       3,
		},
		"the replaced one without a replica": {
			clusters: h100(4),
			placements: placements{
				testhub.Placement("chat", 0, copies(3), testhub.On("east", 0, "h100")),
				testhub.Placement("chat", 1, testhub.On("east", 1, "h100")),
			},
			replaces: "chat-0-1",
			free:     3,
		},
		"the replaced one, over capacity": {
			clusters:   h100(2),
			placements: placements{testhub.Placement("chat", 0, copies(3), testhub.On("east", 0, "h100"))},
			replicas:   replicas{testhub.Replica("chat", "east", 0, "h100", 3)},
			replaces:   "chat-0-1",
			free:       2,
		},
		"one that serves until this one does keeps its nodes": {
			clusters: h100(4), replicas: replicas{testhub.Replica("chat", "east", 0, "h100", 3)},
			placements: placements{testhub.Placement("chat", 0, copies(3), testhub.On("east", 0, "h100"))},
			replaces:   "chat-0-1",
			surge:      true,
			free:       1,
		},
		"one of that name in another namespace is not replaced": {
			clusters:   h100(4),
			placements: placements{testhub.Placement("chat", 0, copies(3), testhub.In("other-team"), testhub.On("east", 0, "h100"))},
			replaces:   "chat-0-1",
			free:       1,
		},
		"one that does not exist is not replaced": {
			clusters: h100(4), replicas: replicas{testhub.Replica("chat", "east", 0, "h100", 3)}, replaces: "chat-0-1", free: 1,
		},
		"more claimed than published": {
			clusters: h100(2), replicas: replicas{testhub.Replica("other", "east", 0, "h100", 3)}, free: -1,
		},
		"negative nodes published": {clusters: h100(-3), free: 0},
		"absurd costs do not wrap around": {
			clusters: h100(4),
			replicas: replicas{
				absurd(testhub.Replica("other", "east", 0, "h100", math.MaxInt32)),
				absurd(testhub.Replica("other", "east", 1, "h100", math.MaxInt32)),
				absurd(testhub.Replica("other", "east", 2, "h100", math.MaxInt32)),
			},
			free: math.MinInt64,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tc.clusters, tc.placements, tc.replicas)
			place := func(n int32) *fwk.Status {
				return f.filter(testhub.Placement("chat", 0, testhub.Attempt(2), copies(n), testhub.Replaces(tc.replaces), surge(tc.surge)), "east")
			}
			if tc.replaces == "" {
				assert.Equal(t, tc.free, f.free("east", "h100"))
				a, err := f.plugin.ledger.account(f.node("east"))
				require.NoError(t, err)
				assert.Len(t, a.free, 1, "only published pools have free nodes")
			}
			if tc.free > 0 {
				assert.True(t, place(int32(tc.free)).IsSuccess(), "as many nodes as are free")
			}
			assert.False(t, place(int32(max(tc.free, 0)+1)).IsSuccess(), "one node more than is free")
		})
	}
}

func surge(yes bool) testhub.Option {
	return func(p *evenkeel.ReplicaPlacement) { p.Spec.Surge = yes }
}

// absurd makes a replica cost as much as a number can hold.
func absurd(r *modelplane.ModelReplica) *modelplane.ModelReplica {
	r.Spec.Engines[0].Members[0].Role = modelplane.MemberRoleWorker
	r.Spec.Engines[0].Members[0].Worker = &modelplane.WorkerGroup{Nodes: math.MaxInt32}
	r.Spec.Engines = append(r.Spec.Engines, r.Spec.Engines[0], r.Spec.Engines[0])
	return r
}

func TestFilterReasons(t *testing.T) {
	synthetic := testhub.Pool("h100", 4)
	synthetic.Devices[0].Claim = modelplane.DeviceClaimSynthetic
	few := testhub.Pool("h100", 4)
	few.Devices[0].Count = ptr.To[int64](7)
	malformed := testhub.Pool("h100", 4)
	malformed.Devices[0].Capacity = map[string]modelplane.DeviceCapacity{"memory": {Value: "10Mo"}}

	tests := map[string]struct {
		pools    []modelplane.GPUPool
		replicas replicas
		engines  []evenkeel.EngineRequirements
		code     fwk.Code
		reason   string
		shortage placement.Shortage
	}{
		"fits": {pools: []modelplane.GPUPool{testhub.Pool("h100", 1)}},
		"fits on the second pool": {
			pools:    []modelplane.GPUPool{testhub.Pool("h100", 1), {Name: "more", Nodes: 1, Devices: testhub.Pool("h100", 1).Devices}},
			replicas: replicas{testhub.Replica("other", "east", 0, "h100", 1)},
		},
		"too few nodes now": {
			pools:    []modelplane.GPUPool{testhub.Pool("h100", 4)},
			replicas: replicas{testhub.Replica("other", "east", 0, "h100", 3)},
			engines:  []evenkeel.EngineRequirements{testhub.Engine("main", 2, "h100")},
			code:     fwk.Unschedulable, reason: ErrReasonNotEnoughNodes,
			shortage: placement.Shortage{Kind: placement.NotEnoughNodes, Engine: "main", Pool: "h100", Need: 2, Free: 1, Nodes: 4},
		},
		"more engines than nodes, each of which would fit": {
			pools:    []modelplane.GPUPool{testhub.Pool("h100", 2)},
			replicas: replicas{testhub.Replica("other", "east", 0, "h100", 1)},
			engines:  []evenkeel.EngineRequirements{testhub.Engine("prefill", 1, "h100"), testhub.Engine("decode", 1, "h100")},
			code:     fwk.Unschedulable, reason: ErrReasonNotEnoughNodes,
			shortage: placement.Shortage{Kind: placement.NotEnoughNodes, Engine: "decode", Pool: "h100", Need: 2, Free: 1, Nodes: 2},
		},
		"a pool that is too small even when empty": {
			pools:   []modelplane.GPUPool{testhub.Pool("h100", 4)},
			engines: []evenkeel.EngineRequirements{testhub.Engine("main", 5, "h100")},
			code:    fwk.UnschedulableAndUnresolvable, reason: ErrReasonPoolTooSmall,
			shortage: placement.Shortage{Kind: placement.NotEnoughNodes, Engine: "main", Pool: "h100", Need: 5, Free: 4, Nodes: 4},
		},
		"other devices": {
			pools: []modelplane.GPUPool{testhub.Pool("l4", 4)},
			code:  fwk.UnschedulableAndUnresolvable, reason: ErrReasonNoMatchingPool,
			shortage: placement.Shortage{Kind: placement.NoMatchingPool, Engine: "main", Pool: "l4", Request: "gpu"},
		},
		"too few devices on a node": {
			pools: []modelplane.GPUPool{few},
			code:  fwk.UnschedulableAndUnresolvable, reason: ErrReasonNoMatchingPool,
			shortage: placement.Shortage{Kind: placement.NoMatchingPool, Engine: "main", Pool: "h100", Request: "gpu"},
		},
		"a malformed device": {
			pools: []modelplane.GPUPool{malformed},
			code:  fwk.UnschedulableAndUnresolvable, reason: ErrReasonNoMatchingPool,
			shortage: placement.Shortage{Kind: placement.NoMatchingPool, Engine: "main", Pool: "h100", Request: "gpu"},
		},
		"devices that only describe the node": {
			pools: []modelplane.GPUPool{synthetic},
			code:  fwk.UnschedulableAndUnresolvable, reason: ErrReasonNothingToClaim,
			shortage: placement.Shortage{Kind: placement.NothingToClaim, Engine: "main", Pool: "h100"},
		},
		"no pools published": {
			code: fwk.UnschedulableAndUnresolvable, reason: ErrReasonNoMatchingPool,
			shortage: placement.Shortage{Kind: placement.NoMatchingPool, Engine: "main"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, clusters{testhub.Cluster("east", tc.pools...)}, nil, tc.replicas)
			p := testhub.Placement("chat", 0)
			if tc.engines != nil {
				p.Spec.Engines = tc.engines
			}
			state, pod := f.cycle(p)
			status := f.plugin.Filter(t.Context(), state, pod, f.node("east"))
			assert.Equal(t, tc.code, status.Code())
			if tc.reason == "" {
				assert.Empty(t, Shortages(state))
				return
			}
			assert.Equal(t, []string{tc.reason}, status.Reasons())
			require.Contains(t, Shortages(state), "east")
			assert.Equal(t, tc.shortage, *Shortages(state)["east"])
		})
	}
}

// A reason must be the same for every cluster, since kube-scheduler counts clusters by reason.
func TestReasonsAreConstant(t *testing.T) {
	for _, reason := range []string{ErrReasonNoMatchingPool, ErrReasonNothingToClaim, ErrReasonPoolTooSmall, ErrReasonNotEnoughNodes} {
		assert.True(t, strings.HasPrefix(reason, "node(s) "), reason)
		assert.False(t, strings.ContainsAny(reason, "0123456789%"), reason)
	}
}

func TestPreFilterRefusesInvalidSelectors(t *testing.T) {
	f := newFixture(t, h100(4), nil, nil)
	tests := map[string]struct {
		cel  string
		want []string
	}{
		"syntax":           {cel: "device.driver ==", want: []string{"Syntax error"}},
		"unknown variable": {cel: "gadget.driver == 'x'", want: []string{"undeclared reference", "gadget"}},
		"not a boolean":    {cel: "5", want: []string{"bool"}},
		"very long":        {cel: "'" + strings.Repeat("é", 6000) + "' ==", want: []string{"..."}},
		"not UTF-8":        {cel: "device.driver == '\xff", want: nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			engine := testhub.Engine("decode", 1, "h100")
			engine.Members[0].Devices[0].Selectors = append(engine.Members[0].Devices[0].Selectors, modelplane.DeviceSelector{CEL: tc.cel})
			p := testhub.Placement("chat", 0, testhub.Engines(testhub.Engine("prefill", 1, "h100"), engine))
			_, status := f.plugin.PreFilter(t.Context(), framework.NewCycleState(), virtual.PodFor(p), nil)
			assert.Equal(t, fwk.UnschedulableAndUnresolvable, status.Code())
			for _, part := range append(tc.want, `engine "decode"`, `request "gpu"`, "selector 1", "ModelDeployment chat") {
				assert.Contains(t, status.Message(), part)
			}
			assert.Less(t, len(status.Message()), 1000)
		})
	}
}

func TestMalformedAnnotations(t *testing.T) {
	f := newFixture(t, h100(4), placements{testhub.Placement("other", 0, testhub.On("east", 0, "h100"))}, nil)

	t.Run("of the placement", func(t *testing.T) {
		for _, text := range []string{"", "{", "[]", `{"engines":1}`} {
			pod := virtual.PodFor(testhub.Placement("chat", 0))
			pod.Annotations[virtual.AnnotationRequirements] = text
			_, status := f.plugin.PreFilter(t.Context(), framework.NewCycleState(), pod, nil)
			assert.Equal(t, fwk.UnschedulableAndUnresolvable, status.Code(), "%q", text)
			assert.Contains(t, status.Message(), "ml-team/chat-0-1")
		}
	})
	t.Run("of a cluster", func(t *testing.T) {
		state, pod := f.cycle(testhub.Placement("chat", 0))
		node := f.node("east").Snapshot()
		broken := node.Node().DeepCopy()
		broken.Annotations[virtual.AnnotationPools] = "{"
		node.SetNode(broken)
		status := f.plugin.Filter(t.Context(), state, pod, node)
		assert.Equal(t, fwk.Error, status.Code())
		assert.Contains(t, status.Message(), "east")
	})
	t.Run("of another placement", func(t *testing.T) {
		for key, text := range map[string]string{virtual.AnnotationRequirements: "{", virtual.AnnotationAssignment: "{"} {
			state, pod := f.cycle(testhub.Placement("chat", 0))
			node := f.node("east").Snapshot()
			broken := node.GetPods()[0].GetPod().DeepCopy()
			broken.UID, broken.Annotations[key] = "broken", text
			info, err := framework.NewPodInfo(broken)
			require.NoError(t, err)
			node.AddPodInfo(info)
			assert.NotEqual(t, fwk.Error, f.plugin.Filter(t.Context(), state, pod, node).Code(), key)
		}
	})
}

func TestPluginsOutOfOrder(t *testing.T) {
	f := newFixture(t, h100(4), nil, nil)
	pod := virtual.PodFor(testhub.Placement("chat", 0))
	var state fwk.CycleState = framework.NewCycleState()
	assert.Equal(t, fwk.Error, f.plugin.Filter(t.Context(), state, pod, f.node("east")).Code())
	assert.Equal(t, fwk.Error, f.plugin.Reserve(t.Context(), state, pod, "east").Code())
	assert.Empty(t, Shortages(state))
	_, err := ChosenAssignment(state)
	assert.ErrorContains(t, err, "PoolFit")

	state, pod = f.cycle(testhub.Placement("chat", 0))
	status := f.plugin.Reserve(t.Context(), state, pod, "gone")
	assert.Equal(t, fwk.Error, status.Code())
	assert.Contains(t, status.Message(), "gone")
}

func TestClusterNamesDoNotMix(t *testing.T) {
	f := newFixture(t, clusters{testhub.Cluster("east", testhub.Pool("h100", 1)), testhub.Cluster("west", testhub.Pool("h100", 1))},
		placements{testhub.Placement("other", 0, testhub.On("west", 0, "h100"))}, nil)
	state, pod := f.cycle(testhub.Placement("chat", 0))
	assert.True(t, f.plugin.Filter(t.Context(), state, pod, f.node("east")).IsSuccess())
	assert.False(t, f.plugin.Filter(t.Context(), state, pod, f.node("west")).IsSuccess())
	assert.Equal(t, []string{"west"}, keys(Shortages(state)))
}

func keys[V any](m map[string]V) []string {
	var out []string
	for key := range m {
		out = append(out, key)
	}
	return out
}
