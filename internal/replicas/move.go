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

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

const waitingForResume = "moves to be resumed"

// move brings every replica that must leave one step further, and tells whether nothing is in motion.
func (s *state) move() (idle bool) {
	unavailable := 0
	var voluntary []*slot
	for _, sl := range s.slots {
		if keeper := sl.keeper(); keeper != nil {
			s.withdrawAll(sl.after(keeper))
		}
		switch holder := sl.holder(); {
		case sl.victim || sl.vacated():
			s.withdrawAll(sl.units)
		case holder == nil || !holder.ready():
			s.moveIdle(sl, holder)
			if !sl.serving() && !s.excused(sl) {
				unavailable++
			}
		default:
			voluntary = append(voluntary, sl)
		}
	}
	return s.moveServing(voluntary, s.Policy.MaxUnavailable-unavailable) && unavailable == 0
}

// withdrawAll deletes the replicas that nothing depends on any more.
func (s *state) withdrawAll(units []*unit) {
	for _, u := range units {
		if u.alive() && u.leaving() {
			s.withdraw(u)
		}
	}
}

// moveIdle moves what serves nobody: it costs nothing, so it needs no budget.
func (s *state) moveIdle(sl *slot, holder *unit) {
	if s.Policy.Paused {
		if holder != nil {
			holder.step, holder.waitingFor = evenkeel.StepWaiting, waitingForResume
		}
		return
	}
	if sl.keeper() == nil {
		s.replace(sl)
	}
	if holder == nil {
		return
	}
	switch next := sl.successor(holder); {
	case next == nil:
		s.await(sl, holder)
		if !s.mayPlace() {
			s.withdraw(holder)
		}
	case next.awaitsVerdict() || !next.pending() && !next.staying():
		s.await(sl, holder)
	default:
		s.withdraw(holder)
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
			holder.step, holder.waitingFor = evenkeel.StepWaiting, waitingForResume
		case nowhereToGo(s, next):
			stuck = append(stuck, sl)
			holder.step, holder.waitingFor = evenkeel.StepUnplaceable, s.explainStuck(next)
		case budget <= 0:
			holder.step, holder.waitingFor = evenkeel.StepWaiting, "other replicas of the deployment to serve"
		default:
			budget--
			s.moveOn(sl, holder, next)
		}
	}
	inMotion := len(stuck) < len(slots) || budget < s.Policy.MaxUnavailable
	if len(stuck) > 0 && !inMotion && s.Policy.WhenUnplaceable == evenkeel.WhenUnplaceableEvict {
		s.withdraw(stuck[0].holder())
	}
	return len(slots) == 0
}

func nowhereToGo(s *state, next *unit) bool {
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
		return 2
	case next.staying():
		return 0
	default:
		return 1
	}
}

// moveOn takes the next step of a move that has its turn.
func (s *state) moveOn(sl *slot, holder, next *unit) {
	if next != nil && next.staying() {
		s.withdraw(holder)
		return
	}
	s.replace(sl)
	s.await(sl, holder)
}

func (s *state) await(sl *slot, holder *unit) {
	holder.step = evenkeel.StepPlacing
	holder.waitingFor = fmt.Sprintf("the scheduler %q to place its replacement", s.SchedulerName)
	if next := sl.successor(holder); next != nil && next.unplaceable() {
		holder.step, holder.waitingFor = evenkeel.StepUnplaceable, s.explainStuck(next)
	}
}

func (s *state) explainStuck(next *unit) string {
	if next == nil {
		return "nothing can be placed now"
	}
	return "a destination: " + next.condition(evenkeel.ConditionScheduled).Message
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
	next.Spec.ExcludedClusters = s.exclusions(sl, nil)
	s.excludeRejected(sl, next)
	s.act(CreatePlacement{Placement: next})
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

// replaced names the placement whose nodes the next attempt may count as free: the newest that has a replica.
func replaced(sl *slot) string {
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
