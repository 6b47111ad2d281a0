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

// Package preemption holds the plugin Preemption in its explaining form: it says with numbers what the closest clusters
// lack for a placement that fits nowhere. kube-scheduler's own message has the counts, by reason; it must not have
// numbers in its reasons, or a thousand clusters would make a thousand reasons.
//
// It never nominates a cluster and never evicts anything.
package preemption

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	configv1alpha1 "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/plugins/names"
	"github.com/evenkeel-io/evenkeel/plugins/poolfit"
)

// Preemption is a plugin that explains why a placement fits nowhere.
type Preemption struct {
	maxNamedClusters int
}

var _ fwk.PostFilterPlugin = &Preemption{}

// Name is the name of the plugin used in the plugin registry and configurations.
const Name = names.Preemption

// New makes the plugin. Its arguments are PreemptionArgs.
func New(_ context.Context, obj runtime.Object, _ fwk.Handle) (fwk.Plugin, error) {
	args, err := configv1alpha1.DecodePreemptionArgs(obj)
	if err != nil {
		return nil, err
	}
	return &Preemption{maxNamedClusters: int(*args.MaxNamedClusters)}, nil
}

// Name returns the name of the plugin.
func (pl *Preemption) Name() string {
	return Name
}

// PostFilter always answers that nothing can be done, and says what is missing.
func (pl *Preemption) PostFilter(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	sentence := explain(poolfit.Shortages(state), pl.maxNamedClusters)
	if sentence == "" {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	return nil, fwk.NewStatus(fwk.Unschedulable, sentence)
}
