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

package modeldeployment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// FieldManager is the name under which the controller writes.
const FieldManager = "evenkeel-hub-manager"

// staleRetry is the pause after a write that was refused because the cache was behind: about what it takes to catch up.
const staleRetry = 200 * time.Millisecond

// errStale tells that a write was not made because the state it was decided on is not the present one.
var errStale = errors.New("the cache is behind")

// Options configure the controller.
type Options struct {
	// SchedulerNames for which it acts.
	SchedulerNames []string
	// OwnCompositions are Crossplane compositions that leave the replicas to it.
	OwnCompositions []string
	// MaxConcurrentReconciles is how many deployments are looked at at once.
	MaxConcurrentReconciles int
	// Disruption is what moves keep to where no DisruptionPolicy says otherwise.
	Disruption evenkeel.DisruptionSettings
	// MaxParallelMoves is how many replicas of the fleet may be on the move at a time; 0 sets no limit.
	MaxParallelMoves int
	// MaxLoadingPerCluster is how many replicas that move may load on one cluster at a time; 0 sets no limit.
	MaxLoadingPerCluster int
	// StepEvents has each step of a move told in an event on its placement.
	StepEvents bool
	// Settings of decisions.
	Settings replicas.Settings
	// Serves tells which kinds the hub serves that the controller can do without.
	Serves Serves
}

// Serves tells which kinds a hub serves that are not needed everywhere.
type Serves struct {
	// Caches are ModelCaches.
	Caches bool
	// Traffic are ModelServices and HTTPRoutes.
	Traffic bool
}

// Reconciler keeps the replicas of ModelDeployments.
type Reconciler struct {
	Options
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads past the cache.
	Live client.Reader
	// Recorder of events.
	Recorder events.EventRecorder
	// Clock of decisions.
	Clock clock.PassiveClock

	matcher *placement.Matcher
	pools   poolCache
	gauges  *gauges
	own     ownWrites
	steps   *stepLog
	limiter *limiter
	// noted remembers by UID what of a deployment was reported that is worth one event: that somebody else's composition
	// makes its replicas, or an annotation or policy that cannot be read.
	noted sync.Map
	// requested remembers by UID what a ModelService was last asked.
	requested sync.Map
	// unrouted remembers since when no route has named which backend.
	unrouted unrouted
}

var _ reconcile.Reconciler = &Reconciler{}

// Reconcile brings one deployment a step further. A write refused for a stale read is no error: the next look decides
// anew.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	d := &modelplane.ModelDeployment{}
	if err := r.Client.Get(ctx, request.NamespacedName, d, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if d.DeletionTimestamp != nil {
		// All that belongs to it has it as owner: garbage collection finishes.
		r.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	result, err := r.reconcile(ctx, d)
	if errors.Is(err, errStale) {
		log.FromContext(ctx).V(1).Info("Deciding again", "reason", err.Error())
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, d *modelplane.ModelDeployment) (ctrl.Result, error) {
	if !r.acts(d) {
		r.forget(client.ObjectKeyFromObject(d))
		return ctrl.Result{}, r.handOff(ctx, d)
	}
	observation, err := r.observeOwn(ctx, d)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observe: %w", err)
	}
	if !r.own.shown(observation) {
		return ctrl.Result{RequeueAfter: catchUpRetry}, nil
	}
	if err := r.observeSurroundings(ctx, observation); err != nil {
		return ctrl.Result{}, fmt.Errorf("observe: %w", err)
	}
	if err := r.limiter.seed(ctx, r.Client); err != nil {
		return ctrl.Result{}, err
	}
	result := r.limiter.decide(client.ObjectKeyFromObject(d), observation)
	begun := r.steps.observe(log.FromContext(ctx).WithName("audit"), client.ObjectKeyFromObject(d), result.Steps, observation.Now)
	r.gauges.set(client.ObjectKeyFromObject(d), &result)
	if err := r.apply(ctx, d, result.Actions); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.setDeploymentStatus(ctx, d, result.Status); err != nil {
		return ctrl.Result{}, err
	}
	r.emit(d, result.Events)
	r.emitSteps(d, begun)
	return ctrl.Result{RequeueAfter: result.RequeueAfter}, nil
}

func (r *Reconciler) forget(key types.NamespacedName) {
	r.gauges.forget(key)
	r.own.forget(key)
	r.steps.forget(key)
	r.limiter.forget(key)
	r.unrouted.forget(key)
}
