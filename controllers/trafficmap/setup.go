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

package trafficmap

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/controllers/trafficmap/probe"
)

// Name of the controller.
const Name = "trafficmap"

// Options configure the controller.
type Options struct {
	// MaxConcurrentReconciles is how many services are looked at at once.
	MaxConcurrentReconciles int
	// Probe is the policy of services that have none of their own; nil for none.
	Probe *probe.Policy
}

// waitingChanges is how many probes may wait for the controller to take in their news.
const waitingChanges = 1024

// Setup registers the controller with a manager whose hub serves InferenceServices and
// TrafficMaps. Probes end with ctx.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	changes := make(chan event.GenericEvent, waitingChanges)
	r := &Reconciler{
		Options:  options,
		Client:   mgr.GetClient(),
		Recorder: mgr.GetEventRecorder(recorder),
		Clock:    clock.RealClock{},
		prober: probe.NewProber(ctx, func(service types.NamespacedName) {
			named := &ome.InferenceService{}
			named.Namespace, named.Name = service.Namespace, service.Name
			select {
			case changes <- event.GenericEvent{Object: named}:
			case <-ctx.Done():
			}
		}),
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&ome.InferenceService{}, builder.WithPredicates(serviceChanged())).
		// By name and not by owner: a map of another owner stands in the way until it goes.
		Watches(&ome.TrafficMap{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(mapChanged())).
		WatchesRawSource(source.Channel(changes, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.MaxConcurrentReconciles}).
		Complete(r)
}
