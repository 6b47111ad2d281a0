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
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// ownConditions are the types of a placement's conditions that the manager writes. Scheduled is the scheduler's.
var ownConditions = []string{
	evenkeel.ConditionReady,
	evenkeel.ConditionDisruptionTarget,
	evenkeel.ConditionReplicaRejected,
	evenkeel.ConditionMoved,
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
	}
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
	for _, t := range ownConditions {
		if c := meta.FindStatusCondition(p.Status.Conditions, t); c != nil {
			own = append(own, *c)
		}
	}
	return own
}

func (s *state) conditionsOf(u *unit) []metav1.Condition {
	var conditions []metav1.Condition
	add := func(conditionType string, status metav1.ConditionStatus, reason, message string) {
		conditions = append(conditions, condition(u.placement.Status.Conditions, u.placement.Generation, s.Now, conditionType, status, reason, message))
	}
	if status, reason, message := s.readiness(u); reason != "" {
		add(evenkeel.ConditionReady, status, reason, message)
	}
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
		add(evenkeel.ConditionMoved, metav1.ConditionTrue, u.cause.reason, movedMessage(u))
	}
	return conditions
}

// readiness says what the condition Ready should. Of a replica on its way out it stays as it was, to save a write, until
// the placement is over.
func (s *state) readiness(u *unit) (status metav1.ConditionStatus, reason, message string) {
	written := u.condition(evenkeel.ConditionReady)
	switch {
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

func movedMessage(u *unit) string {
	from := u.clusterName()
	next := u.slot.successor(u)
	switch {
	case next != nil && next.assigned():
		return fmt.Sprintf("moved from %s to %s", from, next.clusterName())
	case next != nil && next.unplaceable():
		return fmt.Sprintf("left %s with nowhere to go: %s", from, next.condition(evenkeel.ConditionScheduled).Message)
	default:
		return fmt.Sprintf("left %s", from)
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
		u.step, u.waitingFor = evenkeel.StepDeleting, fmt.Sprintf("the ModelReplica %q to be gone", u.name)
	}
	m := &evenkeel.Move{From: u.clusterName(), Cause: u.cause.reason, Step: u.step, WaitingFor: u.waitingFor}
	next := u.slot.successor(u)
	if next != nil {
		m.To = next.clusterName()
	}
	written := u.placement.Status.Move
	switch {
	case u.over:
		m.Step, m.WaitingFor = evenkeel.StepMoved, ""
	case written != nil && written.From == m.From && s.passing(u, next):
		return written
	}
	return m
}

// passing tells whether a step is too young to be written down only for its own sake.
func (s *state) passing(u, next *unit) bool {
	var began time.Time
	switch {
	case u.step == evenkeel.StepPlacing && next != nil:
		began = next.placement.CreationTimestamp.Time
	case u.step == evenkeel.StepDeleting && u.terminating():
		began = u.replica.DeletionTimestamp.Time
	default:
		return u.step == evenkeel.StepPlacing || u.step == evenkeel.StepDeleting
	}
	due := began.Add(stepLinger)
	s.wake(due)
	return s.Now.Before(due)
}

func (s *state) arrivalOf(u *unit) *evenkeel.Move {
	written := u.placement.Status.Move
	if u.uncreated() {
		return written // what it replaces tells until there is something to tell
	}
	m := &evenkeel.Move{To: u.clusterName()}
	if origin := s.placementNamed(u.placement.Spec.Replaces); origin != nil && origin.Status.Assignment != nil {
		m.From = origin.Status.Assignment.ClusterName
		if c := meta.FindStatusCondition(origin.Status.Conditions, evenkeel.ConditionDisruptionTarget); c != nil {
			m.Cause = c.Reason
		}
	} else if written != nil && written.To == m.To {
		m.From, m.Cause = written.From, written.Cause
	} else {
		return nil
	}
	if u.ready() || written != nil && written.Step == evenkeel.StepServing {
		m.Step = evenkeel.StepServing
		return m
	}
	m.Step, m.WaitingFor = evenkeel.StepLoading, fmt.Sprintf("the ModelReplica %q to be ready", u.name)
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
