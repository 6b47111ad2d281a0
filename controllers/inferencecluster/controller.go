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
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/drain"
)

// FieldManager is the name under which the controller writes: one of its own, so that what it applies is the condition
// Drained and nothing else.
const FieldManager = "evenkeel-drain-report"

const (
	// settle is the pause between two writes that only change the numbers: a drain of a thousand replicas on a hundred
	// clusters is not told in thousands of writes. The beginning and the end are told at once.
	settle = 10 * time.Second
	// resync is how often a drain is looked at when nothing happens: an edited toleration of a deployment that is not
	// Evenkeel's shows in nothing that is watched.
	resync = time.Minute
)

// Options configure the controller.
type Options struct {
	// StuckAfter is how long no replica may leave until an event says that the drain stands still, and again after each
	// such time.
	StuckAfter time.Duration
}

// Reconciler reports drains.
type Reconciler struct {
	Options
	// Client reads from the cache and writes.
	Client client.Client
	// Recorder of events.
	Recorder events.EventRecorder
	// Clock of reports.
	Clock clock.PassiveClock

	gauges *gauges
	mu     sync.Mutex
	drains map[types.NamespacedName]*state
}

var _ reconcile.Reconciler = &Reconciler{}

// Reconcile reports how one cluster stands.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := &modelplane.InferenceCluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, cluster, client.UnsafeDisableDeepCopy); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	s := r.stateOf(cluster)
	if err := r.warnOfDeletion(ctx, cluster, s); err != nil {
		return ctrl.Result{}, err
	}
	if !drain.Draining(cluster) {
		return ctrl.Result{}, r.endDrain(ctx, cluster, s)
	}
	report, err := r.observe(ctx, cluster)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observe: %w", err)
	}
	r.gauges.set(cluster.Name, &report)
	wait, err := r.tell(ctx, cluster, s, report.Condition(cluster))
	if err != nil {
		return ctrl.Result{}, err
	}
	due, err := r.watchProgress(ctx, cluster, s, &report)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("tell since when the drain stands still: %w", err)
	}
	return ctrl.Result{RequeueAfter: shortest(wait, due, resync)}, nil
}

// shortest gives the shortest time that is not zero.
func shortest(times ...time.Duration) time.Duration {
	best := time.Duration(0)
	for _, t := range times {
		if t > 0 && (best == 0 || t < best) {
			best = t
		}
	}
	return best
}

// observe reads everything that is on a cluster.
func (r *Reconciler) observe(ctx context.Context, cluster *modelplane.InferenceCluster) (drain.Report, error) {
	onCluster := client.MatchingFields{indexDrain: cluster.Name}
	replicas := &modelplane.ModelReplicaList{}
	if err := r.Client.List(ctx, replicas, onCluster, client.UnsafeDisableDeepCopy); err != nil {
		return drain.Report{}, err
	}
	placements := &evenkeel.ReplicaPlacementList{}
	if err := r.Client.List(ctx, placements, onCluster, client.UnsafeDisableDeepCopy); err != nil {
		return drain.Report{}, err
	}
	var failed error
	report := drain.Observe(drain.Observation{
		Cluster:    cluster,
		Replicas:   pointers(replicas.Items),
		Placements: pointers(placements.Items),
		Tolerations: func(key types.NamespacedName) ([]modelplane.Toleration, bool) {
			d := &modelplane.ModelDeployment{}
			if err := r.Client.Get(ctx, key, d, client.UnsafeDisableDeepCopy); err != nil {
				if client.IgnoreNotFound(err) != nil {
					failed = err
				}
				return nil, false
			}
			return d.Spec.Template.Spec.Tolerations, true
		},
	})
	return report, failed
}

func pointers[T any](items []T) []*T {
	list := make([]*T, len(items))
	for i := range items {
		list[i] = &items[i]
	}
	return list
}

// tell writes the condition if it says something else, and the events about its change. Changes of numbers alone are
// gathered: wait is when to look again for them.
func (r *Reconciler) tell(ctx context.Context, cluster *modelplane.InferenceCluster, s *state, want metav1.Condition) (wait time.Duration, err error) {
	now := r.Clock.Now()
	current := s.current(meta.FindStatusCondition(cluster.Status.Conditions, evenkeel.ConditionDrained), now)
	want.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	if current != nil && current.Status == want.Status {
		if current.Reason == want.Reason && current.Message == want.Message && current.ObservedGeneration == want.ObservedGeneration {
			return 0, nil
		}
		want.LastTransitionTime = current.LastTransitionTime
		if left := settle - now.Sub(s.toldAt); left > 0 {
			return left, nil
		}
	}
	if err := r.apply(ctx, cluster, &want); err != nil {
		return 0, fmt.Errorf("write condition %s: %w", evenkeel.ConditionDrained, err)
	}
	s.told, s.toldAt = &want, now
	r.tellTransition(cluster, current, &want)
	return 0, nil
}

// endDrain takes the condition back from a cluster that is not drained any more.
func (r *Reconciler) endDrain(ctx context.Context, cluster *modelplane.InferenceCluster, s *state) error {
	r.gauges.forget(cluster.Name)
	s.end()
	if meta.FindStatusCondition(cluster.Status.Conditions, evenkeel.ConditionDrained) == nil {
		return nil
	}
	if err := r.apply(ctx, cluster); err != nil {
		return fmt.Errorf("remove condition %s: %w", evenkeel.ConditionDrained, err)
	}
	return nil
}
