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

package trafficpublisher

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/text"
	weights "github.com/evenkeel-io/evenkeel/internal/trafficmap"
)

// finalizer keeps a map until what was published for it is gone.
const finalizer = "ome.io/trafficmap-publisher"

// reasonFailed is the event on a TrafficMap that could not be published, with the cause that the condition Published leaves out.
const reasonFailed = "PublicationFailed"

// staleRetry is how long the cache gets to catch up.
const staleRetry = 50 * time.Millisecond

// Options configure the publisher.
type Options struct {
	// Gateway to publish to; nil withdraws what was published before.
	Gateway *Gateway
	// ServesRoutes tells whether the hub serves HTTPRoutes.
	ServesRoutes bool
	// ResyncInterval is how often a published map is compared with what is there.
	ResyncInterval time.Duration
	// MaxConcurrentReconciles is how many maps are published at once.
	MaxConcurrentReconciles int
}

// Reconciler publishes TrafficMaps.
type Reconciler struct {
	Options
	// Client reads maps, services and routes from the cache and writes.
	Client client.Client
	// Live reads past the cache.
	Live client.Reader
	// Backends reads Services that have the publisher's label from a cache.
	Backends client.Reader
	// Recorder of events.
	Recorder events.EventRecorder
	// Clock of conditions.
	Clock clock.PassiveClock

	claims claims
}

var _ reconcile.Reconciler = &Reconciler{}

// failure is a publication that does not succeed before something changes.
type failure struct {
	publication weights.Publication
	cause       error
}

func (f *failure) Error() string { return f.cause.Error() }

// Reconcile publishes one map, or takes back what was published for it.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cached := &ome.TrafficMap{}
	if err := r.Client.Get(ctx, request.NamespacedName, cached); err != nil {
		if apierrors.IsNotFound(err) {
			r.claims.keep(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	tm := cached.DeepCopy()
	result, err := r.reconcile(ctx, tm)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		log.FromContext(ctx).V(1).Info("The cache was behind; looking again", "reason", err.Error())
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	if err == nil {
		return result, nil
	}
	return r.fail(ctx, tm, err)
}

// fail says what is wrong: in general on the map, in particular in the log and an event. A
// failure that only a change can mend waits for one; anything else is tried again.
func (r *Reconciler) fail(ctx context.Context, tm *ome.TrafficMap, err error) (ctrl.Result, error) {
	message := "TrafficMap publisher reconciliation failed"
	if tm.DeletionTimestamp != nil {
		message = "TrafficMap publisher finalization failed"
	}
	var f *failure
	terminal := errors.As(err, &f)
	publication := weights.ApplyFailed
	if terminal {
		publication = f.publication
	} else if tm.DeletionTimestamp != nil {
		publication = weights.Finalizing
	}
	// A map that is behind its service is nothing unusual: it catches up, or says itself why not.
	behind := publication == weights.InvalidOwner
	if !behind {
		r.Recorder.Eventf(tm, nil, corev1.EventTypeWarning, reasonFailed, "Publish", "%s", bounded(err.Error()))
	}
	if writeErr := r.write(ctx, tm, publication, nil); writeErr != nil && !apierrors.IsConflict(writeErr) {
		return ctrl.Result{}, errors.Join(err, writeErr)
	}
	if behind {
		log.FromContext(ctx).V(1).Info("The map is not published", "reason", err.Error())
		return ctrl.Result{RequeueAfter: r.ResyncInterval}, nil
	}
	if terminal {
		log.FromContext(ctx).Error(err, message)
		return ctrl.Result{RequeueAfter: r.ResyncInterval}, nil
	}
	return ctrl.Result{}, fmt.Errorf("%s: %w", message, err)
}

const maxMessage = 1000

func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return text.Prefix(message, maxMessage-3) + "..."
}

func (r *Reconciler) reconcile(ctx context.Context, tm *ome.TrafficMap) (ctrl.Result, error) {
	if tm.DeletionTimestamp != nil {
		return r.finalize(ctx, tm)
	}
	if !computed(tm) {
		return ctrl.Result{}, nil // just made or just changed; the status that follows is an event
	}
	isvc, err := r.owner(ctx, tm)
	if err != nil {
		return ctrl.Result{}, err
	}
	if isvc.DeletionTimestamp != nil || weights.OptedOut(isvc) {
		// The map goes next, and what was published with it.
		return ctrl.Result{}, r.write(ctx, tm, weights.Unpublishing, nil)
	}
	if isvc.Spec.Routing != nil && isvc.Spec.Routing.Publisher != nil && len(isvc.Spec.Routing.Publisher.Options) > 0 {
		return ctrl.Result{}, &failure{weights.InvalidOptions, fmt.Errorf("publisher %q accepts no options, spec.routing.publisher.options has %d. Remove them",
			publisherName, len(isvc.Spec.Routing.Publisher.Options))}
	}
	p, err := r.plan(tm, isvc)
	if err != nil {
		return ctrl.Result{}, &failure{weights.InvalidPlan, err}
	}
	if p == nil {
		return r.withdraw(ctx, tm)
	}
	return r.publish(ctx, tm, p)
}

// computed tells whether the routing controller is done with a map as it is now. Until then a write would only be in its
// way, and an entry may be somebody's edit that it is about to put right.
func computed(tm *ome.TrafficMap) bool {
	c := meta.FindStatusCondition(tm.Status.Conditions, ome.TrafficMapRoutable)
	return c != nil && c.ObservedGeneration == tm.Generation
}

// plan is nil where there is nothing to publish to.
func (r *Reconciler) plan(tm *ome.TrafficMap, isvc *ome.InferenceService) (*plan, error) {
	if r.Gateway == nil {
		return nil, nil
	}
	host, err := r.Gateway.hostOf(isvc)
	if err != nil || host == "" {
		return nil, err
	}
	return r.Gateway.newPlan(tm, host)
}

// owner is the service that a map was computed from. A map that is not up to date with it is
// not published: what it says may no longer be meant.
func (r *Reconciler) owner(ctx context.Context, tm *ome.TrafficMap) (*ome.InferenceService, error) {
	isvc := &ome.InferenceService{}
	key := client.ObjectKeyFromObject(tm)
	if err := r.Client.Get(ctx, key, isvc); client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if stale(tm, isvc) == nil {
		return isvc, nil
	}
	if err := r.Live.Get(ctx, key, isvc); client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err := stale(tm, isvc); err != nil {
		return nil, &failure{weights.InvalidOwner, err}
	}
	return isvc, nil
}

func stale(tm *ome.TrafficMap, isvc *ome.InferenceService) error {
	switch {
	case isvc.UID == "":
		return errors.New("there is no InferenceService of the map's name")
	case !metav1.IsControlledBy(tm, isvc):
		return errors.New("the map does not belong to the InferenceService of its name")
	case tm.Status.SourceUID != isvc.UID:
		return fmt.Errorf("status.sourceUID is %q, the InferenceService has UID %q", tm.Status.SourceUID, isvc.UID)
	case tm.Spec.ObservedISVCGeneration != isvc.Generation:
		return fmt.Errorf("the map was computed from generation %d of the InferenceService, which has generation %d", tm.Spec.ObservedISVCGeneration, isvc.Generation)
	}
	return nil
}

// hold adds the finalizer.
func (r *Reconciler) hold(ctx context.Context, tm *ome.TrafficMap) error {
	return r.patchFinalizers(ctx, tm, controllerutil.AddFinalizer)
}

// release takes the finalizer away.
func (r *Reconciler) release(ctx context.Context, tm *ome.TrafficMap) error {
	return r.patchFinalizers(ctx, tm, controllerutil.RemoveFinalizer)
}

func (r *Reconciler) patchFinalizers(ctx context.Context, tm *ome.TrafficMap, change func(client.Object, string) bool) error {
	changed := &ome.TrafficMap{ObjectMeta: *tm.ObjectMeta.DeepCopy()}
	if !change(changed, finalizer) {
		return nil
	}
	base := &ome.TrafficMap{ObjectMeta: *tm.ObjectMeta.DeepCopy()}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, changed, patch, client.FieldOwner(fieldManager)); err != nil {
		return err
	}
	tm.Finalizers, tm.ResourceVersion = changed.Finalizers, changed.ResourceVersion
	return nil
}
