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

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// preempted is the cause of a replica that the scheduler wants to leave for another placement, nil where that does not
// wait for it any more.
func (s *state) preempted(u *unit) *cause {
	by := u.placement.Status.PreemptedBy
	if by == nil || !s.awaits(by, u.clusterName()) {
		return nil
	}
	return &cause{
		reason:       evenkeel.CausePreempted,
		message:      fmt.Sprintf("it makes room for ReplicaPlacement %s/%s", by.Namespace, by.Name),
		aboutCluster: true,
		settled:      true,
	}
}

// awaits tells whether a preemptor still waits and is nominated to a cluster. The scheduler writes the nomination before it
// names victims, so that a victim is never seen before the nomination.
func (s *state) awaits(by *evenkeel.Preemptor, cluster string) bool {
	for _, p := range s.Preemptors {
		if p.Namespace == by.Namespace && p.Name == by.Name {
			return p.UID == by.UID && p.DeletionTimestamp == nil && p.Status.Assignment == nil && p.Status.NominatedCluster == cluster
		}
	}
	return false
}

// spare takes preemptions back that have lapsed, so that they do not count again should the preemptor be nominated to the
// same cluster another time. One that is being carried out stays on record.
func (s *state) spare() {
	for u := range s.units {
		by := u.placement.Status.PreemptedBy
		if by == nil || u.removed || u.over || s.awaits(by, u.clusterName()) || u.cause != nil && u.cause.reason == evenkeel.CausePreempted {
			continue
		}
		s.act(SparePlacement{Placement: u.placement})
	}
}
