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

package modeldeployment

import (
	"context"
	"slices"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// byRoute maps a route to the deployments whose endpoints it has begun or ceased to name. Most changes of a route are
// about weights and concern nobody.
func (r *Reconciler) byRoute() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) {
			r.enqueueBackends(ctx, routeBackends(e.Object), q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			before, after := routeBackends(e.ObjectOld), routeBackends(e.ObjectNew)
			r.enqueueBackends(ctx, append(without(before, after), without(after, before)...), q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) {
			r.enqueueBackends(ctx, routeBackends(e.Object), q)
		},
	}
}

func without(list, excluded []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(excluded, s) })
}

func (r *Reconciler) enqueueBackends(ctx context.Context, backends []string, q requests) {
	for _, backend := range backends {
		list := &modelplane.ModelEndpointList{}
		if err := r.Client.List(ctx, list, client.MatchingFields{indexBackend: backend}, client.UnsafeDisableDeepCopy); err != nil {
			log.FromContext(ctx).Error(err, "Cannot list the endpoints of a backend", "backend", backend)
			continue
		}
		enqueueOwners(list, q)
	}
}

// byService maps a service to the deployments whose endpoints it selects now, or did before it was edited.
func (r *Reconciler) byService() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) { r.enqueueSelected(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() {
				r.enqueueSelected(ctx, e.ObjectOld, q)
				r.enqueueSelected(ctx, e.ObjectNew, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) {
			r.requested.Delete(e.Object.GetUID())
			r.enqueueSelected(ctx, e.Object, q)
		},
	}
}

func (r *Reconciler) enqueueSelected(ctx context.Context, service client.Object, q requests) {
	for _, g := range service.(*modelplane.ModelService).Spec.Endpoints {
		list := &modelplane.ModelEndpointList{}
		if err := r.Client.List(ctx, list, client.MatchingLabels(g.Selector.MatchLabels), client.UnsafeDisableDeepCopy); err != nil {
			log.FromContext(ctx).Error(err, "Cannot list the endpoints of a service", "service", client.ObjectKeyFromObject(service))
			continue
		}
		enqueueOwners(list, q)
	}
}

func enqueueOwners(list *modelplane.ModelEndpointList, q requests) {
	for i := range list.Items {
		for _, name := range labelledDeployment(&list.Items[i]) {
			q.Add(request(list.Items[i].Namespace, name))
		}
	}
}
