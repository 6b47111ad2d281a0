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

package replicas

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Traffic is what is known of the ways on which requests come to replicas.
type Traffic struct {
	// Services of every namespace: a service selects endpoints wherever they are.
	Services []*modelplane.ModelService
	// Backends that an HTTPRoute names, by namespace and name of the backend's Service.
	Backends map[types.NamespacedName]bool
	// Unrouted is since when no route has named a backend, as far as this process has seen it.
	Unrouted map[types.NamespacedName]time.Time
}

// routed tells whether a route names an endpoint's backend.
func (t *Traffic) routed(e *modelplane.ModelEndpoint) bool {
	backend, ok := backendOf(e)
	return ok && t.Backends[backend]
}

// backendOf gives the Service that routes name to reach an endpoint, once there is one.
func backendOf(e *modelplane.ModelEndpoint) (types.NamespacedName, bool) {
	if e.Status.Routing == nil || e.Status.Routing.BackendName == "" {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: e.Namespace, Name: e.Status.Routing.BackendName}, true
}

// selecting gives the services that select an endpoint with these labels, sorted by namespace and name.
func (t *Traffic) selecting(labels map[string]string) []*modelplane.ModelService {
	var found []*modelplane.ModelService
	for _, service := range t.Services {
		if slices.ContainsFunc(service.Spec.Endpoints, func(g modelplane.EndpointGroup) bool { return selects(&g, labels) }) {
			found = append(found, service)
		}
	}
	slices.SortFunc(found, func(a, b *modelplane.ModelService) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found
}

func selects(g *modelplane.EndpointGroup, labels map[string]string) bool {
	for k, v := range g.Selector.MatchLabels {
		if got, found := labels[k]; !found || got != v {
			return false
		}
	}
	return true
}

// unselected gives labels without those that a service selects an endpoint by. A service that selects everything goes on
// doing so.
func (t *Traffic) unselected(labels map[string]string) map[string]string {
	left := maps.Clone(labels)
	for _, service := range t.selecting(labels) {
		for i := range service.Spec.Endpoints {
			if g := &service.Spec.Endpoints[i]; selects(g, labels) {
				for k := range g.Selector.MatchLabels {
					delete(left, k)
				}
			}
		}
	}
	return left
}

// serves tells whether requests reach a unit's replica: it is ready and, on a hub with ModelServices and HTTPRoutes, its
// endpoint has a backend that a route names. A replica that no service selects serves when it is ready. One whose traffic
// is being taken away serves no more.
func (s *state) serves(u *unit) bool {
	if !u.ready() || u.withdrawing() {
		return false
	}
	return s.Traffic == nil || s.servingReason(u) != evenkeel.ReasonNotRouted
}

// servingReason gives the reason of the condition Serving of a replica on a hub with routes.
func (s *state) servingReason(u *unit) string {
	if !u.ready() {
		return evenkeel.ReasonNotRouted
	}
	e := s.endpoint(u.name)
	labels := u.replica.Labels
	if u.assigned() {
		labels = s.childMeta(u, "endpoint").Labels
	}
	if len(s.Traffic.selecting(labels)) == 0 {
		return evenkeel.ReasonNotSelected
	}
	if e == nil || !meta.IsStatusConditionTrue(e.Status.Conditions, modelplane.ConditionRoutingReady) || !s.Traffic.routed(e) {
		return evenkeel.ReasonNotRouted
	}
	return evenkeel.ReasonRouted
}

// hurryArrivals asks services to look at endpoints that they should route to by now, once each: they would do so by
// themselves, but only about once a minute.
func (s *state) hurryArrivals() {
	if s.Traffic == nil {
		return
	}
	for u := range s.units {
		e := s.endpoint(u.name)
		if u.serves || u.withdrawing() || !u.keepOff.IsZero() || e == nil || !u.ready() {
			continue
		}
		ready := meta.FindStatusCondition(e.Status.Conditions, modelplane.ConditionRoutingReady)
		if ready != nil && ready.Status == metav1.ConditionTrue {
			s.hurry(s.Traffic.selecting(e.Labels), ready.LastTransitionTime.Time)
		}
	}
}

// hurry asks those services to look again that have not been asked since a time. One that was asked within a moment of it
// may have looked before it could see what it was to see, and is asked once more if that moment brings nothing.
func (s *state) hurry(services []*modelplane.ModelService, since time.Time) {
	moment := since.Add(stepLinger)
	for _, service := range services {
		asked, err := time.Parse(time.RFC3339Nano, service.Annotations[modelplane.AnnotationReconcileRequestedAt])
		key := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
		switch {
		case s.hurried[key]:
			continue
		case err != nil || asked.Before(since):
		case !asked.Before(moment):
			continue
		case s.Now.Before(moment):
			s.wake(moment)
			continue
		}
		s.hurried[key] = true
		s.act(HurryService{Service: service, At: s.Now})
	}
}
