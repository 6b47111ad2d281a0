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
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// unit is one placement that is not over, with its replica.
type unit struct {
	placement *evenkeel.ReplicaPlacement
	slot      *slot
	// name of its replica, empty while it is pending.
	name string
	// replica of that name, if it exists and is the deployment's.
	replica *modelplane.ModelReplica
	// nameTaken tells that somebody else's object has that name.
	nameTaken bool
	// unfounded tells that the placement it replaces does not exist, whose nodes were counted as free for it.
	unfounded bool
	// cluster it is assigned to, nil while pending and where the cluster does not exist.
	cluster *Cluster
	// cause why its replica must leave.
	cause *cause
	// cramped tells that it would have to share its nodes with what it is to replace, and that is not to go first.
	cramped bool
	// serves tells that requests reach its replica.
	serves bool
	// redundant tells that another unit of the slot stays.
	redundant bool
	// permitted tells that its replica may be made although what it replaces is there.
	permitted bool
	// keptOff is since when requests have been kept off its replica, and keepOff since when they are to be; zero if they are
	// not.
	keptOff, keepOff time.Time
	// withdrawn is the condition TrafficWithdrawn that it is to have, nil for none.
	withdrawn *metav1.Condition
	// taintsSeen are the conditions that remember since when taints have been seen.
	taintsSeen []metav1.Condition
	// step, reason and waitingFor of its move.
	step, reason, waitingFor string
	// deleting tells that its replica is deleted in this pass, removed that the placement is.
	deleting, removed bool
	// over tells that the placement ends in this pass.
	over bool
}

// cause is why a replica must leave.
type cause struct {
	reason, message string
	// aboutCluster tells that the replica must not come back to the cluster.
	aboutCluster bool
	// settled is false for as long as the cause has not lasted long enough.
	settled bool
}

func (u *unit) condition(conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(u.placement.Status.Conditions, conditionType)
}

func (u *unit) assigned() bool { return u.placement.Status.Assignment != nil }

// adopting is a placement whose assignment, read from the replica it adopts, is still to be written.
func (u *unit) adopting() bool { return !u.assigned() && u.placement.Spec.Adopts != "" }

// pending is one that the scheduler is to assign.
func (u *unit) pending() bool { return !u.assigned() && u.placement.Spec.Adopts == "" }

// unplaceable is a pending one for which the scheduler has found nothing, and whose wish has not changed since.
func (u *unit) unplaceable() bool {
	if !u.pending() {
		return false
	}
	c := u.condition(evenkeel.ConditionScheduled)
	return c != nil && c.Status == metav1.ConditionFalse && c.ObservedGeneration == u.placement.Generation
}

// awaitsVerdict is a pending one that the scheduler has not answered for yet.
func (u *unit) awaitsVerdict() bool { return u.pending() && !u.unplaceable() }

// seen tells that the replica has existed. An adopted one was there before.
func (u *unit) seen() bool {
	return u.placement.Spec.Adopts != "" || u.condition(evenkeel.ConditionReady) != nil
}

// alive tells that the replica exists and nobody has deleted it.
func (u *unit) alive() bool { return u.replica != nil && u.replica.DeletionTimestamp == nil }

// terminating tells that the replica was deleted and is still there.
func (u *unit) terminating() bool { return u.replica != nil && u.replica.DeletionTimestamp != nil }

// gone tells that the replica has been there and is not any more.
func (u *unit) gone() bool { return u.assigned() && u.replica == nil && u.seen() }

// uncreated tells that the placement is assigned and its replica was never made.
func (u *unit) uncreated() bool { return u.assigned() && u.replica == nil && !u.seen() }

// ready tells that the replica says it is ready.
func (u *unit) ready() bool {
	return u.alive() && meta.IsStatusConditionTrue(u.replica.Status.Conditions, modelplane.ConditionReady)
}

// withdrawing tells that requests are being kept off the replica.
func (u *unit) withdrawing() bool { return u.alive() && !u.keptOff.IsZero() }

// progress notes how the unit's move stands.
func (u *unit) progress(step, reason, waitingFor string) {
	u.step, u.reason, u.waitingFor = step, reason, waitingFor
}

// leaving tells that the replica must go.
func (u *unit) leaving() bool { return u.cause != nil && u.cause.settled }

// committed tells that an earlier pass has written down that the replica must go, for the cause that still holds.
func (u *unit) committed() bool {
	c := u.condition(evenkeel.ConditionDisruptionTarget)
	return u.leaving() && c != nil && c.Status == metav1.ConditionTrue && c.Reason == u.cause.reason
}

// rejected gives the condition that tells why the replica cannot be created, nil if nothing does.
func (u *unit) rejected() *metav1.Condition {
	c := u.condition(evenkeel.ConditionReplicaRejected)
	if c == nil || c.Status != metav1.ConditionTrue || u.replica != nil {
		return nil
	}
	return c
}

// staying tells that the placement has a cluster and no reason to give it up.
func (u *unit) staying() bool {
	return u.assigned() && !u.leaving() && !u.nameTaken && u.rejected() == nil && (!u.unfounded && !u.cramped || !u.uncreated())
}

// healthy tells that the replica is ready on a cluster that is ready.
func (u *unit) healthy() bool {
	return u.ready() && u.cluster != nil && placement.Ready(u.cluster.InferenceCluster)
}

// notReadySince is since when an assigned replica that does not serve has not. One that was never made, because it
// waits for its turn, is not ready since then or since what it replaces went, whatever was later.
func (s *state) notReadySince(u *unit) time.Time {
	c := u.condition(evenkeel.ConditionReady)
	if serving := u.condition(evenkeel.ConditionServing); s.Traffic != nil && serving != nil {
		c = serving
	}
	if c != nil {
		if c.Status == metav1.ConditionTrue {
			return s.Now
		}
		return c.LastTransitionTime.Time
	}
	since := u.placement.CreationTimestamp.Time
	if c := u.condition(evenkeel.ConditionScheduled); c != nil && c.Status == metav1.ConditionTrue {
		since = c.LastTransitionTime.Time
	}
	if u.alive() {
		since = later(since, u.replica.CreationTimestamp.Time)
	}
	return later(since, s.wentAt(u))
}

// wentAt is when the last replica that a placement takes over from was deleted.
func (s *state) wentAt(u *unit) time.Time {
	var at time.Time
	for _, before := range u.slot.before(u) {
		switch {
		case before.terminating():
			at = later(at, before.replica.DeletionTimestamp.Time)
		case before.gone(), before.withdrawing():
			return s.Now
		}
	}
	if origin := s.placementNamed(u.placement.Spec.Replaces); origin != nil {
		if c := meta.FindStatusCondition(origin.Status.Conditions, evenkeel.ConditionMoved); c != nil {
			at = later(at, c.LastTransitionTime.Time)
		}
	}
	return at
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (u *unit) clusterName() string {
	if !u.assigned() {
		return ""
	}
	return u.placement.Status.Assignment.ClusterName
}

func (u *unit) index() int32 {
	if !u.assigned() {
		return 0
	}
	return u.placement.Status.Assignment.Index
}
