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

// Package placementbinder holds the plugin PlacementBinder, which records the scheduler's decision on the
// ReplicaPlacement, in one status write. It takes the place of the in-tree DefaultBinder, since a placement has pools and
// an index besides a cluster. It must not decide anything.
package placementbinder

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/names"
	"github.com/evenkeel-io/evenkeel/plugins/poolfit"
)

// PlacementBinder is a plugin that writes the assignment that PoolFit has chosen.
type PlacementBinder struct {
	writer virtual.PlacementWriter
}

var _ fwk.BindPlugin = &PlacementBinder{}

// Name is the name of the plugin used in the plugin registry and configurations.
const Name = names.PlacementBinder

// New gives the factory of the plugin.
func New(writer virtual.PlacementWriter) frameworkruntime.PluginFactory {
	return func(_ context.Context, _ runtime.Object, _ fwk.Handle) (fwk.Plugin, error) {
		return &PlacementBinder{writer: writer}, nil
	}
}

// Name returns the name of the plugin.
func (pl *PlacementBinder) Name() string {
	return Name
}

// Bind writes the assignment. It never skips: no other binder could write it.
func (pl *PlacementBinder) Bind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	assignment, err := poolfit.ChosenAssignment(state)
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("bind placement %s/%s: %w", pod.Namespace, pod.Name, err))
	}
	if assignment.ClusterName != nodeName {
		return fwk.AsStatus(fmt.Errorf("bind placement %s/%s: cluster %q was chosen, but node pools of %q", pod.Namespace, pod.Name, nodeName, assignment.ClusterName))
	}
	klog.FromContext(ctx).V(3).Info("Attempting to bind placement to cluster", "pod", klog.KObj(pod), "cluster", nodeName, "index", assignment.Index)
	if err := pl.writer.Assign(ctx, pod, *assignment); err != nil {
		return fwk.AsStatus(err)
	}
	return nil
}
