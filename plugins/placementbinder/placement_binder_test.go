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

package placementbinder

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/internal/testhub"
	"github.com/evenkeel-io/evenkeel/plugins/poolfit"
)

// recorder is a writer that keeps what it is given.
type recorder struct {
	pods        []*v1.Pod
	assignments []evenkeel.Assignment
	err         error
}

func (r *recorder) Assign(_ context.Context, pod *v1.Pod, assignment evenkeel.Assignment) error {
	r.pods, r.assignments = append(r.pods, pod), append(r.assignments, assignment)
	return r.err
}

func TestBind(t *testing.T) {
	errGone := errors.New("the placement was edited during scheduling")
	reserved, pod := reserve(t)
	tests := map[string]struct {
		state   fwk.CycleState
		cluster string
		err     error
		writes  int
		want    string
	}{
		"writes what was chosen":        {state: reserved, cluster: "east", writes: 1},
		"the write fails":               {state: reserved, cluster: "east", err: errGone, writes: 1, want: errGone.Error()},
		"pools of another cluster":      {state: reserved, cluster: "west", want: `cluster "west" was chosen, but node pools of "east"`},
		"PoolFit chose nothing":         {state: framework.NewCycleState(), cluster: "east", want: "PoolFit has not assigned node pools"},
		"in a clone of the cycle state": {state: reserved.Clone(), cluster: "east", writes: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			writer := &recorder{err: tc.err}
			pl, err := New(writer)(t.Context(), nil, nil)
			require.NoError(t, err)
			status := pl.(fwk.BindPlugin).Bind(t.Context(), tc.state, pod, tc.cluster)
			require.Len(t, writer.assignments, tc.writes)
			if tc.writes > 0 {
				assert.Equal(t, evenkeel.Assignment{ClusterName: "east", Index: 0, Engines: []evenkeel.EngineAssignment{
					{Name: "main", Members: []evenkeel.MemberAssignment{{NodePoolName: "h100"}}},
				}}, writer.assignments[0])
				assert.Equal(t, pod, writer.pods[0])
			}
			if tc.want == "" {
				assert.True(t, status.IsSuccess(), status.Message())
				return
			}
			assert.Equal(t, fwk.Error, status.Code())
			assert.Contains(t, status.Message(), tc.want)
		})
	}
}

// As many writes may be under way as there are turns. A turn ends once, whatever the scheduler calls.
func TestWritesWaitForTheirTurn(t *testing.T) {
	created, err := New(&recorder{})(t.Context(), nil, nil)
	require.NoError(t, err)
	pl := created.(*PlacementBinder)
	var states []fwk.CycleState
	for range maxWriting {
		state := framework.NewCycleState()
		require.True(t, pl.Reserve(t.Context(), state, nil, "east").IsSuccess())
		states = append(states, state)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	late := framework.NewCycleState()
	assert.Equal(t, fwk.Error, pl.Reserve(stopped, late, nil, "east").Code(), "all turns are taken")
	pl.Unreserve(t.Context(), late, nil, "east") // which the scheduler calls also for a Reserve that failed
	assert.Len(t, pl.writing, maxWriting)

	pl.PostBind(t.Context(), states[0], nil, "east")
	pl.Unreserve(t.Context(), states[0], nil, "east")
	pl.Unreserve(t.Context(), states[1].Clone(), nil, "east")
	assert.Len(t, pl.writing, maxWriting-2)
	assert.True(t, pl.Reserve(t.Context(), late, nil, "east").IsSuccess())
}

// reserve takes a placement to where the scheduler calls Bind.
func reserve(t *testing.T) (fwk.CycleState, *v1.Pod) {
	t.Helper()
	informer, err := testhub.ReplicaInformer()
	require.NoError(t, err)
	ledger, err := poolfit.NewLedger(informer, placement.NewMatcher())
	require.NoError(t, err)
	snapshot := schedulercache.NewSnapshot(nil, testhub.Nodes(testhub.Cluster("east", testhub.Pool("h100", 1))))
	handle, err := frameworkruntime.NewFramework(t.Context(), nil, nil, frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithPodNominator(&testhub.Nominator{}),
		frameworkruntime.WithInformerFactory(informers.NewSharedInformerFactory(fake.NewClientset(), 0)))
	require.NoError(t, err)
	pl, err := poolfit.New(ledger)(t.Context(), nil, handle)
	require.NoError(t, err)

	state, pod := framework.NewCycleState(), virtual.PodFor(testhub.Placement("chat", 0))
	_, status := pl.(*poolfit.PoolFit).PreFilter(t.Context(), state, pod, nil)
	require.True(t, status.IsSuccess(), status.Message())
	require.True(t, pl.(*poolfit.PoolFit).Reserve(t.Context(), state, pod, "east").IsSuccess())
	return state, pod
}
