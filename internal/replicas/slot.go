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

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// slot is one wanted replica: the placement that has it, those that it moves away from, and the one it moves to.
type slot struct {
	number int32
	// units by attempt.
	units []*unit
	// victim tells that the slot is one more than wanted.
	victim bool
}

// last is the newest attempt. Every slot of a state has one.
func (s *slot) last() *unit { return s.units[len(s.units)-1] }

// keeper is the unit that stays: the first that may stay where it is and serves, or else the first that may stay.
// Others that may stay, and those after it, are not needed.
func (s *slot) keeper() *unit {
	var keeper *unit
	for _, u := range s.units {
		switch {
		case !u.staying():
		case u.serves:
			return u
		case keeper == nil:
			keeper = u
		}
	}
	return keeper
}

// holder is the unit whose replica is alive and must leave, for a later one to take its place: of several the first that
// serves, or else the first.
func (s *slot) holder() *unit {
	keeper := s.keeper()
	var holder *unit
	for _, u := range s.units {
		switch {
		case u == keeper:
			return holder
		case !u.alive() || !u.leaving() || u.redundant:
		case u.serves && (holder == nil || !holder.serves):
			holder = u
		case holder == nil:
			holder = u
		}
	}
	return holder
}

// serving tells that requests reach a replica of the slot.
func (s *slot) serving() bool {
	return slices.ContainsFunc(s.units, func(u *unit) bool { return u.serves })
}

// ready tells that a replica of the slot says it is ready.
func (s *slot) ready() bool { return slices.ContainsFunc(s.units, (*unit).ready) }

// vacated tells that nothing is left of the slot but replicas on their way out because fewer were wanted.
func (s *slot) vacated() bool {
	return !slices.ContainsFunc(s.units, func(u *unit) bool {
		return u.cause == nil || u.cause.reason != evenkeel.CauseScaleDown || u.alive()
	})
}

// before gives the units ahead of u.
func (s *slot) before(u *unit) []*unit { return s.units[:slices.Index(s.units, u)] }

// after gives the units behind u.
func (s *slot) after(u *unit) []*unit { return s.units[slices.Index(s.units, u)+1:] }

// successor is the newest attempt behind u, nil if u is the newest.
func (s *slot) successor(u *unit) *unit {
	if last := s.last(); last != u {
		return last
	}
	return nil
}

// PlacementName is the name of a deployment's placement. No two deployments can come to the same name: the last two
// numbers are slot and attempt, and what is before them is the deployment.
func PlacementName(deployment string, slot, attempt int32) string {
	return fmt.Sprintf("%s-%d-%d", deployment, slot, attempt)
}
