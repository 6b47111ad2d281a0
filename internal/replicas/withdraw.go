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
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// withdraw takes the last steps of a replica: requests are kept off it, then it is deleted, its endpoint first.
func (s *state) withdraw(u *unit) {
	if !u.committed() || u.deleting {
		if s.Traffic != nil {
			u.keepOff, u.withdrawn = u.keptOff, u.condition(evenkeel.ConditionTrafficWithdrawn)
		}
		u.progress(evenkeel.StepDeleting, evenkeel.LeavingMoving, fmt.Sprintf("the ModelReplica %q to be gone", u.name))
		return
	}
	if e := s.endpoint(u.name); e != nil && !s.withdrawTraffic(u, e) {
		return
	}
	u.progress(evenkeel.StepDeleting, evenkeel.LeavingMoving, fmt.Sprintf("the ModelReplica %q to be gone", u.name))
	u.deleting = true
	if e := s.endpoint(u.name); e != nil {
		s.act(DeleteEndpoint{Endpoint: e})
	}
	s.act(s.deletionOf(u))
}

// deletionOf deletes a replica. Where the policy promises that there is somewhere to go, or that another one serves, that
// must be so at the time of the deletion, whatever the cache says. The same holds for a replica that requests would reach
// by its endpoint: that there is none, and so no traffic to withdraw.
func (s *state) deletionOf(u *unit) DeleteReplica {
	deletion := DeleteReplica{Replica: u.replica, Cause: u.cause.reason}
	if s.Traffic != nil && u.ready() && !s.hasEndpoint(u.name) {
		deletion.AbsentEndpoint = u.name
	}
	next := u.slot.successor(u)
	if u.slot.victim || u.redundant || !s.Policy.holds() || next == nil || !next.staying() {
		return deletion
	}
	deletion.Target = next.placement
	if s.Policy.Strategy == evenkeel.StrategyMakeBeforeBreak {
		deletion.Serving = next.replica
	}
	return deletion
}

// withdrawTraffic keeps requests off a replica, and tells whether it may be deleted now: no route names it, and what it
// had begun to answer has had its time. A route that still names a backend that is gone answers with an error, so it is
// waited for; but not for longer than trafficGracePeriod.
//
// The endpoint remembers since when: its annotation is written with the labels that are taken off it. The condition
// TrafficWithdrawn, a write of its own, is for people, where the routes take long.
func (s *state) withdrawTraffic(u *unit, e *modelplane.ModelEndpoint) (gone bool) {
	if s.Traffic == nil {
		return true
	}
	services := s.Traffic.selecting(s.childMeta(u, "endpoint").Labels)
	routed := s.Traffic.routed(e)
	if !u.withdrawing() {
		if len(services) == 0 && !routed {
			return true
		}
		u.keepOff = s.Now
		s.hurry(services, s.Now)
		u.progress(evenkeel.StepWithdrawing, evenkeel.LeavingMoving, routesToGo(e))
		return false
	}
	u.keepOff = u.keptOff
	switch patience := u.keptOff.Add(s.Policy.TrafficGracePeriod); {
	case !routed:
		return s.finishRequests(u, e, patience)
	case s.Now.Before(patience):
		s.sayWithdrawing(u)
		s.hurry(services, u.keptOff)
		s.wake(patience)
		u.progress(evenkeel.StepWithdrawing, evenkeel.LeavingMoving, routesToGo(e))
		return false
	default:
		s.eventBoth(u, true, EventTrafficGraceOver, fmt.Sprintf("a route still names replica %s on %s after %s (trafficGracePeriod): deleting it all the same",
			u.name, u.clusterName(), s.Policy.TrafficGracePeriod))
		return true
	}
}

// sayWithdrawing has the placement say that routes still name the replica, once that has taken too long to be passed over.
func (s *state) sayWithdrawing(u *unit) {
	due := u.keptOff.Add(stepLinger)
	s.wake(due)
	if u.condition(evenkeel.ConditionTrafficWithdrawn) != nil || !s.Now.Before(due) {
		s.setWithdrawn(u, metav1.ConditionFalse, evenkeel.ReasonWithdrawing)
	}
}

// finishRequests tells whether the replica has had its time to end what it had begun to answer when its routes went. A
// process that was not there to see that counts from when it looked first, but not beyond what the routes' whole patience
// would have led to.
func (s *state) finishRequests(u *unit, e *modelplane.ModelEndpoint, patience time.Time) bool {
	went := s.Now
	if backend, ok := backendOf(e); ok && !s.Traffic.Unrouted[backend].IsZero() {
		went = s.Traffic.Unrouted[backend]
	}
	if written := u.condition(evenkeel.ConditionTrafficWithdrawn); written != nil {
		if written.Status == metav1.ConditionTrue {
			went = written.LastTransitionTime.Time
		}
		s.setWithdrawn(u, metav1.ConditionTrue, evenkeel.ReasonNoRoute)
	}
	if patience.Before(went) {
		went = patience
	}
	due := later(went, u.keptOff).Add(s.Policy.RequestGracePeriod)
	if !s.Now.Before(due) {
		return true
	}
	s.wake(due)
	u.progress(evenkeel.StepWithdrawing, evenkeel.LeavingMoving, fmt.Sprintf("requests in flight to end, until %s", stamp(due)))
	return false
}

func (s *state) setWithdrawn(u *unit, status metav1.ConditionStatus, reason string) {
	c := condition(u.placement.Status.Conditions, u.placement.Generation, s.Now, evenkeel.ConditionTrafficWithdrawn, status, reason, "")
	u.withdrawn = &c
}

// keptOff tells since when requests have been kept off a unit's replica: its endpoint says so, or else the condition
// TrafficWithdrawn. Zero if they are not.
func (s *state) keptOff(u *unit) time.Time {
	if s.endpoint(u.name) != nil {
		at, err := time.Parse(time.RFC3339, s.endpoint(u.name).Annotations[evenkeel.AnnotationTrafficWithdrawnAt])
		if err == nil {
			return at
		}
	}
	if c := u.condition(evenkeel.ConditionTrafficWithdrawn); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// keepOff takes from an endpoint the labels by which services select it, and has it remember since when.
func (s *state) keepOff(e *modelplane.ModelEndpoint, since time.Time) {
	e.Labels = s.Traffic.unselected(e.Labels)
	annotations := maps.Clone(e.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[evenkeel.AnnotationTrafficWithdrawnAt] = stamp(since)
	e.Annotations = annotations
}

func routesToGo(e *modelplane.ModelEndpoint) string {
	return fmt.Sprintf("no HTTPRoute to name the backend of ModelEndpoint %q", e.Name)
}

// stamp writes a time for people.
func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }
