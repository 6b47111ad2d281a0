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

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// findRollbacks tells which replacements are to be taken back: those that were made before their origin is deleted and
// have not served within readyTimeout. The origin, which nothing has happened to, stays, and the next try comes later.
func (s *state) findRollbacks() {
	for _, sl := range s.slots {
		holder := sl.holder()
		if holder == nil {
			continue
		}
		next := sl.successor(holder)
		if next == nil || !next.alive() || !next.staying() || next.serves {
			continue
		}
		if s.Policy.Paused && !next.committed() {
			continue
		}
		due := s.notReadySince(next).Add(s.Policy.ReadyTimeout)
		s.wake(due)
		if s.Now.Before(due) {
			continue
		}
		next.cause = &cause{
			reason:  evenkeel.CauseNotServing,
			message: fmt.Sprintf("it does not serve on %s after %s (readyTimeout)", next.clusterName(), s.Policy.ReadyTimeout),
			settled: true,
		}
	}
}

// nextTry tells when a slot may try again after replacements were taken back, and how many were. Each one after the
// first doubles the pause. A template that was edited since is worth a try at once.
func (s *state) nextTry(sl *slot, holder *unit) (at time.Time, tries int) {
	for _, p := range s.history {
		if p.Spec.Slot != sl.number || p.Spec.Attempt <= holder.placement.Spec.Attempt || !s.rolledBack(p) {
			continue
		}
		tries++
		at = later(at, finishedAt(p))
	}
	if tries == 0 {
		return at, 0
	}
	wait := s.Settings.RollbackBackoff
	for i := 1; i < tries && wait < s.Settings.RollbackRetry; i++ {
		wait *= 2
	}
	return at.Add(min(wait, s.Settings.RollbackRetry)), tries
}

// rolledBack tells whether a finished placement was a replacement that did not serve, of the template as it is now.
func (s *state) rolledBack(p *evenkeel.ReplicaPlacement) bool {
	c := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionMoved)
	return c != nil && c.Reason == evenkeel.CauseNotServing && equality.Semantic.DeepEqual(p.Spec.Engines, s.engines)
}

// backingOff tells whether a slot waits for its next try, or for a replacement that is taken back to be gone, and says so.
func (s *state) backingOff(sl *slot, holder *unit) bool {
	if next := sl.successor(holder); next != nil {
		if !next.leaving() || next.cause.reason != evenkeel.CauseNotServing {
			return false
		}
		holder.progress(evenkeel.StepWaiting, evenkeel.LeavingNotServing, fmt.Sprintf("the replacement %q to be taken back: %s", next.name, next.cause.message))
		return true
	}
	at, tries := s.nextTry(sl, holder)
	if !s.Now.Before(at) {
		return false
	}
	s.wake(at)
	holder.progress(evenkeel.StepWaiting, evenkeel.LeavingNotServing,
		fmt.Sprintf("the next try at %s: %d replacements did not serve within %s (readyTimeout)", stamp(at), tries, s.Policy.ReadyTimeout))
	return true
}

// remembered tells whether a finished placement says when its slot may try again, which must not be forgotten.
func (s *state) remembered(p *evenkeel.ReplicaPlacement) bool {
	for _, sl := range s.slots {
		if sl.number != p.Spec.Slot || !s.rolledBack(p) {
			continue
		}
		if holder := sl.holder(); holder != nil && p.Spec.Attempt > holder.placement.Spec.Attempt {
			return s.Now.Before(finishedAt(p).Add(s.Settings.RollbackRetry))
		}
	}
	return false
}
