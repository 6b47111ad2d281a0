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
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gateway "sigs.k8s.io/gateway-api/apis/v1"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	weights "github.com/evenkeel-io/evenkeel/internal/trafficmap"
)

// publish brings about what the plan says. Before the first write outside of the map, the map
// says what is going to be written, so that a crash leaves nothing that nobody knows of.
func (r *Reconciler) publish(ctx context.Context, tm *ome.TrafficMap, p *plan) (ctrl.Result, error) {
	if j := tm.Status.Publisher; j != nil && j.PublisherName != publisherName {
		return ctrl.Result{}, &failure{weights.PublisherChanged, fmt.Errorf("the map was published by %q, this is %q. Have that one withdraw it first", j.PublisherName, publisherName)}
	}
	steps, err := r.steps(ctx, tm, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(steps) > 0 {
		if err := r.preflight(ctx, tm, p); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.hold(ctx, tm); err != nil {
		return ctrl.Result{}, err
	}
	if len(steps) > 0 {
		if err := r.write(ctx, tm, weights.Transitioning, func(s *report) { s.Publisher = journal(tm, targetOf(p.key())) }); err != nil {
			return ctrl.Result{}, err
		}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return ctrl.Result{}, err
		}
	}
	// The route is there: what it had before is free for others.
	r.claims.keep(p.service, p.host, targetOf(p.key()))
	err = r.write(ctx, tm, weights.Published, func(s *report) {
		s.GatewayRef = &ome.TrafficMapGatewayRef{Group: gateway.GroupName, Kind: "HTTPRoute", Namespace: p.route.Namespace, Name: p.route.Name}
		s.ObservedTrafficMapGeneration = tm.Generation
		s.Publisher = &ome.TrafficMapPublisherStatus{
			PublisherName: publisherName, ClaimedTargets: []string{targetOf(p.key())}, ObservedOptionsDigest: p.digest,
		}
	})
	return ctrl.Result{RequeueAfter: r.ResyncInterval}, err
}

// journal is the one of before with one more target.
func journal(tm *ome.TrafficMap, target string) *ome.TrafficMapPublisherStatus {
	j := &ome.TrafficMapPublisherStatus{PublisherName: publisherName}
	if tm.Status.Publisher != nil {
		j = tm.Status.Publisher.DeepCopy()
	}
	if !slices.Contains(j.ClaimedTargets, target) {
		j.ClaimedTargets = append(j.ClaimedTargets, target)
	}
	return j
}

// step is one write outside of the map.
type step func(context.Context) error

// steps are what is missing, in the order that never sends traffic to what is not there:
// retired routes give up their traffic, backends come before the route that names them, and
// what no route names any more goes last.
func (r *Reconciler) steps(ctx context.Context, tm *ome.TrafficMap, p *plan) ([]step, error) {
	backends := &corev1.ServiceList{}
	if err := r.Backends.List(ctx, backends, client.MatchingLabels(ownLabels(p.service))); err != nil {
		return nil, err
	}
	var steps, last []step
	var claims []string
	if tm.Status.Publisher != nil {
		claims = tm.Status.Publisher.ClaimedTargets
	}
	for _, target := range claims {
		retired, known := routeOf(target)
		if !known || retired == p.key() {
			continue
		}
		steps = append(steps, func(ctx context.Context) error { return r.retire(ctx, p.service, retired) })
		last = append(last, func(ctx context.Context) error { _, err := r.deleteRoute(ctx, p.service, retired); return err })
	}
	for _, wanted := range p.backends {
		i := slices.IndexFunc(backends.Items, func(s corev1.Service) bool { return s.Namespace == wanted.Namespace && s.Name == wanted.Name })
		if i < 0 || !sameBackend(&backends.Items[i], wanted) {
			var is *corev1.Service
			if i >= 0 {
				is = &backends.Items[i]
			}
			steps = append(steps, func(ctx context.Context) error { return r.applyBackend(ctx, p, is, wanted) })
		}
	}
	route := &gateway.HTTPRoute{}
	err := r.Client.Get(ctx, p.key(), route)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	switch {
	case err != nil:
		steps = append(steps, func(ctx context.Context) error { return r.applyRoute(ctx, p, nil) })
	case !sameRoute(route, p.route):
		steps = append(steps, func(ctx context.Context) error { return r.applyRoute(ctx, p, route) })
	}
	for i := range backends.Items {
		surplus := &backends.Items[i]
		if !slices.ContainsFunc(p.backends, func(s *corev1.Service) bool { return s.Namespace == surplus.Namespace && s.Name == surplus.Name }) {
			last = append(last, func(ctx context.Context) error { return r.deleteBackend(ctx, surplus) })
		}
	}
	return append(steps, last...), nil
}

func hasLabels(o client.Object, wanted map[string]string) bool {
	for key, value := range wanted {
		if o.GetLabels()[key] != value {
			return false
		}
	}
	return true
}

func sameBackend(is, wanted *corev1.Service) bool {
	return hasLabels(is, wanted.Labels) &&
		is.Spec.Type == wanted.Spec.Type &&
		is.Spec.ExternalName == wanted.Spec.ExternalName &&
		is.Spec.SessionAffinity == wanted.Spec.SessionAffinity &&
		equality.Semantic.DeepEqual(is.Spec.Ports, wanted.Spec.Ports)
}

func sameRoute(is, wanted *gateway.HTTPRoute) bool {
	return hasLabels(is, wanted.Labels) && equality.Semantic.DeepEqual(is.Spec, wanted.Spec)
}

// applyBackend makes a backend be as wanted. is is what the cache has, or nil.
func (r *Reconciler) applyBackend(ctx context.Context, p *plan, is, wanted *corev1.Service) error {
	if is == nil {
		err := r.Client.Create(ctx, wanted.DeepCopy(), client.FieldOwner(fieldManager))
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		// The cache holds what has the label only.
		is = &corev1.Service{}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(wanted), is); err != nil {
			return err
		}
	}
	if !hasLabels(is, ownLabels(p.service)) {
		return foreign("Service", is)
	}
	changed := is.DeepCopy()
	changed.Labels = withLabels(changed.Labels, wanted.Labels)
	changed.Spec.Type, changed.Spec.ExternalName = wanted.Spec.Type, wanted.Spec.ExternalName
	changed.Spec.SessionAffinity, changed.Spec.Ports = wanted.Spec.SessionAffinity, wanted.Spec.Ports
	return r.Client.Update(ctx, changed, client.FieldOwner(fieldManager))
}

// applyRoute makes the route be as planned. is is what the cache has, or nil.
func (r *Reconciler) applyRoute(ctx context.Context, p *plan, is *gateway.HTTPRoute) error {
	if is == nil {
		err := r.Client.Create(ctx, p.route.DeepCopy(), client.FieldOwner(fieldManager))
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		is = &gateway.HTTPRoute{}
		if err := r.Live.Get(ctx, p.key(), is); err != nil {
			return err
		}
	}
	if !hasLabels(is, ownLabels(p.service)) {
		return foreign("HTTPRoute", is)
	}
	changed := is.DeepCopy()
	changed.Labels = withLabels(changed.Labels, p.route.Labels)
	changed.Spec = p.route.Spec
	return r.Client.Update(ctx, changed, client.FieldOwner(fieldManager))
}

func withLabels(is, wanted map[string]string) map[string]string {
	if is == nil {
		is = map[string]string{}
	}
	for key, value := range wanted {
		is[key] = value
	}
	return is
}

func foreign(kind string, o client.Object) error {
	return &failure{weights.ClaimRejected, fmt.Errorf("global %s %s/%s belongs to another source", kind, o.GetNamespace(), o.GetName())}
}

// preflight claims what the plan needs, and refuses to take what somebody else has.
func (r *Reconciler) preflight(ctx context.Context, tm *ome.TrafficMap, p *plan) error {
	target := targetOf(p.key())
	fresh, clash := r.claims.take(owner{p.service, p.key()}, p.host, target)
	switch {
	case clash != nil && clash.name == target:
		return claimedTarget(target, clash.with.service)
	case clash != nil:
		return r.claimedHost(p.host, clash.with.route)
	}
	err := r.lookAround(ctx, tm, p)
	if err != nil {
		r.claims.release(fresh)
	}
	return err
}

func claimedTarget(target string, by types.NamespacedName) error {
	return &failure{weights.ClaimRejected, fmt.Errorf("publisher target %q is already claimed by TrafficMap %s", target, by)}
}

func (r *Reconciler) claimedHost(host string, by types.NamespacedName) error {
	return &failure{weights.ClaimRejected, fmt.Errorf("Gateway hostname %q on %s/%s is already published by HTTPRoute %s", host, r.Gateway.Namespace, r.Gateway.Name, by)}
}

// lookAround looks in the cache for others who have what the plan needs.
func (r *Reconciler) lookAround(ctx context.Context, tm *ome.TrafficMap, p *plan) error {
	claimed := &ome.TrafficMapList{}
	target := targetOf(p.key())
	if err := r.Client.List(ctx, claimed, client.MatchingFields{indexClaim: target}); err != nil {
		return err
	}
	for i := range claimed.Items {
		if other := &claimed.Items[i]; other.UID != tm.UID {
			return claimedTarget(target, client.ObjectKeyFromObject(other))
		}
	}
	own := &gateway.HTTPRoute{}
	switch err := r.Client.Get(ctx, p.key(), own); {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err == nil && !hasLabels(own, ownLabels(p.service)):
		return foreign("HTTPRoute", own)
	}
	routes := &gateway.HTTPRouteList{}
	if err := r.Client.List(ctx, routes, client.MatchingFields{indexHost: p.host}); err != nil {
		return err
	}
	for i := range routes.Items {
		route := &routes.Items[i]
		key := types.NamespacedName{Namespace: route.Namespace, Name: route.Name}
		if key != p.key() && r.attached(route) && !hasLabels(route, ownLabels(p.service)) {
			return r.claimedHost(p.host, key)
		}
	}
	return nil
}

// attached tells whether a route is on the gateway that is published to.
func (r *Reconciler) attached(route *gateway.HTTPRoute) bool {
	return slices.ContainsFunc(route.Spec.ParentRefs, func(ref gateway.ParentReference) bool {
		namespace := route.Namespace
		if ref.Namespace != nil {
			namespace = string(*ref.Namespace)
		}
		isGateway := (ref.Group == nil || *ref.Group == gateway.GroupName) && (ref.Kind == nil || *ref.Kind == "Gateway")
		return isGateway && namespace == r.Gateway.Namespace && string(ref.Name) == r.Gateway.Name
	})
}
