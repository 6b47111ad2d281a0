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

// Package preemption holds the plugin Preemption, for placements that fit nowhere. It says with numbers what the closest
// clusters lack: kube-scheduler's own message has the counts, by reason; it must not have numbers in its reasons, or a
// thousand clusters would make a thousand reasons.
//
// In the mode Preempt it also makes room, with kube-scheduler's own search for victims: on one cluster, the fewest and
// least important replicas of lower priority whose leaving makes the placement fit by the ledger of PoolFit. It deletes
// nothing. Victims are asked to leave, and the manager moves them as it moves replicas for any other cause.
package preemption

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	policylisters "k8s.io/client-go/listers/policy/v1"
	fwk "k8s.io/kube-scheduler/framework"
	upstream "k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	configv1alpha1 "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/names"
	"github.com/evenkeel-io/evenkeel/plugins/poolfit"
)

// Preemption is a plugin that explains why a placement fits nowhere, and makes room for it if its arguments say so.
type Preemption struct {
	maxNamedClusters int
	// evaluator finds victims and asks them to leave; nil where nothing is preempted.
	evaluator *upstream.Evaluator
}

var _ fwk.PostFilterPlugin = &Preemption{}

const (
	// Name is the name of the plugin used in the plugin registry and configurations.
	Name = names.Preemption

	noCandidates = "Preemption does not help: no cluster would have room without its replicas of lower priority."
)

// Budgets gives the budgets that victims should not violate. It is called where something is preempted, before the
// scheduler's informers start.
type Budgets func() policylisters.PodDisruptionBudgetLister

// New gives the factory of the plugin. Its arguments are PreemptionArgs.
func New(budgets Budgets) frameworkruntime.PluginFactory {
	return func(ctx context.Context, obj runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		args, err := configv1alpha1.DecodePreemptionArgs(obj)
		if err != nil {
			return nil, err
		}
		pl := &Preemption{maxNamedClusters: int(*args.MaxNamedClusters)}
		if args.Mode != configv1alpha1.PreemptionModePreempt {
			return pl, nil
		}
		if budgets == nil {
			return nil, fmt.Errorf("plugin %s cannot preempt here, set mode to %s", Name, configv1alpha1.PreemptionModeExplain)
		}
		rules, err := newRules(ctx, handle)
		if err != nil {
			return nil, err
		}
		// Not in the background: what one placement preempts must be known when the next is looked at.
		pl.evaluator = upstream.NewEvaluator(Name, handle, rules, false)
		pl.evaluator.PdbLister = budgets()
		return pl, nil
	}
}

// Name returns the name of the plugin.
func (pl *Preemption) Name() string {
	return Name
}

// PostFilter says what is missing, and makes room where it may and can.
func (pl *Preemption) PostFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, m fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	// Before anything is tried: what is tried leaves its own shortages behind.
	sentence := explain(poolfit.Shortages(state), pl.maxNamedClusters)
	if pl.evaluator == nil {
		return nil, fwk.NewStatus(fwk.Unschedulable, sentences(sentence)...)
	}
	metrics.PreemptionAttempts.Inc()
	result, status := pl.evaluator.Preempt(virtual.WithPreemptor(ctx, pod), state, pod, m)
	switch {
	case status.IsSuccess():
		return result, fwk.NewStatus(fwk.Success, sentences(sentence, fmt.Sprintf("Making room on InferenceCluster %q.", result.NominatedNodeName))...)
	case status.Code() == fwk.Error:
		return result, status
	case result == nil:
		return nil, fwk.NewStatus(status.Code(), sentences(sentence, status.Message())...)
	default:
		return result, fwk.NewStatus(status.Code(), sentences(sentence, noCandidates)...)
	}
}

// sentences are one reason, without what is empty: the scheduler puts commas between reasons.
func sentences(all ...string) []string {
	said := strings.Join(slices.DeleteFunc(all, func(sentence string) bool { return sentence == "" }), " ")
	if said == "" {
		return nil
	}
	return []string{said}
}
