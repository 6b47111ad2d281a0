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
	"sync"

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
	// writing has a place for each write that may be under way.
	writing chan struct{}
}

var _ fwk.ReservePlugin = &PlacementBinder{}
var _ fwk.BindPlugin = &PlacementBinder{}
var _ fwk.PostBindPlugin = &PlacementBinder{}

const (
	// Name is the name of the plugin used in the plugin registry and configurations.
	Name = names.PlacementBinder

	turnStateKey fwk.StateKey = "Turn" + Name

	// maxWriting bounds the writes under way. Deciding is faster than writing, and what the API server has not begun
	// with only fills its queues until it answers "too many requests".
	maxWriting = 32
)

// New gives the factory of the plugin.
func New(writer virtual.PlacementWriter) frameworkruntime.PluginFactory {
	return func(_ context.Context, _ runtime.Object, _ fwk.Handle) (fwk.Plugin, error) {
		return &PlacementBinder{writer: writer, writing: make(chan struct{}, maxWriting)}, nil
	}
}

// Name returns the name of the plugin.
func (pl *PlacementBinder) Name() string {
	return Name
}

// turn is a place among the writes under way, which is given back once.
type turn struct {
	once sync.Once
	back func()
}

// Clone returns the turn itself: there is one for each cycle.
func (t *turn) Clone() fwk.StateData {
	return t
}

// Reserve waits until the assignment can be written soon. Meanwhile the scheduler decides nothing more.
func (pl *PlacementBinder) Reserve(ctx context.Context, state fwk.CycleState, _ *v1.Pod, _ string) *fwk.Status {
	select {
	case pl.writing <- struct{}{}:
		state.Write(turnStateKey, &turn{back: func() { <-pl.writing }})
		return nil
	case <-ctx.Done():
		return fwk.AsStatus(ctx.Err())
	}
}

// Unreserve ends the turn of a placement that was not bound.
func (pl *PlacementBinder) Unreserve(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ string) {
	endTurn(state)
}

// PostBind ends the turn of a placement that was bound.
func (pl *PlacementBinder) PostBind(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ string) {
	endTurn(state)
}

func endTurn(state fwk.CycleState) {
	if data, err := state.Read(turnStateKey); err == nil {
		t := data.(*turn)
		t.once.Do(t.back)
	}
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
