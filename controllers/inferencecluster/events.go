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

package inferencecluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/drain"
)

// Reasons of events about a cluster.
const (
	// EventDrainBegun is a cluster that replicas must leave from now on.
	EventDrainBegun = "DrainBegun"
	// EventDrained is a cluster that all of them have left.
	EventDrained = "Drained"
	// EventDrainStuck is a cluster that none has left for a while.
	EventDrainStuck = "DrainStuck"
	// EventDeletionRecorded is a cluster that will be deleted once no replica is on it.
	EventDeletionRecorded = "DeletionRecorded"
)

// eventAction says in events what the controller does.
const eventAction = "ReportDrain"

func (r *Reconciler) record(cluster *modelplane.InferenceCluster, eventType, reason, message string) {
	r.Recorder.Eventf(cluster, nil, eventType, reason, eventAction, "%s", message)
}

// tellTransition tells of the beginning and the end of a drain; nil is a cluster that was not drained before.
func (r *Reconciler) tellTransition(cluster *modelplane.InferenceCluster, before, after *metav1.Condition) {
	if before == nil && after.Status != metav1.ConditionTrue {
		r.record(cluster, corev1.EventTypeNormal, EventDrainBegun, after.Message)
	}
	if after.Status == metav1.ConditionTrue && (before == nil || before.Status != metav1.ConditionTrue) {
		r.record(cluster, corev1.EventTypeNormal, EventDrained, after.Message)
	}
}

// watchProgress complains of a drain that stands still, and tells when to look again. Replicas that only wait for their
// tolerations to end are no reason to.
func (r *Reconciler) watchProgress(ctx context.Context, cluster *modelplane.InferenceCluster, s *state, report *drain.Report) (due time.Duration, err error) {
	now := r.Clock.Now()
	known := now
	if s.since.IsZero() {
		if known, err = r.standsStillSince(ctx, cluster, now); err != nil {
			return 0, err
		}
	}
	since := s.progress(report.Left, now, known)
	if report.Left == 0 || len(report.Kinds) == 1 && report.Kinds[0].Reason == evenkeel.LeavingTolerating {
		return 0, nil
	}
	if left := r.StuckAfter - now.Sub(since); left > 0 {
		return left, nil
	}
	s.complained = now
	r.record(cluster, corev1.EventTypeWarning, EventDrainStuck, fmt.Sprintf("no replica has left for %s: %s",
		now.Sub(s.since).Round(time.Second), report.Message()))
	return r.StuckAfter, nil
}

// standsStillSince tells what the hub says of a drain that this process has not watched from its beginning: it began when
// the condition Drained was last set, and one replica after the other has left as the finished placements say.
func (r *Reconciler) standsStillSince(ctx context.Context, cluster *modelplane.InferenceCluster, now time.Time) (time.Time, error) {
	written := meta.FindStatusCondition(cluster.Status.Conditions, evenkeel.ConditionDrained)
	if written == nil {
		return now, nil
	}
	list := &evenkeel.ReplicaPlacementList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return now, err
	}
	since := written.LastTransitionTime.Time
	for i := range list.Items {
		status := &list.Items[i].Status
		moved := meta.FindStatusCondition(status.Conditions, evenkeel.ConditionMoved)
		if moved != nil && status.Assignment != nil && status.Assignment.ClusterName == cluster.Name && moved.LastTransitionTime.After(since) {
			since = moved.LastTransitionTime.Time
		}
	}
	return since, nil
}

// warnOfDeletion tells, before anything is drained, that the end of the drain would be the cluster's.
func (r *Reconciler) warnOfDeletion(ctx context.Context, cluster *modelplane.InferenceCluster, s *state) error {
	warning := drain.DeletionWarning(cluster)
	if warning == s.deletion {
		return nil
	}
	if warning != "" {
		// Without replicas the deletion is not held up by any.
		onCluster := &modelplane.ModelReplicaList{}
		if err := r.Client.List(ctx, onCluster, client.MatchingFields{indexDrain: cluster.Name}, client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
		if len(onCluster.Items) == 0 {
			return nil
		}
		r.record(cluster, corev1.EventTypeWarning, EventDeletionRecorded, warning)
	}
	s.deletion = warning
	return nil
}
