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

package standin

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

const modelServiceKind = "ModelService"

// publisher makes the route of a ModelService known to the gateway.
type publisher interface {
	// publish replaces the route; without backends there is none.
	publish(ctx context.Context, service *modelplane.ModelService, backends []weightedBackend) error
	// withdraw removes the route of a service that is not there any more.
	withdraw(ctx context.Context, service types.NamespacedName) error
}

// tablePublisher tells the gateway directly, on hubs without the Gateway API.
type tablePublisher struct {
	routes *routeTable
}

func (p tablePublisher) publish(_ context.Context, service *modelplane.ModelService, backends []weightedBackend) error {
	key := client.ObjectKeyFromObject(service)
	if len(backends) == 0 {
		p.routes.set(key)
		return nil
	}
	p.routes.set(key, newRule(servicePrefix(key), backends))
	return nil
}

func (p tablePublisher) withdraw(_ context.Context, service types.NamespacedName) error {
	p.routes.set(service)
	return nil
}

// httpRoutePublisher writes an HTTPRoute with the service's name, as Modelplane does
// where a gateway reads them.
type httpRoutePublisher struct {
	client client.Client
	counts *counter
}

func (p *httpRoutePublisher) publish(ctx context.Context, service *modelplane.ModelService, backends []weightedBackend) error {
	if len(backends) == 0 {
		return p.withdraw(ctx, client.ObjectKeyFromObject(service))
	}
	route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name}}
	result, err := controllerutil.CreateOrUpdate(ctx, p.client, route, func() error {
		// A service of the name that was deleted may have left its route behind.
		route.OwnerReferences = slices.DeleteFunc(route.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.Kind == modelServiceKind && o.Name == service.Name && o.UID != service.UID
		})
		route.Spec = httpRouteSpec(service, backends)
		return controllerutil.SetControllerReference(service, route, p.client.Scheme())
	})
	if err != nil {
		return fmt.Errorf("write the HTTPRoute of ModelService %s/%s: %w", service.Namespace, service.Name, err)
	}
	if result != controllerutil.OperationResultNone {
		p.counts.add(func(c *Counters) { c.HTTPRoutesWritten++ })
	}
	return nil
}

// withdraw leaves a route alone that belongs to somebody else.
func (p *httpRoutePublisher) withdraw(ctx context.Context, service types.NamespacedName) error {
	route := &gatewayv1.HTTPRoute{}
	if err := p.client.Get(ctx, service, route); err != nil {
		return client.IgnoreNotFound(err)
	}
	owner := metav1.GetControllerOf(route)
	if owner == nil || owner.Kind != modelServiceKind || owner.Name != service.Name {
		return nil
	}
	if err := p.client.Delete(ctx, route, client.Preconditions{UID: &route.UID}); err != nil {
		return client.IgnoreNotFound(err)
	}
	p.counts.add(func(c *Counters) { c.HTTPRoutesWritten++ })
	return nil
}

// servesHTTPRoutes tells whether the hub knows the Gateway API.
func servesHTTPRoutes(mapper meta.RESTMapper) (bool, error) {
	_, err := mapper.RESTMapping(schema.GroupKind{Group: gatewayv1.GroupName, Kind: "HTTPRoute"}, gatewayv1.GroupVersion.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask the hub whether it serves HTTPRoutes: %w", err)
	}
	return true, nil
}

// httpRouteReconciler is the gateway's control plane: it has the gateway route by
// what the HTTPRoutes say.
type httpRouteReconciler struct {
	client client.Client
	routes *routeTable
}

func (r *httpRouteReconciler) setUp(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		Named("stand-in-http-route").
		For(&gatewayv1.HTTPRoute{}).
		Complete(r)
}

// Reconcile takes over what one HTTPRoute says.
func (r *httpRouteReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	route := &gatewayv1.HTTPRoute{}
	if err := r.client.Get(ctx, request.NamespacedName, route); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.routes.set(request.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !attached(route) || !route.DeletionTimestamp.IsZero() {
		r.routes.set(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	r.routes.set(request.NamespacedName, rulesOf(route)...)
	return reconcile.Result{}, nil
}
