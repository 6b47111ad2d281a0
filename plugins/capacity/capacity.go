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

// Package capacity lets the plugin CapacityScheduling of scheduler-plugins, which keeps namespaces within their
// ElasticQuotas, preempt placements: it says for whom, so that victims are asked to leave and the manager moves them. It
// must not change what the plugin decides.
package capacity

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	policylisters "k8s.io/client-go/listers/policy/v1"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"sigs.k8s.io/scheduler-plugins/pkg/capacityscheduling"

	"github.com/evenkeel-io/evenkeel/internal/virtual"
)

// Capacity is CapacityScheduling for placements.
type Capacity struct {
	*capacityscheduling.CapacityScheduling
}

var _ fwk.PreFilterPlugin = &Capacity{}
var _ fwk.PostFilterPlugin = &Capacity{}
var _ fwk.ReservePlugin = &Capacity{}
var _ fwk.EnqueueExtensions = &Capacity{}

const nobodyYields = "No replica of a namespace over its quota's minimum, or of lower priority in its own, can make room."

// Budgets gives what DisruptionPolicies allow as PodDisruptionBudgets. It is called before the scheduler's informers start.
type Budgets func() policylisters.PodDisruptionBudgetLister

// New gives the factory of the plugin. Without budgets victims are chosen as if there were no DisruptionPolicies.
func New(budgets Budgets) frameworkruntime.PluginFactory {
	return func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		if budgets != nil {
			handle = withBudgets(handle, budgets())
		}
		return newPlugin(ctx, args, handle)
	}
}

func newPlugin(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	made, err := capacityscheduling.New(ctx, args, handle)
	if err != nil {
		return nil, err
	}
	inner, ok := made.(*capacityscheduling.CapacityScheduling)
	if !ok {
		return nil, fmt.Errorf("%s is a %T", capacityscheduling.Name, made)
	}
	return &Capacity{CapacityScheduling: inner}, nil
}

// PostFilter makes room for a placement by the rules of quotas. What the plugin says of nodes when it cannot is put in
// words that do not change with the number of clusters.
func (pl *Capacity) PostFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, m fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	result, status := pl.CapacityScheduling.PostFilter(virtual.WithPreemptor(ctx, pod), state, pod, m)
	switch {
	case status.IsSuccess():
		return result, fwk.NewStatus(fwk.Success, fmt.Sprintf("Making room on InferenceCluster %q.", result.NominatedNodeName))
	case status.Code() == fwk.Unschedulable && result != nil:
		return result, fwk.NewStatus(fwk.Unschedulable, nobodyYields)
	default:
		return result, status
	}
}
