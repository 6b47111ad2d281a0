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
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// ownConditions are the types of a placement's conditions that the manager writes. Scheduled is the scheduler's.
var ownConditions = []string{
	evenkeel.ConditionReady,
	evenkeel.ConditionServing,
	evenkeel.ConditionDisruptionTarget,
	evenkeel.ConditionTrafficWithdrawn,
	evenkeel.ConditionReplicaRejected,
	evenkeel.ConditionMoved,
}

// isOwn tells whether the manager writes conditions of that type.
func isOwn(conditionType string) bool {
	return slices.Contains(ownConditions, conditionType) || strings.HasPrefix(conditionType, evenkeel.ConditionTaintSeenPrefix)
}

// mark writes down on each assigned placement how it stands and, above all, that it must leave: what is deleted in a
// later pass is what this one has written. Placements that wait for the scheduler are left to it.
func (s *state) mark() {
	for u := range s.units {
		if !u.assigned() || u.removed {
			continue
		}
		conditions, move := s.conditionsOf(u), s.moveOf(u)
		if !marked(u, conditions, move) {
			s.act(SetPlacementStatus{Placement: u.placement, Conditions: conditions, Move: move, AbsentReplica: absentIfOver(u)})
		}
		s.tell(u, move)
		s.trace(u, move)
	}
	s.tellAllLeaving()
}

// trace notes where a unit's move is, also where that is too young to be written down.
func (s *state) trace(u *unit, move *evenkeel.Move) {
	if move == nil {
		return
	}
	step := Step{
		UID: u.placement.UID, Placement: u.placement.Name, Name: move.Step, Reason: move.Reason,
		From: move.From, To: move.To, Cause: move.Cause, Actor: move.Actor, WaitingFor: move.WaitingFor,
	}
	if u.leaving() && !u.over && u.step != "" {
		step.Name, step.Reason, step.WaitingFor = u.step, u.reason, u.waitingFor
		if next := u.slot.successor(u); next != nil {
			step.To = next.clusterName()
		}
	}
	written := u.placement.Status.Move
	step.Written = written != nil && written.Step == step.Name && written.Reason == step.Reason
	s.result.Steps = append(s.result.Steps, step)
}

func absentIfOver(u *unit) string {
	if u.over {
		return absent(u)
	}
	return ""
}

// marked tells whether the placement says so already.
func marked(u *unit, conditions []metav1.Condition, move *evenkeel.Move) bool {
	written := OwnConditions(u.placement)
	same := slices.EqualFunc(written, conditions, func(a, b metav1.Condition) bool {
		return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
	})
	return same && equality.Semantic.DeepEqual(u.placement.Status.Move, move)
}

// OwnConditions gives the conditions of a placement that the manager writes, in a fixed order.
func OwnConditions(p *evenkeel.ReplicaPlacement) []metav1.Condition {
	var own []metav1.Condition
	for _, c := range p.Status.Conditions {
		if isOwn(c.Type) {
			own = append(own, c)
		}
	}
	sortConditions(own)
	return own
}

// WithOwnStatus gives a copy of a placement of whose status the manager's part is exactly this. The scheduler's part stays as
// it is.
func WithOwnStatus(p *evenkeel.ReplicaPlacement, conditions []metav1.Condition, move *evenkeel.Move) *evenkeel.ReplicaPlacement {
	p = p.DeepCopy()
	p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c metav1.Condition) bool { return isOwn(c.Type) })
	p.Status.Conditions = append(p.Status.Conditions, conditions...)
	p.Status.Move = move
	return p
}

func sortConditions(conditions []metav1.Condition) {
	slices.SortFunc(conditions, func(a, b metav1.Condition) int {
		return cmp.Or(cmp.Compare(slices.Index(ownConditions, a.Type), slices.Index(ownConditions, b.Type)), cmp.Compare(a.Type, b.Type))
	})
}

func (s *state) conditionsOf(u *unit) []metav1.Condition {
	var conditions []metav1.Condition
	add := func(conditionType string, status metav1.ConditionStatus, reason, message string) {
		conditions = append(conditions, condition(u.placement.Status.Conditions, u.placement.Generation, s.Now, conditionType, status, reason, message))
	}
	if status, reason, message := s.readiness(u); reason != "" {
		add(evenkeel.ConditionReady, status, reason, message)
	}
	if status, reason := s.serving(u); reason != "" {
		add(evenkeel.ConditionServing, status, reason, "")
	}
	if u.withdrawn != nil {
		conditions = append(conditions, *u.withdrawn)
	} else if c := u.condition(evenkeel.ConditionTrafficWithdrawn); c != nil && (u.deleting || !u.alive()) {
		conditions = append(conditions, *c)
	}
	conditions = append(conditions, u.taintsSeen...)
	if c := u.cause; c != nil {
		status := metav1.ConditionUnknown
		if c.settled {
			status = metav1.ConditionTrue
		}
		add(evenkeel.ConditionDisruptionTarget, status, c.reason, c.message)
	}
	if u.nameTaken {
		add(evenkeel.ConditionReplicaRejected, metav1.ConditionTrue, evenkeel.ReasonNameTaken,
			fmt.Sprintf("a ModelReplica %q that is not the deployment's exists already", u.name))
	} else if c := u.rejected(); c != nil {
		add(evenkeel.ConditionReplicaRejected, c.Status, c.Reason, c.Message)
	}
	if u.over {
		add(evenkeel.ConditionMoved, metav1.ConditionTrue, u.cause.reason, s.movedMessage(u))
	}
	sortConditions(conditions)
	return conditions
}

// serving says what the condition Serving should; nothing on a hub without routes. Of a replica from which requests are
// being kept, or that is on its way out, it stays as it was.
func (s *state) serving(u *unit) (status metav1.ConditionStatus, reason string) {
	written := u.condition(evenkeel.ConditionServing)
	switch {
	case s.Traffic == nil:
		return "", ""
	case s.unsaid(u):
		return "", ""
	case u.alive() && u.keepOff.IsZero() && !u.deleting:
		if reason := s.servingReason(u); reason != evenkeel.ReasonNotRouted {
			return metav1.ConditionTrue, reason
		}
		return metav1.ConditionFalse, evenkeel.ReasonNotRouted
	case written != nil:
		return written.Status, written.Reason
	default:
		return "", ""
	}
}

// readiness says what the condition Ready should. Of a replica on its way out it stays as it was, to save a write, until
// the placement is over.
func (s *state) readiness(u *unit) (status metav1.ConditionStatus, reason, message string) {
	written := u.condition(evenkeel.ConditionReady)
	switch {
	case s.unsaid(u):
		return "", "", ""
	case u.ready() && s.almostServing(u):
		return written.Status, written.Reason, written.Message
	case u.ready():
		return metav1.ConditionTrue, evenkeel.ReasonReplicaReady, ""
	case u.alive():
		return metav1.ConditionFalse, evenkeel.ReasonReplicaNotReady, ""
	case !u.over && written != nil && u.committed():
		return written.Status, written.Reason, written.Message
	case u.terminating():
		return metav1.ConditionFalse, evenkeel.ReasonReplicaTerminating, ""
	case u.gone():
		return metav1.ConditionFalse, evenkeel.ReasonReplicaGone, ""
	default:
		return "", "", ""
	}
}

// unsaid tells whether the placement of a replacement does not say yet how its replica stands. On a hub with routes, where
// a move takes more writes, that it loads is told by what it replaces, and that it is ready when a route names it; unless
// either takes too long.
func (s *state) unsaid(u *unit) bool {
	if s.Traffic == nil || u.placement.Spec.Replaces == "" || !u.alive() || u.leaving() || u.serves || u.condition(evenkeel.ConditionReady) != nil {
		return false
	}
	due := s.notReadySince(u).Add(s.Policy.ReadyTimeout)
	if ready := meta.FindStatusCondition(u.replica.Status.Conditions, modelplane.ConditionReady); u.ready() {
		due = ready.LastTransitionTime.Add(stepLinger)
	}
	s.wake(due)
	return s.Now.Before(due)
}

// almostServing tells whether a replica has just become ready and no route names it yet: both are then written at once.
func (s *state) almostServing(u *unit) bool {
	written := u.condition(evenkeel.ConditionReady)
	ready := meta.FindStatusCondition(u.replica.Status.Conditions, modelplane.ConditionReady)
	if s.Traffic == nil || u.serves || written == nil || written.Status == metav1.ConditionTrue || ready == nil {
		return false
	}
	due := ready.LastTransitionTime.Add(stepLinger)
	s.wake(due)
	return s.Now.Before(due)
}

// movedMessage says how a placement has ended, and in how long since it was known that its replica must leave.
func (s *state) movedMessage(u *unit) string {
	from, within := u.clusterName(), ""
	if c := u.condition(evenkeel.ConditionDisruptionTarget); c != nil && c.Status == metav1.ConditionTrue {
		within = fmt.Sprintf(" within %s", s.Now.Sub(c.LastTransitionTime.Time).Round(time.Second))
	}
	next := u.slot.successor(u)
	switch {
	case u.cause.reason == evenkeel.CauseNotServing:
		return fmt.Sprintf("taken back from %s: %s", from, u.cause.message)
	case next != nil && next.assigned():
		return fmt.Sprintf("moved from %s to %s%s", from, next.clusterName(), within)
	case next != nil && next.unplaceable():
		return fmt.Sprintf("left %s%s with nowhere to go: %s", from, within, next.condition(evenkeel.ConditionScheduled).Message)
	default:
		return fmt.Sprintf("left %s%s", from, within)
	}
}

// stepLinger is how long a step must last to be worth a write of its own: most are over before anybody could read it.
const stepLinger = 5 * time.Second

// moveOf reports how the move stands that the placement is part of, as origin or as replacement.
func (s *state) moveOf(u *unit) *evenkeel.Move {
	if !u.leaving() || u.cause.reason == evenkeel.CauseScaleDown {
		return s.arrivalOf(u)
	}
	if u.replica == nil && !u.over {
		return nil
	}
	if u.step == "" && u.terminating() {
		u.progress(evenkeel.StepDeleting, evenkeel.LeavingMoving, fmt.Sprintf("the ModelReplica %q to be gone", u.name))
	}
	m := &evenkeel.Move{
		From: u.clusterName(), Cause: u.cause.reason, Actor: s.actorOf(u), Step: u.step, Reason: u.reason, WaitingFor: Bounded(u.waitingFor),
	}
	next := u.slot.successor(u)
	if next != nil {
		m.To = next.clusterName()
	}
	written := u.placement.Status.Move
	if written != nil && m.Actor == "" && written.Cause == m.Cause {
		m.Actor = written.Actor // the taint, or the cluster, may be gone by now
	}
	switch {
	case u.over:
		m.Step, m.Reason, m.WaitingFor = evenkeel.StepMoved, "", ""
	case written != nil && written.From == m.From && s.passing(u, next):
		return written
	}
	return m
}

// passing tells whether a step is too young to be written down only for its own sake.
func (s *state) passing(u, next *unit) bool {
	var began time.Time
	switch {
	case u.step == evenkeel.StepWithdrawing && u.withdrawn == nil:
		return true // the routes go soon; requests in flight end in a known time
	case u.step == evenkeel.StepPlacing && next != nil:
		began = next.placement.CreationTimestamp.Time
	case u.step == evenkeel.StepDeleting && u.terminating():
		began = u.replica.DeletionTimestamp.Time
	case u.step == evenkeel.StepLoading && next != nil && next.condition(evenkeel.ConditionScheduled) != nil:
		began = next.condition(evenkeel.ConditionScheduled).LastTransitionTime.Time
	default:
		return u.step == evenkeel.StepPlacing || u.step == evenkeel.StepDeleting
	}
	due := began.Add(stepLinger)
	s.wake(due)
	return s.Now.Before(due)
}

func (s *state) arrivalOf(u *unit) *evenkeel.Move {
	written := u.placement.Status.Move
	if u.uncreated() || s.unsaid(u) {
		return written // what it replaces tells until there is something to tell
	}
	m := &evenkeel.Move{To: u.clusterName()}
	if origin := s.placementNamed(u.placement.Spec.Replaces); origin != nil && origin.Status.Assignment != nil {
		m.From = origin.Status.Assignment.ClusterName
		if c := meta.FindStatusCondition(origin.Status.Conditions, evenkeel.ConditionDisruptionTarget); c != nil {
			m.Cause = c.Reason
		}
		if origin.Status.Move != nil {
			m.Actor = origin.Status.Move.Actor
		}
		if written != nil && written.Cause == m.Cause {
			m.Actor = cmp.Or(written.Actor, m.Actor)
		}
	} else if written != nil && written.To == m.To {
		m.From, m.Cause, m.Actor = written.From, written.Cause, written.Actor
	} else {
		return nil
	}
	if u.serves || written != nil && written.Step == evenkeel.StepServing {
		m.Step = evenkeel.StepServing
		return m
	}
	m.Step, m.WaitingFor = evenkeel.StepLoading, fmt.Sprintf("the ModelReplica %q to serve", u.name)
	return m
}

func (s *state) placementNamed(name string) *evenkeel.ReplicaPlacement {
	if name == "" {
		return nil
	}
	for _, p := range s.Placements {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// condition makes a condition that keeps the time of the written one while the status is the same.
func condition(written []metav1.Condition, generation int64, now time.Time, conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	c := metav1.Condition{
		Type:               conditionType,
		Status:             status,
		Reason:             reason,
		Message:            message,
		ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	}
	if old := meta.FindStatusCondition(written, conditionType); old != nil && old.Status == status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	return c
}
