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
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/internal/testhub"
)

// A simulation that removes a Pod and adds it again must end where it began, whether the Pod's replica is seen or not.
func TestPreFilterExtensionsAreSymmetrical(t *testing.T) {
	f := newFixture(t, h100(4), placements{
		testhub.Placement("seen", 0, copies(2), testhub.On("east", 0, "h100")),
		testhub.Placement("unseen", 0, copies(1), testhub.On("east", 0, "h100")),
		testhub.Placement("chat", 0, copies(1), testhub.On("east", 0, "h100")),
	}, replicas{testhub.Replica("seen", "east", 0, "h100", 2)})

	for _, replaces := range []string{"", "chat-0-1"} {
		base := int32(0)
		if replaces != "" {
			base = 1
		}
		state, pod := f.cycle(testhub.Placement("chat", 0, testhub.Attempt(2), copies(1), testhub.Replaces(replaces)))
		simulated := state.Clone()
		node := f.node("east").Snapshot()
		pods := append([]fwk.PodInfo{}, node.GetPods()...)
		wantFree(t, f, simulated, pod, node, base)

		freed := base
		gains := map[string]int32{"seen-0-1": 2, "unseen-0-1": 1, "chat-0-1": 1 - base}
		for _, victim := range pods {
			require.NoError(t, node.RemovePod(f.logger, victim.GetPod()))
			require.True(t, f.plugin.RemovePod(t.Context(), simulated, pod, victim, node).IsSuccess())
			freed += gains[victim.GetPod().Name]
			wantFree(t, f, simulated, pod, node, freed)
		}
		for _, victim := range pods {
			node.AddPodInfo(victim)
			require.True(t, f.plugin.AddPod(t.Context(), simulated, pod, victim, node).IsSuccess())
			freed -= gains[victim.GetPod().Name]
			wantFree(t, f, simulated, pod, node, freed)
		}
		wantFree(t, f, state, pod, f.node("east"), base)
	}
}

func TestRemovePodStaysInItsClone(t *testing.T) {
	f := newFixture(t, h100(1), placements{testhub.Placement("other", 0, testhub.On("east", 0, "h100"))},
		replicas{testhub.Replica("other", "east", 0, "h100", 1)})
	state, pod := f.cycle(testhub.Placement("chat", 0))
	first := state.Clone()
	victim := f.node("east").GetPods()[0]
	require.True(t, f.plugin.RemovePod(t.Context(), first, pod, victim, f.node("east")).IsSuccess())
	second := first.Clone()
	require.True(t, f.plugin.AddPod(t.Context(), second, pod, victim, f.node("east")).IsSuccess())

	wantFree(t, f, first, pod, f.node("east"), 1)
	wantFree(t, f, second, pod, f.node("east"), 0)
	wantFree(t, f, state, pod, f.node("east"), 0)
}

// A Pod that is only nominated to a cluster has no pools yet: it counts as what it would be given.
func TestNominatedPodsCount(t *testing.T) {
	f := newFixture(t, h100(4), nil, replicas{testhub.Replica("other", "east", 0, "h100", 1)})
	nominated := virtual.PodFor(testhub.Placement("urgent", 0, copies(2)))
	info, err := framework.NewPodInfo(nominated)
	require.NoError(t, err)

	state, pod := f.cycle(testhub.Placement("chat", 0))
	state = state.Clone()
	node := f.node("east").Snapshot()
	node.AddPodInfo(info)
	require.True(t, f.plugin.AddPod(t.Context(), state, pod, info, node).IsSuccess())
	wantFree(t, f, state, pod, node, 1)
	require.NoError(t, node.RemovePod(f.logger, nominated))
	require.True(t, f.plugin.RemovePod(t.Context(), state, pod, info, node).IsSuccess())
	wantFree(t, f, state, pod, node, 3)

	t.Run("one that does not fit takes nothing", func(t *testing.T) {
		big, err := framework.NewPodInfo(virtual.PodFor(testhub.Placement("urgent", 1, copies(5))))
		require.NoError(t, err)
		node.AddPodInfo(big)
		wantFree(t, f, state, pod, node, 3)
	})
}

// wantFree checks how many h100 nodes a cycle may use on a cluster.
func wantFree(t *testing.T, f *fixture, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, want int32) {
	t.Helper()
	s, err := readPreFilterState(state)
	require.NoError(t, err)
	a, err := f.plugin.ledger.account(node)
	require.NoError(t, err)
	free := f.plugin.ledger.freeFor(a, f.plugin.excluded(s, pod, node, a))
	assert.Equal(t, int64(want), free["h100"])
	assert.Equal(t, want > 0, f.plugin.Filter(context.Background(), state, pod, node).IsSuccess())
}
