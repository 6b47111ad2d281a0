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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// withdraw takes the last steps of a replica: requests are kept off it, then it is deleted, its endpoint first.
func (s *state) withdraw(u *unit) {
	if !u.committed() || u.deleting {
		if s.Traffic != nil {
			u.withdrawn = u.condition(evenkeel.ConditionTrafficWithdrawn)
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
// must be so at the time of the deletion, whatever the cache says.
func (s *state) deletionOf(u *unit) DeleteReplica {
	deletion := DeleteReplica{Replica: u.replica, Cause: u.cause.reason}
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
// The clocks are the condition TrafficWithdrawn: False since the routes were asked to go, True since they have gone.
func (s *state) withdrawTraffic(u *unit, e *modelplane.ModelEndpoint) (gone bool) {
	if s.Traffic == nil {
		return true
	}
	written := u.condition(evenkeel.ConditionTrafficWithdrawn)
	services := s.Traffic.selecting(s.childMeta(u, "endpoint").Labels)
	if written == nil && len(services) == 0 && !s.Traffic.routed(e) {
		return true
	}
	if written == nil {
		s.setWithdrawn(u, metav1.ConditionFalse, evenkeel.ReasonWithdrawing, "")
		s.hurry(services, s.Now)
		u.progress(evenkeel.StepWithdrawing, evenkeel.LeavingMoving, routesToGo(e))
		return false
	}
	began := written.LastTransitionTime.Time
	routed := s.Traffic.routed(e)
	switch {
	case written.Status == metav1.ConditionTrue && !routed:
		return s.finishRequests(u, began)
	case routed && s.Now.Before(began.Add(s.Policy.TrafficGracePeriod)):
		s.setWithdrawn(u, written.Status, written.Reason, written.Message)
		s.hurry(services, began)
		s.wake(began.Add(s.Policy.TrafficGracePeriod))
		u.progress(evenkeel.StepWithdrawing, evenkeel.LeavingMoving, routesToGo(e))
		return false
	case routed:
		s.eventBoth(u, true, EventTrafficGraceOver, fmt.Sprintf("a route still names replica %s on %s after %s (trafficGracePeriod): deleting it all the same",
			u.name, u.clusterName(), s.Policy.TrafficGracePeriod))
		return true
	case s.Policy.RequestGracePeriod <= 0:
		return true
	default:
		s.setWithdrawn(u, metav1.ConditionTrue, evenkeel.ReasonNoRoute, "")
		return s.finishRequests(u, s.Now)
	}
}

// finishRequests tells whether the replica has had its time to end what it had begun to answer when its routes went.
func (s *state) finishRequests(u *unit, went time.Time) bool {
	due := went.Add(s.Policy.RequestGracePeriod)
	if !s.Now.Before(due) {
		return true
	}
	s.wake(due)
	s.setWithdrawn(u, metav1.ConditionTrue, evenkeel.ReasonNoRoute, "")
	u.progress(evenkeel.StepWithdrawing, evenkeel.LeavingMoving, fmt.Sprintf("requests in flight to end, until %s", stamp(due)))
	return false
}

func (s *state) setWithdrawn(u *unit, status metav1.ConditionStatus, reason, message string) {
	c := condition(u.placement.Status.Conditions, u.placement.Generation, s.Now, evenkeel.ConditionTrafficWithdrawn, status, reason, message)
	u.withdrawn = &c
}

func routesToGo(e *modelplane.ModelEndpoint) string {
	return fmt.Sprintf("no HTTPRoute to name the backend of ModelEndpoint %q", e.Name)
}

// stamp writes a time for people.
func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }
