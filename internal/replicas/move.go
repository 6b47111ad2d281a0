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

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

const waitingForResume = "moves to be resumed"

// move brings every replica that must leave one step further, and tells whether nothing is in motion.
func (s *state) move() (idle bool) {
	s.turns = newTurns(s.Fleet)
	for _, sl := range s.slots {
		if s.inMotion(sl) && !s.excused(sl) {
			s.turns.take(sl.last().clusterName())
		}
	}
	unavailable := 0
	var voluntary []*slot
	for _, sl := range s.slots {
		s.withdrawOthers(sl)
		switch holder := sl.holder(); {
		case sl.victim || sl.vacated():
		case holder == nil || !holder.serves:
			s.moveIdle(sl, holder)
			if !sl.serving() && !s.excused(sl) {
				unavailable++
			}
		default:
			voluntary = append(voluntary, sl)
		}
	}
	idle = s.moveServing(voluntary, s.Policy.AtOnce()-unavailable) && unavailable == 0
	s.result.Moving, s.result.Loading = s.turns.moving, s.turns.loading
	return idle
}

// withdrawOthers deletes the replicas of a slot that nothing depends on: all of one that is not wanted; those that are not
// needed because another may stay; and replacements that must go themselves while what they were to replace is there.
func (s *state) withdrawOthers(sl *slot) {
	holder := sl.holder()
	for _, u := range sl.units {
		switch {
		case !u.alive() || !u.leaving():
		case sl.victim || sl.vacated() || u.redundant:
			s.withdraw(u)
		case u != holder && (!s.Policy.Paused || u.withdrawing()):
			s.withdraw(u)
		}
	}
}

// moveIdle moves what serves nobody: it costs nothing, so it needs no budget.
func (s *state) moveIdle(sl *slot, holder *unit) {
	if holder == nil {
		if sl.keeper() == nil {
			s.replace(sl)
		}
		return
	}
	next := sl.successor(holder)
	switch {
	case s.Policy.Paused && !holder.withdrawing():
		holder.progress(evenkeel.StepWaiting, evenkeel.LeavingPaused, waitingForResume)
	case s.backingOff(sl, holder):
	case s.nowhereToGo(next):
		holder.progress(evenkeel.StepUnplaceable, evenkeel.LeavingUnplaceable, s.explainStuck(next))
		if !s.Policy.holds() {
			s.withdraw(holder)
		}
	default:
		s.moveOn(sl, holder, next)
	}
}

// moveServing moves what serves, in a fixed order and within the budget. It tells whether there was nothing to move.
//
// A replica whose replacement has nowhere to go is at the tail: its turn comes when nothing else is in motion.
func (s *state) moveServing(slots []*slot, budget int) (idle bool) {
	slices.SortFunc(slots, bySeniority)
	var stuck []*slot
	for _, sl := range slots {
		holder := sl.holder()
		next := sl.successor(holder)
		switch {
		case s.Policy.Paused:
			holder.progress(evenkeel.StepWaiting, evenkeel.LeavingPaused, waitingForResume)
		case s.backingOff(sl, holder):
		case s.nowhereToGo(next):
			stuck = append(stuck, sl)
			holder.progress(evenkeel.StepUnplaceable, evenkeel.LeavingUnplaceable, s.explainStuck(next))
		case next != nil && next.staying() && next.serves:
			s.withdraw(holder)
		case budget <= 0:
			holder.progress(evenkeel.StepWaiting, evenkeel.LeavingBudget, s.explainBudget())
		default:
			budget--
			s.moveOn(sl, holder, next)
		}
	}
	moving := len(stuck) < len(slots) || budget < s.Policy.AtOnce()
	if len(stuck) > 0 && !moving && !s.Policy.holds() && s.Policy.AtOnce() > 0 {
		s.withdraw(stuck[0].holder())
	}
	return len(slots) == 0
}

func (s *state) nowhereToGo(next *unit) bool {
	if next == nil {
		return !s.mayPlace()
	}
	return next.unplaceable()
}

// bySeniority orders moves: those that have a destination, those that wait for one, those not begun; each by cluster
// and index. What could begin in any order must not depend on how the objects were listed.
func bySeniority(a, b *slot) int {
	x, y := a.holder(), b.holder()
	return cmp.Or(
		cmp.Compare(progress(a, x), progress(b, y)),
		cmp.Compare(x.clusterName(), y.clusterName()),
		cmp.Compare(x.index(), y.index()),
		cmp.Compare(x.placement.Name, y.placement.Name),
	)
}

func progress(sl *slot, holder *unit) int {
	switch next := sl.successor(holder); {
	case next == nil:
		return 3
	case next.staying() && next.alive():
		return 0
	case next.staying():
		return 1
	default:
		return 2
	}
}

// moveOn takes the next step of a move that has its turn: a replacement is asked for, then it gets its place.
func (s *state) moveOn(sl *slot, holder, next *unit) {
	switch {
	case next != nil && next.staying():
		s.proceed(sl, holder, next)
	case next == nil && s.turns.mayMove() != "":
		s.waitForFleet(holder, s.turns.mayMove())
	default:
		s.replace(sl)
		s.await(sl, holder)
	}
}

// proceed goes on with a move whose replacement has a place: MakeBeforeBreak lets it serve first, Recreate begins with
// the old replica.
func (s *state) proceed(sl *slot, holder, next *unit) {
	switch {
	case next.serves:
		s.withdraw(holder)
	case !s.begin(sl, holder, next):
	case s.Policy.Strategy == evenkeel.StrategyMakeBeforeBreak:
		next.permitted = true
		holder.progress(evenkeel.StepLoading, evenkeel.LeavingMoving, fmt.Sprintf("its replacement %q to serve on %s", next.name, next.clusterName()))
	default:
		s.withdraw(holder)
	}
}

// begin tells whether the fleet's limits let a move go on. One that has begun goes on.
func (s *state) begin(sl *slot, holder, next *unit) bool {
	if s.inMotion(sl) {
		return true
	}
	for _, why := range []string{s.turns.mayMove(), s.turns.mayLoad(next.clusterName())} {
		if why != "" {
			s.waitForFleet(holder, why)
			return false
		}
	}
	s.turns.take(next.clusterName())
	return true
}

// inMotion tells whether a slot's replacement loads, or is about to because what it replaces is on its way out.
func (s *state) inMotion(sl *slot) bool {
	last := sl.last()
	if last.placement.Spec.Replaces == "" || !last.staying() || sl.victim || last.serves {
		return false
	}
	return last.alive() || !slices.ContainsFunc(sl.before(last), func(u *unit) bool { return u.alive() && !u.withdrawing() })
}

func (s *state) await(sl *slot, holder *unit) {
	if next := sl.successor(holder); next != nil && next.unplaceable() {
		holder.progress(evenkeel.StepUnplaceable, evenkeel.LeavingUnplaceable, s.explainStuck(next))
		return
	}
	holder.progress(evenkeel.StepPlacing, evenkeel.LeavingMoving, fmt.Sprintf("the scheduler %q to place its replacement", s.SchedulerName))
}

func (s *state) explainStuck(next *unit) string {
	if next == nil {
		return "nothing can be placed now"
	}
	return "a destination: " + next.condition(evenkeel.ConditionScheduled).Message
}

func (s *state) explainBudget() string {
	source := ""
	if len(s.Policy.Names) > 0 {
		source = ", DisruptionPolicy " + strings.Join(s.Policy.Names, ", ")
	}
	return fmt.Sprintf("other replicas of the deployment to serve: at most %d of %d may be on the move%s", s.Policy.AtOnce(), s.Deployment.Spec.Replicas, source)
}

// replace creates the next attempt of a slot whose newest one cannot stay. It is free to do so once the newest cannot
// become anything: one that waits for the scheduler is left waiting.
func (s *state) replace(sl *slot) {
	last := sl.last()
	if !s.mayPlace() || !s.lost(last) {
		return
	}
	next := s.newPlacement(sl)
	next.Spec.Replaces = replaced(sl)
	next.Spec.Surge = s.surges(sl)
	next.Spec.ExcludedClusters = s.exclusions(sl, nil)
	s.excludeRejected(sl, next)
	s.act(CreatePlacement{Placement: next})
}

// surges tells whether a slot's replacement is to serve before what it replaces goes, so that it needs its own nodes.
func (s *state) surges(sl *slot) bool {
	return s.Policy.Strategy == evenkeel.StrategyMakeBeforeBreak && sl.holder() != nil
}

// lost tells whether an attempt is in need of a next one.
func (s *state) lost(u *unit) bool {
	if u.pending() || u.adopting() || u.removed {
		return false
	}
	if c := u.rejected(); c != nil && c.Reason == evenkeel.ReasonRefused {
		due := c.LastTransitionTime.Add(s.backoff(u))
		s.wake(due)
		return !s.Now.Before(due)
	}
	return !u.staying()
}

// replaced names the placement that the next attempt takes over from: the one that must leave, or else the newest that has
// a replica.
func replaced(sl *slot) string {
	if holder := sl.holder(); holder != nil && !slices.ContainsFunc(sl.after(holder), func(u *unit) bool { return u.replica != nil }) {
		return holder.placement.Name
	}
	for _, u := range slices.Backward(sl.units) {
		if u.replica != nil || u.gone() {
			return u.placement.Name
		}
	}
	return ""
}

// excused tells whether a slot that does not serve has stopped to count as unavailable: it has no destination, or has
// had its time to get ready.
func (s *state) excused(sl *slot) bool {
	last := sl.last()
	switch {
	case last.pending():
		return last.unplaceable()
	case last.adopting():
		return false
	case last.leaving() && !s.mayPlace():
		return true
	default:
		due := s.notReadySince(last).Add(s.Policy.ReadyTimeout)
		s.wake(due)
		return !s.Now.Before(due)
	}
}
