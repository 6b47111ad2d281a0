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
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/names"
)

// PoolFit is a plugin that checks whether a cluster has node pools for all engines of a replica, and chooses them.
type PoolFit struct {
	ledger   *Ledger
	snapshot func() fwk.SharedLister
	// nominated knows which Pods wait for room on a cluster.
	nominated fwk.PodNominator
	nodes     corelisters.NodeLister
}

var _ fwk.PreFilterPlugin = &PoolFit{}
var _ fwk.PreFilterExtensions = &PoolFit{}
var _ fwk.FilterPlugin = &PoolFit{}
var _ fwk.ReservePlugin = &PoolFit{}
var _ fwk.EnqueueExtensions = &PoolFit{}

const (
	// Name is the name of the plugin used in the plugin registry and configurations.
	Name = names.PoolFit
	// ErrReasonNoMatchingPool is the reason for a cluster without the devices that an engine requests.
	ErrReasonNoMatchingPool = "node(s) had no pool with the devices that an engine requests"
	// ErrReasonNothingToClaim is the reason for a cluster that has the devices, but none that could be claimed.
	ErrReasonNothingToClaim = "node(s) had no pool in which an engine would claim a device"
	// ErrReasonPoolTooSmall is the reason for a cluster whose matching pools have too few nodes even when empty.
	ErrReasonPoolTooSmall = "node(s) had only pools that are too small for an engine"
	// ErrReasonNotEnoughNodes is the reason for a cluster whose matching pools are too full.
	ErrReasonNotEnoughNodes = "node(s) had too few free nodes in the pools that match"
)

// New gives the factory of the plugin, one for each profile, over the ledger that they share.
func New(ledger *Ledger) frameworkruntime.PluginFactory {
	return func(_ context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		informers := handle.SharedInformerFactory().Core().V1()
		if _, err := informers.Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: ledger.podDeleted}); err != nil {
			return nil, fmt.Errorf("watch deleted placements: %w", err)
		}
		if _, err := informers.Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: ledger.nodeDeleted}); err != nil {
			return nil, fmt.Errorf("watch deleted clusters: %w", err)
		}
		return &PoolFit{ledger: ledger, snapshot: handle.SnapshotSharedLister, nominated: handle, nodes: informers.Nodes().Lister()}, nil
	}
}

// Name returns the name of the plugin.
func (pl *PoolFit) Name() string {
	return Name
}

// PreFilter compiles the device selectors. One that does not compile fits nowhere, and only an edit can change that.
func (pl *PoolFit) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	requirements, err := virtual.RequirementsOf(pod)
	if err != nil {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, err.Error())
	}
	engines, err := pl.ledger.matcher.PrepareEngines(requirements.Engines)
	if err != nil {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("invalid device selector: %v; correct it in ModelDeployment %s", err, requirements.Deployment))
	}
	state.Write(preFilterStateKey, &preFilterState{
		requirements: requirements,
		engines:      engines,
		removed:      map[string]map[types.NamespacedName]bool{},
		shortages:    &shortageList{},
	})
	return nil, nil
}

// PreFilterExtensions returns the plugin itself, which follows Pods that a simulation adds and removes.
func (pl *PoolFit) PreFilterExtensions() fwk.PreFilterExtensions {
	return pl
}

// AddPod undoes RemovePod. A Pod that was not there before counts by being in the NodeInfo.
func (pl *PoolFit) AddPod(_ context.Context, state fwk.CycleState, _ *v1.Pod, added fwk.PodInfo, nodeInfo fwk.NodeInfo) *fwk.Status {
	return pl.simulate(state, added.GetPod(), nodeInfo, false)
}

// RemovePod makes the nodes of a Pod's replica count as free in this cycle.
func (pl *PoolFit) RemovePod(_ context.Context, state fwk.CycleState, _ *v1.Pod, removed fwk.PodInfo, nodeInfo fwk.NodeInfo) *fwk.Status {
	return pl.simulate(state, removed.GetPod(), nodeInfo, true)
}

func (pl *PoolFit) simulate(state fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo, removed bool) *fwk.Status {
	s, err := readPreFilterState(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	pools, err := virtual.PoolsOf(nodeInfo.Node())
	if err != nil {
		return fwk.AsStatus(err)
	}
	held, ok := pl.ledger.claimOf(pod, pools)
	if !ok {
		return nil
	}
	cluster := nodeInfo.Node().Name
	if !removed {
		delete(s.removed[cluster], held.replica)
		return nil
	}
	if s.removed[cluster] == nil {
		s.removed[cluster] = map[types.NamespacedName]bool{}
	}
	s.removed[cluster][held.replica] = true
	return nil
}

// Filter checks whether every engine fits on a pool of the cluster with the nodes that are free now.
func (pl *PoolFit) Filter(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	s, err := readPreFilterState(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	_, status := pl.place(s, pod, nodeInfo)
	return status
}

func (pl *PoolFit) place(s *preFilterState, pod *v1.Pod, nodeInfo fwk.NodeInfo) (*placement.Decision, *fwk.Status) {
	a, err := pl.ledger.account(nodeInfo)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	free := a.free
	if excluded := pl.excluded(s, pod, nodeInfo, a); len(excluded) > 0 {
		free = pl.ledger.freeFor(a, excluded)
	}
	decision, shortage := s.engines.Place(a.pools, func(pool string) int64 { return free[pool] })
	if shortage != nil {
		s.shortages.add(nodeInfo.Node().Name, shortage)
		return nil, statusOf(shortage)
	}
	return decision, nil
}

// excluded are the replicas whose nodes count as free for this placement: the one that it takes over from, if that leaves
// once this one has a home, and those that a simulation has removed.
func (pl *PoolFit) excluded(s *preFilterState, pod *v1.Pod, nodeInfo fwk.NodeInfo, a *account) map[types.NamespacedName]bool {
	removed := s.removed[nodeInfo.Node().Name]
	if s.requirements.Replaces == "" || s.requirements.Surge {
		return removed
	}
	for _, podInfo := range nodeInfo.GetPods() {
		other := podInfo.GetPod()
		if other.Namespace != pod.Namespace || other.Name != s.requirements.Replaces {
			continue
		}
		held, ok := pl.ledger.claimOf(other, a.pools)
		if !ok {
			break
		}
		excluded := map[types.NamespacedName]bool{held.replica: true}
		for replica := range removed {
			excluded[replica] = true
		}
		return excluded
	}
	return removed
}

// statusOf says whether preemption could help: only where nodes are missing that a pool has in all.
func statusOf(shortage *placement.Shortage) *fwk.Status {
	switch shortage.Kind {
	case placement.NotEnoughNodes:
		if shortage.Need > shortage.Nodes {
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, ErrReasonPoolTooSmall)
		}
		return fwk.NewStatus(fwk.Unschedulable, ErrReasonNotEnoughNodes)
	case placement.NothingToClaim:
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, ErrReasonNothingToClaim)
	default:
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, ErrReasonNoMatchingPool)
	}
}

// Reserve chooses the pools on the chosen cluster and the replica's index there, and holds both until the assignment is
// seen.
func (pl *PoolFit) Reserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	s, err := readPreFilterState(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	nodeInfo, err := pl.snapshot().NodeInfos().Get(nodeName)
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("read cluster %q from the snapshot: %w", nodeName, err))
	}
	// A replica may have appeared since Filter.
	decision, status := pl.place(s, pod, pl.withNominated(pod, nodeInfo))
	if !status.IsSuccess() {
		return status
	}
	index := pl.lowestFreeIndex(s.requirements.Deployment, pod.Namespace, nodeInfo)
	pl.ledger.reservations.reserve(pod.UID, claim{
		replica: replicaName(pod.Namespace, s.requirements.Deployment, nodeName, index),
		cost:    decision.Cost,
	})
	state.Write(assignmentStateKey, &assignmentState{
		assignment: evenkeel.Assignment{ClusterName: nodeName, Index: index, Engines: decision.Engines},
	})
	return nil
}

// withNominated counts the Pods too that are nominated to a cluster and that this one must leave a place to, as Filter has.
func (pl *PoolFit) withNominated(pod *v1.Pod, nodeInfo fwk.NodeInfo) fwk.NodeInfo {
	out := nodeInfo
	for _, nominated := range pl.nominated.NominatedPodsForNode(nodeInfo.Node().Name) {
		other := nominated.GetPod()
		if other.UID == pod.UID || corev1helpers.PodPriority(other) < corev1helpers.PodPriority(pod) {
			continue
		}
		if out == nodeInfo {
			out = nodeInfo.Snapshot()
		}
		out.AddPodInfo(nominated)
	}
	return out
}

// lowestFreeIndex skips the indexes of the deployment's placements on the cluster, those that are being bound, and those
// whose name any ModelReplica has, also one that terminates or belongs to somebody else.
func (pl *PoolFit) lowestFreeIndex(deployment, namespace string, nodeInfo fwk.NodeInfo) int32 {
	assigned := map[int32]bool{}
	for _, podInfo := range nodeInfo.GetPods() {
		pod := podInfo.GetPod()
		if pod.Namespace != namespace || pod.Labels[virtual.LabelDeployment] != deployment {
			continue
		}
		if assignment, err := virtual.AssignmentOf(pod); err == nil && assignment != nil {
			assigned[assignment.Index] = true
		}
	}
	return placement.LowestFreeIndex(func(index int32) bool {
		if assigned[index] {
			return true
		}
		name := replicaName(namespace, deployment, nodeInfo.Node().Name, index)
		return pl.ledger.reservations.hold(name) || pl.ledger.replica(name) != nil
	})
}

func replicaName(namespace, deployment, cluster string, index int32) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: placement.ReplicaName(deployment, cluster, index)}
}

// Unreserve gives back what Reserve took.
func (pl *PoolFit) Unreserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	pl.ledger.reservations.release(pod.UID)
}
