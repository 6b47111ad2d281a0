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
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// tidy ends the placements of a slot that have nothing left to do: those whose replica is gone, those that are not needed
// because another one stays, and those whose cluster was lost before their replica was made.
func (s *state) tidy(sl *slot) {
	keeper := sl.keeper()
	for _, u := range sl.units {
		switch {
		case u.removed:
		case u.gone():
			s.endGone(sl, u)
		case sl.victim && (u.pending() || u.uncreated()):
			s.remove(u, "fewer replicas are wanted")
		case keeper != nil && u != keeper && (u.staying() || slices.Contains(sl.after(keeper), u)):
			s.retract(u)
		case u.uncreated() && !u.staying() && sl.successor(u) != nil:
			s.remove(u, "its place was lost before its replica was made")
		}
	}
}

// endGone ends a placement whose replica is gone. One that is to be replaced waits for its replacement to exist, so that
// the slot is never empty in between.
func (s *state) endGone(sl *slot, u *unit) {
	replaced := sl.victim || sl.successor(u) != nil || u.cause.reason == evenkeel.CauseScaleDown || sl.holder() != nil || sl.keeper() != nil
	if !replaced && s.mayPlace() {
		return
	}
	if u.cause.reason == evenkeel.CauseScaleDown {
		s.remove(u, "its replica is gone: "+u.cause.reason)
		return
	}
	u.over = true
}

// retract takes back what is not needed any more because another unit of the slot stays.
func (s *state) retract(u *unit) {
	if u.alive() {
		u.redundant = true
		u.cause = &cause{reason: evenkeel.CauseScaleDown, message: "another replica stands for it", settled: true}
		return
	}
	if u.pending() || u.uncreated() || u.nameTaken {
		s.remove(u, "what it was to replace may stay")
	}
}

// remove deletes a placement that never had a replica, or whose replica is gone.
func (s *state) remove(u *unit, why string) {
	u.removed = true
	s.act(DeletePlacement{Placement: u.placement, AbsentReplica: absent(u), Why: why})
}

// absent is the replica that must not exist when the placement ends, since nothing would account for it then.
func absent(u *unit) string {
	if u.nameTaken {
		return ""
	}
	return u.name
}

// dropSurplus deletes a replica that no placement can stand for: one at a time, when every wanted replica has a placement
// and nothing is in motion.
func (s *state) dropSurplus(surplus []*modelplane.ModelReplica) {
	if len(surplus) == 0 {
		return
	}
	r := surplus[0]
	if e := s.endpoint(r.Name); e != nil {
		s.act(DeleteEndpoint{Endpoint: e})
	}
	s.act(DeleteReplica{Replica: r, Cause: "a second replica of " + fmt.Sprintf("%s/%d", r.Spec.ClusterName, identityOf(r).index)})
}

// trimHistory deletes finished placements that are too old or too many.
func (s *state) trimHistory() {
	finished := slices.Clone(s.history)
	slices.SortFunc(finished, func(a, b *evenkeel.ReplicaPlacement) int {
		return cmp.Or(finishedAt(b).Compare(finishedAt(a)), cmp.Compare(a.Name, b.Name))
	})
	for i, p := range finished {
		expiry := finishedAt(p).Add(s.Settings.HistoryTTL)
		if i < s.Settings.HistoryLimit && s.Now.Before(expiry) || s.remembered(p) {
			s.wake(expiry)
			continue
		}
		s.act(DeletePlacement{Placement: p, Why: "its history has expired"})
	}
}

func finishedAt(p *evenkeel.ReplicaPlacement) time.Time {
	return meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionMoved).LastTransitionTime.Time
}
