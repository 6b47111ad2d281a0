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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
)

// ModelReplica is the resource whose events free nodes, in the scheduler's spelling.
var ModelReplica = fwk.EventResource(fmt.Sprintf("%s.%s.%s",
	virtual.ReplicasResource.Resource, virtual.ReplicasResource.Version, virtual.ReplicasResource.Group))

// EventsToRegister returns the events that may make a placement schedulable that this plugin rejected.
func (pl *PoolFit) EventsToRegister(_ context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeAnnotation}, QueueingHintFn: pl.isSchedulableAfterNodeChange},
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete | fwk.Update}, QueueingHintFn: pl.isSchedulableAfterPodChange},
		{Event: fwk.ClusterEvent{Resource: ModelReplica, ActionType: fwk.Delete | fwk.Update}, QueueingHintFn: pl.isSchedulableAfterModelReplicaChange},
	}, nil
}

// isSchedulableAfterNodeChange queues a placement when a cluster comes, or publishes other pools, and these would do.
func (pl *PoolFit) isSchedulableAfterNodeChange(logger klog.Logger, pod *v1.Pod, oldObj, newObj any) (fwk.QueueingHint, error) {
	oldNode, newNode, err := util.As[*v1.Node](oldObj, newObj)
	if err != nil {
		return fwk.Queue, err
	}
	if oldNode != nil && oldNode.Annotations[virtual.AnnotationPools] == newNode.Annotations[virtual.AnnotationPools] {
		logger.V(5).Info("cluster was updated, but not its pools", "pod", klog.KObj(pod), "cluster", klog.KObj(newNode))
		return fwk.QueueSkip, nil
	}
	return pl.hint(logger, pod, newNode, "cluster was created or its pools were updated")
}

// isSchedulableAfterPodChange queues a placement when another one that held nodes is gone or asks for something else.
// While the other one has a ModelReplica, that holds the nodes.
func (pl *PoolFit) isSchedulableAfterPodChange(logger klog.Logger, pod *v1.Pod, oldObj, newObj any) (fwk.QueueingHint, error) {
	oldPod, newPod, err := util.As[*v1.Pod](oldObj, newObj)
	if err != nil {
		return fwk.Queue, err
	}
	if newPod != nil && oldPod.Annotations[virtual.AnnotationRequirements] == newPod.Annotations[virtual.AnnotationRequirements] {
		logger.V(5).Info("placement was updated, but needs what it needed", "pod", klog.KObj(pod), "updatedPod", klog.KObj(newPod))
		return fwk.QueueSkip, nil
	}
	cluster := oldPod.Spec.NodeName
	if cluster == "" {
		cluster = oldPod.Status.NominatedNodeName
	}
	if cluster == "" {
		logger.V(5).Info("placement without a cluster was deleted or updated", "pod", klog.KObj(pod), "updatedPod", klog.KObj(oldPod))
		return fwk.QueueSkip, nil
	}
	node, err := pl.nodes.Get(cluster)
	if err != nil {
		return noCluster(logger, pod, cluster, err)
	}
	pools, err := virtual.PoolsOf(node)
	if err != nil {
		return fwk.Queue, err
	}
	if held, ok := pl.ledger.claimOf(oldPod, pools); ok && pl.ledger.replicaOn(held.replica, cluster) {
		logger.V(5).Info("placement was deleted or updated, but its ModelReplica holds its nodes", "pod", klog.KObj(pod), "updatedPod", klog.KObj(oldPod), "modelReplica", held.replica)
		return fwk.QueueSkip, nil
	}
	return pl.hint(logger, pod, node, "placement was deleted or updated")
}

// isSchedulableAfterModelReplicaChange queues a placement when a replica is gone or costs less.
func (pl *PoolFit) isSchedulableAfterModelReplicaChange(logger klog.Logger, pod *v1.Pod, oldObj, newObj any) (fwk.QueueingHint, error) {
	oldReplica, newReplica, err := util.As[*modelplane.ModelReplica](oldObj, newObj)
	if err != nil {
		return fwk.Queue, err
	}
	cluster := oldReplica.Spec.ClusterName
	if newReplica != nil && !freesNodes(oldReplica, newReplica) {
		logger.V(5).Info("replica was updated, but frees no nodes", "pod", klog.KObj(pod), "modelReplica", klog.KObj(newReplica), "cluster", cluster)
		return fwk.QueueSkip, nil
	}
	node, err := pl.nodes.Get(cluster)
	if err != nil {
		return noCluster(logger, pod, cluster, err)
	}
	return pl.hint(logger, pod, node, "replica was deleted or updated")
}

// freesNodes tells whether an updated replica costs less than before somewhere.
func freesNodes(before, after *modelplane.ModelReplica) bool {
	if before.Generation != 0 && before.Generation == after.Generation {
		return false // only the status has changed, as it does all the time
	}
	now := map[string]int64{}
	if after.Spec.ClusterName == before.Spec.ClusterName {
		now = placement.ReplicaCost(&after.Spec)
	}
	for pool, nodes := range placement.ReplicaCost(&before.Spec) {
		if nodes > now[pool] {
			return true
		}
	}
	return false
}

// noCluster skips an event about a cluster that is gone: when it comes back, that is another event.
func noCluster(logger klog.Logger, pod *v1.Pod, cluster string, err error) (fwk.QueueingHint, error) {
	if !apierrors.IsNotFound(err) {
		return fwk.Queue, err
	}
	logger.V(5).Info("nodes were freed in a cluster that is gone", "pod", klog.KObj(pod), "cluster", cluster)
	return fwk.QueueSkip, nil
}

// hint queues a placement if it might fit on the cluster now.
func (pl *PoolFit) hint(logger klog.Logger, pod *v1.Pod, node *v1.Node, event string) (fwk.QueueingHint, error) {
	fits, err := pl.mightFit(pod, node)
	if err != nil {
		return fwk.Queue, err
	}
	if !fits {
		logger.V(5).Info(event+", but the placement does not fit", "pod", klog.KObj(pod), "cluster", klog.KObj(node))
		return fwk.QueueSkip, nil
	}
	logger.V(5).Info(event+", and the placement may fit", "pod", klog.KObj(pod), "cluster", klog.KObj(node))
	return fwk.Queue, nil
}

// mightFit tells whether each engine of a placement fits by itself, if only the ModelReplicas of the cluster count. It
// errs on the side of trying, where Filter is exact:
//   - A hint has no snapshot, so that Pods without a ModelReplica are left out.
//   - Of a placement that takes over the nodes of another, all replicas of its deployment are left out.
//   - Engines are not tried together. They choose pools greedily, so that more free nodes can make them fail together.
func (pl *PoolFit) mightFit(pod *v1.Pod, node *v1.Node) (bool, error) {
	requirements, err := virtual.RequirementsOf(pod)
	if err != nil {
		return false, err
	}
	pools, err := virtual.PoolsOf(node)
	if err != nil {
		return false, err
	}
	replicas, err := pl.ledger.replicasOn(node.Name)
	if err != nil {
		return false, err
	}
	free := publishedNodes(pools)
	for _, replica := range replicas {
		if requirements.Replaces != "" && !requirements.Surge && replica.Namespace == pod.Namespace && replica.Labels[modelplane.LabelDeployment] == requirements.Deployment {
			continue
		}
		subtract(free, placement.ReplicaCost(&replica.Spec))
	}
	for i := range requirements.Engines {
		decision, _ := pl.ledger.matcher.Place(requirements.Engines[i:i+1], pools, func(pool string) int64 { return free[pool] })
		if decision == nil {
			return false, nil
		}
	}
	return true, nil
}
