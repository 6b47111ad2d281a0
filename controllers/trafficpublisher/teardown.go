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
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	gateway "sigs.k8s.io/gateway-api/apis/v1"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	weights "github.com/evenkeel-io/evenkeel/internal/trafficmap"
)

// absencePause is how long to wait before looking again whether a deleted route is gone.
const absencePause = time.Second

// finalize takes everything back and lets the map go.
func (r *Reconciler) finalize(ctx context.Context, tm *ome.TrafficMap) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(tm, finalizer) {
		return ctrl.Result{}, nil
	}
	gone, err := r.tearDown(ctx, tm, weights.Finalizing)
	if err != nil || !gone {
		return ctrl.Result{RequeueAfter: absencePause}, err
	}
	if err := r.write(ctx, tm, weights.Unpublished, forgetJournal); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.release(ctx, tm)
}

// withdraw takes everything back and keeps the map, because there is nothing to publish to.
func (r *Reconciler) withdraw(ctx context.Context, tm *ome.TrafficMap) (ctrl.Result, error) {
	gone, err := r.tearDown(ctx, tm, weights.Transitioning)
	if err != nil || !gone {
		return ctrl.Result{RequeueAfter: absencePause}, err
	}
	if err := r.write(ctx, tm, weights.Withdrawn, func(s *report) {
		forgetJournal(s)
		s.ObservedTrafficMapGeneration = tm.Generation
	}); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.release(ctx, tm)
}

func forgetJournal(s *report) { s.GatewayRef, s.Publisher = nil, nil }

// tearDown removes what the journal names, first the routes and then, when those are gone,
// the backends. It tells whether all is gone. meanwhile is what the map says until then.
func (r *Reconciler) tearDown(ctx context.Context, tm *ome.TrafficMap, meanwhile weights.Publication) (bool, error) {
	service := client.ObjectKeyFromObject(tm)
	if tm.Status.Publisher == nil {
		r.claims.keep(service)
		return true, nil
	}
	if err := r.write(ctx, tm, meanwhile, nil); err != nil {
		return false, err
	}
	allGone := true
	for _, target := range tm.Status.Publisher.ClaimedTargets {
		route, known := routeOf(target)
		if !known || !r.ServesRoutes {
			continue
		}
		if err := r.zero(ctx, service, route); err != nil {
			return false, err
		}
		gone, err := r.deleteRoute(ctx, service, route)
		if err != nil {
			return false, err
		}
		allGone = allGone && gone
	}
	if !allGone {
		return false, nil
	}
	r.claims.keep(service)
	backends := &corev1.ServiceList{}
	if err := r.Backends.List(ctx, backends, client.MatchingLabels(ownLabels(service))); err != nil {
		return false, err
	}
	for i := range backends.Items {
		if err := r.deleteBackend(ctx, &backends.Items[i]); err != nil {
			return false, err
		}
	}
	return true, nil
}

// retire sets a route to zero that another one takes over from.
func (r *Reconciler) retire(ctx context.Context, service, route types.NamespacedName) error {
	err := r.zero(ctx, service, route)
	if err == nil || apierrors.IsConflict(err) {
		return err
	}
	return &failure{weights.StaleTargetFailed, fmt.Errorf("HTTPRoute %s: %w", route, err)}
}

// owned reads a route past the cache; it is nil where there is none, or not ours.
func (r *Reconciler) owned(ctx context.Context, service, key types.NamespacedName) (*gateway.HTTPRoute, error) {
	route := &gateway.HTTPRoute{}
	if err := r.Live.Get(ctx, key, route); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !hasLabels(route, ownLabels(service)) {
		return nil, nil
	}
	return route, nil
}

// zero takes a route's traffic away before the route itself, so that a gateway which is slow
// to drop a route does not go on sending.
func (r *Reconciler) zero(ctx context.Context, service, key types.NamespacedName) error {
	route, err := r.owned(ctx, service, key)
	if err != nil || route == nil || route.DeletionTimestamp != nil {
		return err
	}
	changed := false
	for i := range route.Spec.Rules {
		for j := range route.Spec.Rules[i].BackendRefs {
			if ref := &route.Spec.Rules[i].BackendRefs[j]; ref.Weight == nil || *ref.Weight != 0 {
				ref.Weight = ptr.To[int32](0)
				changed = true
			}
		}
	}
	if !changed {
		return nil
	}
	return r.Client.Update(ctx, route, client.FieldOwner(fieldManager))
}

// deleteRoute deletes exactly the route that it has seen, and tells whether it is gone.
func (r *Reconciler) deleteRoute(ctx context.Context, service, key types.NamespacedName) (bool, error) {
	route, err := r.owned(ctx, service, key)
	if err != nil || route == nil {
		return err == nil, err
	}
	if route.DeletionTimestamp == nil {
		preconditions := client.Preconditions{UID: &route.UID, ResourceVersion: &route.ResourceVersion}
		if err := r.Client.Delete(ctx, route, preconditions); client.IgnoreNotFound(err) != nil {
			return false, err
		}
	}
	route, err = r.owned(ctx, service, key)
	return err == nil && route == nil, err
}

func (r *Reconciler) deleteBackend(ctx context.Context, backend *corev1.Service) error {
	uid := backend.UID
	return client.IgnoreNotFound(r.Client.Delete(ctx, backend, client.Preconditions{UID: &uid}))
}
