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
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// withRoutes gives the hub a ModelService that selects chat's endpoints, and routes.
func (s *sim) withRoutes() {
	s.services = []*modelplane.ModelService{testService("chat", map[string]string{modelplane.LabelDeployment: "chat"})}
	s.backends = map[types.NamespacedName]bool{}
	s.went, s.unrouted = map[types.NamespacedName]time.Time{}, map[types.NamespacedName]time.Time{}
}

func testService(name string, labels map[string]string) *modelplane.ModelService {
	return &modelplane.ModelService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "front", Name: name},
		Spec:       modelplane.ModelServiceSpec{Endpoints: []modelplane.EndpointGroup{{Selector: modelplane.LabelSelector{MatchLabels: labels}}}},
	}
}

func (s *sim) traffic() *Traffic {
	if s.services == nil {
		return nil
	}
	return &Traffic{Services: s.services, Backends: maps.Clone(s.backends), Unrouted: maps.Clone(s.unrouted)}
}

func (s *sim) applyEndpoint(e *modelplane.ModelEndpoint) {
	old := s.endpoints[e.Name]
	if old == nil {
		e.UID = types.UID(s.next())
		s.endpoints[e.Name] = e
		return
	}
	updated := old.DeepCopy()
	updated.Labels, updated.Annotations, updated.Spec = e.Labels, e.Annotations, e.Spec
	s.endpoints[e.Name] = updated
	if r := s.replicas[e.Name]; r != nil && e.Labels[modelplane.LabelDeployment] == "" && s.withdrawnAt[r.UID].IsZero() {
		s.withdrawnAt[r.UID] = s.now
	} else if r != nil && e.Labels[modelplane.LabelDeployment] != "" {
		delete(s.withdrawnAt, r.UID)
	}
}

func (s *sim) hurry(a HurryService) {
	service := s.services[0].DeepCopy()
	service.Annotations = map[string]string{modelplane.AnnotationReconcileRequestedAt: a.At.Format(time.RFC3339Nano)}
	s.services = []*modelplane.ModelService{service}
}

// composeTraffic makes backends for endpoints and routes to those that the service selects.
func (s *sim) composeTraffic() (moved bool) {
	if s.services == nil {
		return false
	}
	backends := map[types.NamespacedName]bool{}
	for name, e := range s.endpoints {
		if e.Status.Routing == nil {
			e = e.DeepCopy()
			e.Status.Routing = &modelplane.EndpointRouting{BackendName: "backend-" + name}
			e.Status.Conditions = []metav1.Condition{{
				Type: modelplane.ConditionRoutingReady, Status: metav1.ConditionTrue, Reason: "BackendConfigured", LastTransitionTime: metav1.NewTime(s.now),
			}}
			s.endpoints[name] = e
			moved = true
		}
		if e.Labels[modelplane.LabelDeployment] == "chat" {
			backends[types.NamespacedName{Namespace: e.Namespace, Name: e.Status.Routing.BackendName}] = true
		}
	}
	moved = moved || !maps.Equal(s.backends, backends)
	for backend := range s.backends {
		if !backends[backend] {
			s.went[backend], s.unrouted[backend] = s.now, s.now
		}
	}
	for backend := range backends {
		delete(s.unrouted, backend)
	}
	s.backends = backends
	return moved
}

// reached tells whether requests reach a replica: on a hub with routes, those go by its endpoint.
func (s *sim) reached(r *modelplane.ModelReplica) bool {
	return isReady(r) && (s.services == nil || s.endpoints[r.Name] != nil)
}

// checkRoutes checks that no route names a replica that is deleted, nor has until a moment ago, unless it was waited for.
func (s *sim) checkRoutes(r *modelplane.ModelReplica) {
	const rounding = 2 * time.Second
	backend := types.NamespacedName{Namespace: r.Namespace, Name: "backend-" + r.Name}
	since := s.withdrawnAt[r.UID]
	if !isReady(r) || !since.IsZero() && s.now.Sub(since) >= s.policy.TrafficGracePeriod-rounding {
		return
	}
	if s.backends[backend] {
		s.breaks("replica %s is deleted while a route names it", r.Name)
	}
	if went, routed := s.went[backend]; routed && s.now.Sub(went) < s.policy.RequestGracePeriod-rounding {
		s.breaks("replica %s is deleted %s after a route named it", r.Name, s.now.Sub(went))
	}
}

// servedBy tells whether another replica of a slot serves.
func (s *sim) servedBy(number int32, but string) bool {
	for _, p := range s.placements {
		if p.Spec.Slot != number || finished(p) || p.Status.Assignment == nil || nameOf(p) == but {
			continue
		}
		if r := s.replicas[nameOf(p)]; r != nil && isReady(r) {
			return true
		}
	}
	return false
}

// checkTarget checks that a replica that must leave is not deleted before there is what the policy asks for: a replacement
// that serves, or a destination.
func (s *sim) checkTarget(number int32, old *modelplane.ModelReplica, a DeleteReplica) {
	switch {
	case s.policy.Strategy == evenkeel.StrategyMakeBeforeBreak && !s.servedBy(number, old.Name) && (isReady(old) || !s.doubled(number)):
		s.breaks("replica %s is deleted (%s) and no other one of slot %d serves", old.Name, a.Cause, number)
	case s.policy.WhenUnplaceable == evenkeel.WhenUnplaceableHold && !s.hasDestination(number, old.Name):
		s.breaks("replica %s is deleted (%s) and slot %d has no destination", old.Name, a.Cause, number)
	}
}

// doubled tells whether a slot has two replicas, so that one that does not serve is not its last.
func (s *sim) doubled(number int32) bool {
	n := 0
	for _, p := range s.placements {
		if p.Spec.Slot == number && !finished(p) && p.Status.Assignment != nil {
			if r := s.replicas[nameOf(p)]; r != nil && r.DeletionTimestamp == nil {
				n++
			}
		}
	}
	return n > 1
}

func (s *sim) hasDestination(number int32, but string) bool {
	for _, p := range s.placements {
		if p.Spec.Slot == number && !finished(p) && p.Status.Assignment != nil && nameOf(p) != but {
			return true
		}
	}
	return false
}

// compose makes replicas ready that have loaded for that long, and lets go of deleted ones.
func (s *sim) compose(loading, terminating time.Duration) (moved bool) {
	for name, r := range s.replicas {
		if r.DeletionTimestamp != nil {
			if s.now.Sub(r.DeletionTimestamp.Time) >= terminating {
				s.note("replica %s is gone", name)
				delete(s.replicas, name)
				moved = true
			}
			continue
		}
		if !isReady(r) && s.now.Sub(s.started[r.UID]) >= loading {
			q := r.DeepCopy()
			q.ResourceVersion = s.next()
			q.Status.Conditions = []metav1.Condition{{
				Type: modelplane.ConditionReady, Status: metav1.ConditionTrue, Reason: "Available", LastTransitionTime: metav1.NewTime(s.now),
			}}
			s.replicas[name] = q
			moved = true
		}
	}
	moved = s.composeTraffic() || moved
	s.settleOpen()
	return moved
}
