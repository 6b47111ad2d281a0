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
	"slices"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// scale brings the number of slots to what is wanted: it creates placements, or chooses the slots that are too many. It
// waits while replicas are being adopted: all are to be compared, and the scheduler knows the index of one only when
// its placement is assigned.
func (s *state) scale(adopting int) {
	if adopting > 0 {
		return
	}
	counted := s.countedSlots()
	wanted := int(s.Deployment.Spec.Replicas)
	if over := len(counted) - wanted; over > 0 {
		for _, sl := range victims(counted, over) {
			sl.victim = true
			for _, u := range sl.units {
				s.scaleDown(u)
			}
		}
		return
	}
	if !s.mayPlace() {
		return
	}
	for range wanted - len(counted) {
		s.act(CreatePlacement{Placement: s.newPlacement(s.freeSlot())})
	}
}

// countedSlots are those that stand for a wanted replica.
func (s *state) countedSlots() []*slot {
	counted := make([]*slot, 0, len(s.slots))
	for _, sl := range s.slots {
		if !sl.vacated() {
			counted = append(counted, sl)
		}
	}
	return counted
}

func (s *state) scaleDown(u *unit) {
	if u.alive() {
		u.cause = &cause{reason: evenkeel.CauseScaleDown, message: "fewer replicas are wanted", settled: true}
	}
}

// Ranks of slots when there are too many, first to go first.
const (
	rankChosen   = iota // an earlier pass has chosen it
	rankPending         // nothing runs or is about to
	rankLeaving         // its replica must leave its cluster anyway
	rankOccupied        // its replica could stay
)

// victims chooses which slots go, n of them. A replica that would have to move is rather not moved at all; among those
// that could stay the placement rules choose.
func victims(slots []*slot, n int) []*slot {
	ordered := slices.Clone(slots)
	slices.SortStableFunc(ordered, func(a, b *slot) int {
		return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), cmp.Compare(b.number, a.number))
	})
	firm := 0
	for firm < n && rankOf(ordered[firm]) != rankOccupied {
		firm++
	}
	chosen := ordered[:firm]
	return append(slices.Clone(chosen), occupiedVictims(ordered[firm:], n-firm)...)
}

func occupiedVictims(slots []*slot, n int) []*slot {
	if n == 0 {
		return nil
	}
	byName := map[string]*slot{}
	placed := make([]placement.Placed, 0, len(slots))
	for _, sl := range slots {
		u := sl.keeper()
		if u == nil {
			u = sl.last()
		}
		byName[u.placement.Name] = sl
		placed = append(placed, placement.Placed{
			Name: u.placement.Name, Cluster: u.clusterName(), Index: u.index(), Healthy: u.healthy(),
		})
	}
	var chosen []*slot
	for _, victim := range placement.ScaleDown(placed, len(slots)-n) {
		chosen = append(chosen, byName[victim.Name])
	}
	return chosen
}

func rankOf(sl *slot) int {
	switch keeper := sl.keeper(); {
	case slices.ContainsFunc(sl.units, chosenBefore):
		return rankChosen
	case sl.holder() != nil:
		return rankLeaving
	case keeper != nil:
		return rankOccupied
	default:
		return rankPending
	}
}

func chosenBefore(u *unit) bool {
	c := u.condition(evenkeel.ConditionDisruptionTarget)
	return c != nil && c.Reason == evenkeel.CauseScaleDown
}
