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

// Package clusterready holds the plugin ClusterReady, which keeps new replicas off InferenceClusters that cannot take
// any: not ready, not reachable, about to go, or with a name that labels cannot hold. It looks at pending placements
// only. It must never cause a replica that is placed to leave: such a cluster keeps what it has.
package clusterready

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/names"
)

// ClusterReady is a plugin that filters out clusters that cannot take a new replica.
type ClusterReady struct{}

var _ fwk.FilterPlugin = &ClusterReady{}
var _ fwk.EnqueueExtensions = &ClusterReady{}

const (
	// Name is the name of the plugin used in the plugin registry and configurations.
	Name = names.ClusterReady
	// ErrReasonNotReady is the reason for a cluster whose condition Ready is not True.
	ErrReasonNotReady = "node(s) were not ready"
	// ErrReasonNotRoutable is the reason for a cluster whose gateway has neither an address nor a hostname.
	ErrReasonNotRoutable = "node(s) had no gateway address or hostname"
	// ErrReasonDeleting is the reason for a cluster that is being deleted.
	ErrReasonDeleting = "node(s) were being deleted"
)

// ErrReasonNameTooLong is the reason for a cluster that no ModelReplica could be labelled with.
var ErrReasonNameTooLong = fmt.Sprintf("node(s) had a name of more than %d characters, which labels cannot hold", placement.MaxLabelValue)

// New makes the plugin.
func New(_ context.Context, _ runtime.Object, _ fwk.Handle) (fwk.Plugin, error) {
	return &ClusterReady{}, nil
}

// Name returns the name of the plugin.
func (pl *ClusterReady) Name() string {
	return Name
}

// EventsToRegister returns the events that may make a placement schedulable that this plugin rejected.
func (pl *ClusterReady) EventsToRegister(_ context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeCondition}, QueueingHintFn: pl.isSchedulableAfterNodeChange},
	}, nil
}

// isSchedulableAfterNodeChange queues a placement when a cluster comes or becomes able to take replicas.
func (pl *ClusterReady) isSchedulableAfterNodeChange(logger klog.Logger, pod *v1.Pod, oldObj, newObj any) (fwk.QueueingHint, error) {
	oldNode, newNode, err := util.As[*v1.Node](oldObj, newObj)
	if err != nil {
		return fwk.Queue, err
	}
	if reason := unfit(newNode); reason != "" {
		logger.V(5).Info("cluster was created or updated, but cannot take new replicas", "pod", klog.KObj(pod), "cluster", klog.KObj(newNode), "reason", reason)
		return fwk.QueueSkip, nil
	}
	if oldNode != nil && unfit(oldNode) == "" {
		logger.V(5).Info("cluster was updated, but could take new replicas before", "pod", klog.KObj(pod), "cluster", klog.KObj(newNode))
		return fwk.QueueSkip, nil
	}
	logger.V(5).Info("cluster can take new replicas now", "pod", klog.KObj(pod), "cluster", klog.KObj(newNode))
	return fwk.Queue, nil
}

// Filter refuses a cluster that cannot take a new replica. Making room there would not help, so it is never preempted on.
func (pl *ClusterReady) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	if reason := unfit(nodeInfo.Node()); reason != "" {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason)
	}
	return nil
}

// unfit tells why a cluster cannot take new replicas, the most lasting reason first. It is empty for one that can.
func unfit(node *v1.Node) string {
	switch {
	case len(node.Name) > placement.MaxLabelValue:
		return ErrReasonNameTooLong
	case node.DeletionTimestamp != nil:
		return ErrReasonDeleting
	case !hasCondition(node, v1.NodeReady):
		return ErrReasonNotReady
	case !hasCondition(node, virtual.NodeConditionRoutable):
		return ErrReasonNotRoutable
	}
	return ""
}

func hasCondition(node *v1.Node, conditionType v1.NodeConditionType) bool {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == conditionType {
			return node.Status.Conditions[i].Status == v1.ConditionTrue
		}
	}
	return false
}
