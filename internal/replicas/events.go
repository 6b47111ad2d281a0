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
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Reasons of events.
const (
	// EventLeaving is replicas that must leave a cluster, and why.
	EventLeaving = "ReplicaLeaving"
	// EventDeleted is a replica that somebody else has deleted.
	EventDeleted = "ReplicaDeleted"
	// EventScaledDown is a replica that is deleted since fewer are wanted.
	EventScaledDown = "ReplicaScaledDown"
	// EventMoved is a replica that has moved and serves.
	EventMoved = "ReplicaMoved"
	// EventUnplaceable is a replica that must leave and has nowhere to go.
	EventUnplaceable = "ReplicaUnplaceable"
	// EventHeld is a replica that must leave, has nowhere to go, and is kept by its policy.
	EventHeld = "ReplicaHeld"
	// EventRejected is a replica that the API server refuses, or whose name is somebody else's.
	EventRejected = "ReplicaRejected"
	// EventDrifted is a replica that somebody else has edited, and that was set right.
	EventDrifted = "ReplicaDrifted"
	// EventScheduled is replicas that have got a cluster.
	EventScheduled = "ReplicasScheduled"
	// EventFailedPlacing is kube-scheduler's own for what fits nowhere; the note has what the clusters lack.
	EventFailedPlacing = "FailedScheduling"
	// EventRolledBack is a replacement that did not serve and is taken back.
	EventRolledBack = "ReplacementRolledBack"
	// EventTrafficGraceOver is a replica that is deleted although a route still names it.
	EventTrafficGraceOver = "TrafficGracePeriodOver"
	// EventInvalidTolerationSeconds is an annotation that cannot be read.
	EventInvalidTolerationSeconds = "InvalidTolerationSeconds"
)

func (s *state) event(warning bool, reason, message string) {
	s.result.Events = append(s.result.Events, Event{Warning: warning, Reason: reason, Message: message})
}

func (s *state) eventBoth(u *unit, warning bool, reason, message string) {
	e := Event{Warning: warning, Reason: reason, Message: message}
	if u.cause != nil {
		e.Cause = u.cause.reason
	}
	s.result.Events = append(s.result.Events, e)
	e.Placement = u.placement
	s.result.Events = append(s.result.Events, e)
}

// tell reports what this pass is the first to write about a placement. The usual course of a move is told on the
// deployment alone, where people look: the placement's own conditions say the same.
func (s *state) tell(u *unit, move *evenkeel.Move) {
	if u.leaving() && !u.committed() && (u.replica != nil || u.gone()) {
		s.tellLeaving(u)
	}
	arrived := move != nil && move.Step == evenkeel.StepServing && !u.leaving()
	if arrived && !arrivedBefore(u) && vacated(u.slot.before(u)) {
		s.tellMoved(u, move)
	}
	next := u.slot.successor(u)
	switch {
	case !u.over || u.cause.reason == evenkeel.CauseNotServing:
	case next == nil || next.unplaceable():
		s.eventBoth(u, true, EventUnplaceable, fmt.Sprintf("replica %s %s", u.name, s.movedMessage(u)))
	case next.serves && arrivedBefore(next):
		s.tellMoved(next, next.placement.Status.Move)
	}
	if u.step == evenkeel.StepUnplaceable && s.Policy.holds() && !saysStep(u, evenkeel.StepUnplaceable) {
		s.eventBoth(u, true, EventHeld, fmt.Sprintf("replica %s must leave %s and is held there: it waits for %s", u.name, u.clusterName(), u.waitingFor))
	}
	if u.nameTaken && u.rejected() == nil {
		s.eventBoth(u, true, EventRejected, fmt.Sprintf("the name %s of the replica for %s/%d belongs to a ModelReplica that is not the deployment's; trying another",
			u.name, u.clusterName(), u.index()))
	}
}

// arrivedBefore tells whether an earlier pass has written down that the replica serves.
func arrivedBefore(u *unit) bool { return saysStep(u, evenkeel.StepServing) }

// saysStep tells whether an earlier pass has written down that the move is at a step.
func saysStep(u *unit, step string) bool {
	return u.placement.Status.Move != nil && u.placement.Status.Move.Step == step
}

// vacated tells that none of the units has a replica any more.
func vacated(units []*unit) bool {
	return !slices.ContainsFunc(units, func(u *unit) bool { return u.alive() })
}

// tellMoved reports the end of a move: the replacement serves, and what it replaces is going or gone.
func (s *state) tellMoved(u *unit, move *evenkeel.Move) {
	by := ""
	if move.Actor != "" {
		by = " (asked for by " + move.Actor + ")"
	}
	s.event(false, EventMoved, fmt.Sprintf("replica %s serves on %s, moved from %s: %s%s", u.name, move.To, move.From, move.Cause, by))
	s.result.Events[len(s.result.Events)-1].Cause = move.Cause
}

// tellLeaving says once for all replicas that leave a cluster for one cause. What usually makes replicas leave is gathered
// for tellAllLeaving.
func (s *state) tellLeaving(u *unit) {
	switch u.cause.reason {
	case evenkeel.CauseScaleDown:
		s.event(false, EventScaledDown, fmt.Sprintf("deleting replica %s on %s: %s", u.name, u.clusterName(), u.cause.message))
	case evenkeel.CauseNotServing:
		s.eventBoth(u, true, EventRolledBack, fmt.Sprintf("replica %s is taken back: %s. What it was to replace serves on; the next try is in about %s",
			u.name, u.cause.message, s.Settings.RollbackBackoff))
	case evenkeel.CauseReplicaDeleted:
		s.event(true, EventDeleted, u.cause.message)
	default:
		key := u.cause.reason + u.clusterName() + u.cause.message
		if s.toldLeaving[key] {
			return
		}
		s.toldLeaving[key] = true
		names := s.leavingAlike(u)
		s.leaving = append(s.leaving, fmt.Sprintf("%s: %s: %s", u.clusterName(), u.cause.message, strings.Join(names, ", ")))
		s.leavingNow += len(names)
	}
}

// tellAllLeaving makes one event of all replicas that must leave as of this pass: of several that are alike but for their
// text, only the first text would be kept.
func (s *state) tellAllLeaving() {
	if len(s.leaving) > 0 {
		s.event(false, EventLeaving, "replicas must leave "+strings.Join(s.leaving, "; ")+s.pace(s.leavingNow))
	}
}

// pace says what replicas that must leave will wait for, if that is known from the start.
func (s *state) pace(leaving int) string {
	switch {
	case s.Policy.Paused:
		return "; moves are paused"
	case leaving > s.Policy.AtOnce():
		return fmt.Sprintf("; at most %d at a time", s.Policy.AtOnce())
	}
	return ""
}

// leavingAlike names the replicas that this pass is the first to say must leave the same cluster for the same cause.
func (s *state) leavingAlike(like *unit) []string {
	var names []string
	for u := range s.units {
		if u.leaving() && !u.committed() && u.clusterName() == like.clusterName() && *u.cause == *like.cause {
			names = append(names, u.name)
		}
	}
	return names
}

// tellStatus reports what this pass is the first to write about the deployment as a whole.
func (s *state) tellStatus(scheduled metav1.Condition, placed []*unit) {
	old := conditionOf(s.Deployment.Status.Conditions, modelplane.ConditionReplicasScheduled)
	switch {
	case scheduled.Status == metav1.ConditionTrue || scheduled.Reason == ReasonInsufficientCapacity && len(placed) > 0:
		if old.Reason == ReasonScheduling {
			s.event(false, EventScheduled, scheduledEvent(placed))
		}
	case old.Reason == scheduled.Reason && old.Message == scheduled.Message:
	case scheduled.Reason == ReasonNoClusters && old.Reason != ReasonNoClusters:
		s.event(true, ReasonNoClusters, "No InferenceClusters found")
	case scheduled.Reason == ReasonInvalidNodeSelector, scheduled.Reason == ReasonPriorityClassNotFound, scheduled.Reason == ReasonInvalidName:
		s.event(true, scheduled.Reason, scheduled.Message)
	}
	if scheduled.Reason == ReasonInsufficientCapacity && (old.Reason != scheduled.Reason || shortfall(old.Message) != shortfall(scheduled.Message)) {
		s.event(true, EventFailedPlacing, scheduled.Message)
	}
}

func scheduledEvent(placed []*unit) string {
	clusters := map[string]bool{}
	for _, u := range placed {
		clusters[u.clusterName()] = true
	}
	return fmt.Sprintf("Scheduled %d replicas across %d clusters: %s", len(placed), len(clusters), strings.Join(slices.Sorted(maps.Keys(clusters)), ", "))
}

// shortfall is the part of a message that says how many are missing; the rest changes with every free node.
func shortfall(message string) string {
	counts, _, _ := strings.Cut(message, " replicas scheduled")
	return counts
}

func conditionOf(conditions []metav1.Condition, conditionType string) metav1.Condition {
	for _, c := range conditions {
		if c.Type == conditionType {
			return c
		}
	}
	return metav1.Condition{}
}
