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

package trafficmap

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/controllers/trafficmap/probe"
	weights "github.com/evenkeel-io/evenkeel/internal/trafficmap"
)

// staleRetry is how long the cache gets to catch up.
const staleRetry = 50 * time.Millisecond

// Reconciler keeps the TrafficMaps of InferenceServices.
type Reconciler struct {
	Options
	// Client reads from the cache and writes.
	Client client.Client
	// Recorder of events.
	Recorder events.EventRecorder
	// Clock of conditions.
	Clock clock.PassiveClock

	prober *probe.Prober
}

var _ reconcile.Reconciler = &Reconciler{}

// Reconcile brings the map of one service up to date. The checks are made in OME's order, so
// that a service which opts out loses its map even while its drains are malformed.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	key := request.NamespacedName
	isvc := &ome.InferenceService{}
	if err := r.Client.Get(ctx, key, isvc); err != nil {
		if apierrors.IsNotFound(err) {
			r.prober.Forget(key) // garbage collection takes the map
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	tm := &ome.TrafficMap{}
	switch err := r.Client.Get(ctx, key, tm); {
	case apierrors.IsNotFound(err):
		tm = nil
	case err != nil:
		return ctrl.Result{}, err
	}
	err := r.reconcile(ctx, isvc, tm)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		log.FromContext(ctx).V(1).Info("The cache was behind; looking again", "reason", err.Error())
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	return ctrl.Result{}, err
}

func (r *Reconciler) reconcile(ctx context.Context, isvc *ome.InferenceService, tm *ome.TrafficMap) error {
	if !routed(isvc) {
		r.prober.Forget(client.ObjectKeyFromObject(isvc))
		return r.remove(ctx, isvc, tm)
	}
	input, err := r.input(isvc, tm)
	if err != nil {
		return r.freeze(ctx, isvc, tm, err)
	}
	if tm == nil {
		return r.create(ctx, isvc, weights.Compute(input))
	}
	if !metav1.IsControlledBy(tm, isvc) {
		return r.notOurs(isvc, tm)
	}
	if tm.DeletionTimestamp != nil {
		return nil // its end is an event, on which a new one is made
	}
	return r.update(ctx, isvc, tm, weights.Compute(input))
}

// input gathers what the map is computed from, and has the endpoints probed.
func (r *Reconciler) input(isvc *ome.InferenceService, tm *ome.TrafficMap) (weights.Input, error) {
	defaults := weights.Defaults{}
	if r.Probe != nil {
		defaults.AllFailed = r.Probe.AllFailed
	}
	input, err := weights.ServiceInput(isvc, nil, defaults)
	if err != nil {
		return input, err
	}
	// A service may ask to be polled for its capacity, but this controller does not poll:
	// its conditions must not say that it has.
	input.Polling = false
	var own *ome.RoutingProbe
	if isvc.Spec.Routing != nil {
		own = isvc.Spec.Routing.Probe
	}
	policy, err := probe.Resolve(r.Probe, own)
	if err != nil {
		return input, err
	}
	r.observe(isvc, tm, policy, input.Homes)
	return input, nil
}

// observe keeps the probes of a service's homes running and puts into the homes what they
// have found out.
func (r *Reconciler) observe(isvc *ome.InferenceService, tm *ome.TrafficMap, policy *probe.Policy, homes []weights.Home) {
	key := client.ObjectKeyFromObject(isvc)
	if policy == nil {
		r.prober.Forget(key)
		return
	}
	digest := policy.Digest()
	targetOf := func(h weights.Home) probe.Target {
		return probe.Target{Owner: isvc.UID, Cluster: h.Cluster, Endpoint: h.Endpoint, Digest: digest}
	}
	var targets []probe.Target
	for _, h := range homes {
		targets = append(targets, targetOf(h))
	}
	r.prober.Watch(key, policy, targets, func(t probe.Target) *ome.TrafficMapProbe { return written(isvc.UID, tm, t) })
	for i, h := range homes {
		t := targetOf(h)
		before := written(isvc.UID, tm, t)
		homes[i].Probe = probe.Settled(policy, before, r.prober.Observed(key, t))
		if homes[i].Probe == nil {
			homes[i].Probe = before
		}
	}
}

// written is what the map says of exactly this target.
func written(owner types.UID, tm *ome.TrafficMap, t probe.Target) *ome.TrafficMapProbe {
	if tm == nil || tm.Status.SourceUID != owner {
		return nil
	}
	for _, e := range tm.Spec.Entries {
		if e.Cluster == t.Cluster && e.Endpoint == t.Endpoint && e.Probe != nil && e.Probe.PolicyDigest == t.Digest {
			return e.Probe
		}
	}
	return nil
}

// notOurs says that another object's map has the service's name.
func (r *Reconciler) notOurs(isvc *ome.InferenceService, tm *ome.TrafficMap) error {
	err := fmt.Errorf("TrafficMap %s/%s exists but is not controlled by InferenceService UID %q", tm.Namespace, tm.Name, isvc.UID)
	r.warn(isvc, reasonNameTaken, err.Error()+". Delete it, or wait until garbage collection has, and the service gets a new one")
	return reconcile.TerminalError(err)
}

// remove deletes the map of a service that is not routed any more. The publisher's finalizer
// keeps it until the gateway has been told.
func (r *Reconciler) remove(ctx context.Context, isvc *ome.InferenceService, tm *ome.TrafficMap) error {
	if tm == nil || tm.DeletionTimestamp != nil || !metav1.IsControlledBy(tm, isvc) {
		return nil
	}
	uid := tm.UID
	return client.IgnoreNotFound(r.Client.Delete(ctx, tm, client.Preconditions{UID: &uid}))
}
