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

package trafficpublisher

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gateway "sigs.k8s.io/gateway-api/apis/v1"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// Name of the controller.
const Name = "trafficpublisher"

// recorder is the name under which events are recorded.
const recorder = "evenkeel-trafficpublisher"

const (
	// indexClaim finds maps by the targets in their journals.
	indexClaim = "claim"
	// indexHost finds routes by their host names.
	indexHost = "host"
)

// Setup registers the publisher with a manager whose hub serves InferenceServices and
// TrafficMaps and, if the options say so, HTTPRoutes.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	backends, err := backendCache(mgr)
	if err != nil {
		return err
	}
	if err := addIndexes(ctx, mgr.GetFieldIndexer(), options.ServesRoutes); err != nil {
		return err
	}
	r := &Reconciler{
		Options:  options,
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Backends: backends,
		Recorder: mgr.GetEventRecorder(recorder),
		Clock:    clock.RealClock{},
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&ome.TrafficMap{}).
		Watches(&ome.InferenceService{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(serviceChanged()))
	if options.ServesRoutes {
		b = b.Watches(&gateway.HTTPRoute{}, handler.EnqueueRequestsFromMapFunc(byLabels))
	}
	return b.WithOptions(controller.Options{MaxConcurrentReconciles: options.MaxConcurrentReconciles}).Complete(r)
}

// backendCache holds the publisher's own Services only, whatever else there is on the hub.
func backendCache(mgr ctrl.Manager) (cache.Cache, error) {
	selector := labels.SelectorFromSet(labels.Set{labelManagedBy: managedBy})
	backends, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(),
		Scheme:     mgr.GetScheme(),
		Mapper:     mgr.GetRESTMapper(),
		ByObject:   map[client.Object]cache.ByObject{&corev1.Service{}: {Label: selector}},
	})
	if err != nil {
		return nil, fmt.Errorf("make the cache of backends: %w", err)
	}
	return backends, mgr.Add(backends)
}

func addIndexes(ctx context.Context, indexer client.FieldIndexer, servesRoutes bool) error {
	err := indexer.IndexField(ctx, &ome.TrafficMap{}, indexClaim, func(o client.Object) []string {
		if j := o.(*ome.TrafficMap).Status.Publisher; j != nil {
			return j.ClaimedTargets
		}
		return nil
	})
	if err != nil || !servesRoutes {
		return err
	}
	return indexer.IndexField(ctx, &gateway.HTTPRoute{}, indexHost, func(o client.Object) []string {
		var hosts []string
		for _, host := range o.(*gateway.HTTPRoute).Spec.Hostnames {
			hosts = append(hosts, string(host))
		}
		return hosts
	})
}

// serviceChanged lets through what a publication depends on apart from the map.
func serviceChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
			e.ObjectOld.GetAnnotations()[ome.GlobalHostAnnotation] != e.ObjectNew.GetAnnotations()[ome.GlobalHostAnnotation]
	}}
}

// byLabels finds the map that a route was written for.
func byLabels(_ context.Context, o client.Object) []reconcile.Request {
	if o.GetLabels()[labelManagedBy] != managedBy {
		return nil
	}
	request := reconcile.Request{}
	request.Namespace, request.Name = o.GetLabels()[labelNamespace], o.GetLabels()[labelService]
	return []reconcile.Request{request}
}
