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

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/internal/testhub"
)

// fixture is the plugin over the scheduler's own cache and snapshot.
type fixture struct {
	t        testing.TB
	logger   klog.Logger
	cache    schedulercache.Cache
	snapshot *schedulercache.Snapshot
	replicas cache.SharedIndexInformer
	nodes    cache.Indexer
	plugin   *PoolFit
	// nominator holds the placements that wait for room.
	nominator testhub.Nominator
}

func newFixture(t testing.TB, clusters []*modelplane.InferenceCluster, placements []*evenkeel.ReplicaPlacement, replicas []*modelplane.ModelReplica) *fixture {
	t.Helper()
	metrics.Register()
	f := &fixture{
		t:        t,
		logger:   klog.Background(),
		cache:    schedulercache.New(t.Context(), 0, nil),
		snapshot: schedulercache.NewEmptySnapshot(),
	}
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	handle, err := frameworkruntime.NewFramework(t.Context(), nil, nil,
		frameworkruntime.WithPodNominator(&f.nominator),
		frameworkruntime.WithSnapshotSharedLister(f.snapshot), frameworkruntime.WithInformerFactory(factory))
	require.NoError(t, err)

	f.replicas, err = testhub.ReplicaInformer(replicas...)
	require.NoError(t, err)
	ledger, err := NewLedger(f.replicas, placement.NewMatcher())
	require.NoError(t, err)
	pl, err := New(ledger)(t.Context(), nil, handle)
	require.NoError(t, err)
	f.plugin = pl.(*PoolFit)

	f.nodes = factory.Core().V1().Nodes().Informer().GetIndexer()
	for _, node := range testhub.Nodes(clusters...) {
		f.cache.AddNode(f.logger, node)
		require.NoError(t, f.nodes.Add(node))
	}
	for _, pod := range testhub.Pods(placements...) {
		require.NotEmpty(t, pod.Spec.NodeName, "only assigned placements are in the scheduler's cache")
		require.NoError(t, f.cache.AddPod(f.logger, pod))
	}
	f.update()
	return f
}

// update takes a new snapshot, as each scheduling cycle does first.
func (f *fixture) update() {
	f.t.Helper()
	require.NoError(f.t, f.cache.UpdateSnapshot(f.logger, f.snapshot))
}

func (f *fixture) node(cluster string) fwk.NodeInfo {
	f.t.Helper()
	nodeInfo, err := f.snapshot.NodeInfos().Get(cluster)
	require.NoError(f.t, err)
	return nodeInfo
}

// cycle begins a scheduling cycle for a placement.
func (f *fixture) cycle(p *evenkeel.ReplicaPlacement) (fwk.CycleState, *v1.Pod) {
	f.t.Helper()
	f.update()
	state, pod := framework.NewCycleState(), virtual.PodFor(p)
	_, status := f.plugin.PreFilter(f.t.Context(), state, pod, nil)
	require.True(f.t, status.IsSuccess(), status.Message())
	return state, pod
}

// filter tries a placement on one cluster.
func (f *fixture) filter(p *evenkeel.ReplicaPlacement, cluster string) *fwk.Status {
	f.t.Helper()
	state, pod := f.cycle(p)
	return f.plugin.Filter(f.t.Context(), state, pod, f.node(cluster))
}

// assumed is a placement between Reserve and the end of its binding.
type assumed struct {
	state fwk.CycleState
	pod   *v1.Pod
}

// reserve takes a placement through a cycle on one cluster, in the scheduler's order: it counts the Pod on the cluster
// first and calls Reserve then.
func (f *fixture) reserve(p *evenkeel.ReplicaPlacement, cluster string) (assumed, *fwk.Status) {
	f.t.Helper()
	state, pod := f.cycle(p)
	if status := f.plugin.Filter(f.t.Context(), state, pod, f.node(cluster)); !status.IsSuccess() {
		return assumed{}, status
	}
	pod = pod.DeepCopy()
	pod.Spec.NodeName = cluster
	require.NoError(f.t, f.cache.AssumePod(f.logger, pod))
	status := f.plugin.Reserve(f.t.Context(), state, pod, cluster)
	if !status.IsSuccess() {
		f.unreserve(assumed{state, pod})
	}
	return assumed{state, pod}, status
}

func (f *fixture) unreserve(a assumed) {
	f.t.Helper()
	f.plugin.Unreserve(f.t.Context(), a.state, a.pod, a.pod.Spec.NodeName)
	require.NoError(f.t, f.cache.ForgetPod(f.logger, a.pod))
}

// bind shows the scheduler the placement with its assignment, as its watch does after the status write.
func (f *fixture) bind(p *evenkeel.ReplicaPlacement, a assumed) {
	f.t.Helper()
	assignment, err := ChosenAssignment(a.state)
	require.NoError(f.t, err)
	bound := p.DeepCopy()
	testhub.Assigned(*assignment)(bound)
	require.NoError(f.t, f.cache.AddPod(f.logger, virtual.PodFor(bound)))
}

func (f *fixture) reservations() int {
	r := &f.plugin.ledger.reservations
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.byPod)
}

// free nodes of a pool as the ledger has them.
func (f *fixture) free(cluster, pool string) int64 {
	f.t.Helper()
	a, err := f.plugin.ledger.account(f.node(cluster))
	require.NoError(f.t, err)
	return a.free[pool]
}

func (f *fixture) addReplica(r *modelplane.ModelReplica) {
	f.t.Helper()
	require.NoError(f.t, f.replicas.GetIndexer().Add(r))
}

func (f *fixture) deleteReplica(r *modelplane.ModelReplica) {
	f.t.Helper()
	require.NoError(f.t, f.replicas.GetIndexer().Delete(r))
}
