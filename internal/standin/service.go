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
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// serviceReconciler computes routes. As under Crossplane, a service is looked at
// when it changes itself (also when an annotation asks for it) and otherwise on a
// cycle: nothing tells it that an endpoint came or went.
type serviceReconciler struct {
	client     client.Client
	routes     publisher
	interval   time.Duration
	gatewayURL string
	counts     *counter
}

func (r *serviceReconciler) setUp(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		Named("stand-in-service").
		For(&modelplane.ModelService{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Complete(r)
}

// Reconcile computes the route of one service and comes back after the interval.
func (r *serviceReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	service := &modelplane.ModelService{}
	if err := r.client.Get(ctx, request.NamespacedName, service); err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, r.routes.withdraw(ctx, request.NamespacedName)
		}
		return reconcile.Result{}, err
	}
	endpoints := &modelplane.ModelEndpointList{}
	if err := r.client.List(ctx, endpoints); err != nil {
		return reconcile.Result{}, err
	}
	result := resolve(service.Spec.Endpoints, endpoints.Items)
	if err := r.routes.publish(ctx, service, result.backends); err != nil {
		return reconcile.Result{}, err
	}
	r.counts.add(func(c *Counters) { c.RouteCycles++ })
	return reconcile.Result{RequeueAfter: r.interval}, r.report(ctx, service, result)
}

func (r *serviceReconciler) report(ctx context.Context, service *modelplane.ModelService, result resolution) error {
	old := service.DeepCopy()
	service.Status.Address = fmt.Sprintf("%s/%s/%s/", r.gatewayURL, service.Namespace, service.Name)
	resolved, routing := serviceConditions(result)
	setConditions(&service.Status.Conditions, service.Generation, resolved, routing, readyCondition(len(result.backends) > 0))
	if equality.Semantic.DeepEqual(old.Status, service.Status) {
		return nil
	}
	return client.IgnoreNotFound(r.client.Status().Patch(ctx, service, lockedPatch(old)))
}
