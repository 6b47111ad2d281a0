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

package standin

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// indexCluster finds replicas by the cluster they are on.
const indexCluster = "spec.clusterName"

// replicaReconciler takes replicas through loading and serving, and holds deleted
// ones.
type replicaReconciler struct {
	client             client.Client
	loadTime, holdTime time.Duration
	loading, holding   *stopwatch
	requests           *inflight
	counts             *counter
}

func newReplicaReconciler(c client.Client, options Options, requests *inflight, counts *counter) *replicaReconciler {
	return &replicaReconciler{
		requests: requests,
		client:   c,
		loadTime: options.LoadTime,
		holdTime: options.HoldTime,
		loading:  newStopwatch(),
		holding:  newStopwatch(),
		counts:   counts,
	}
}

func (r *replicaReconciler) setUp(m ctrl.Manager) error {
	// An index needs no context: it is registered before the manager starts.
	err := m.GetFieldIndexer().IndexField(context.Background(), &modelplane.ModelReplica{}, indexCluster,
		func(object client.Object) []string {
			return []string{object.(*modelplane.ModelReplica).Spec.ClusterName}
		})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(m).
		Named("stand-in-replica").
		For(&modelplane.ModelReplica{}).
		Watches(&modelplane.InferenceCluster{}, handler.EnqueueRequestsFromMapFunc(r.replicasOn),
			// A cluster's coming, going and AnnotationFail matter to its replicas.
			builder.WithPredicates(predicate.AnnotationChangedPredicate{})).
		Complete(r)
}

// replicasOn lists the replicas on a cluster.
func (r *replicaReconciler) replicasOn(ctx context.Context, cluster client.Object) []reconcile.Request {
	replicas := &modelplane.ModelReplicaList{}
	if err := r.client.List(ctx, replicas, client.MatchingFields{indexCluster: cluster.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List ModelReplicas", "cluster", cluster.GetName())
		return nil
	}
	requests := make([]reconcile.Request, 0, len(replicas.Items))
	for i := range replicas.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&replicas.Items[i])})
	}
	return requests
}

// Reconcile takes one replica to its next phase.
func (r *replicaReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	replica := &modelplane.ModelReplica{}
	if err := r.client.Get(ctx, request.NamespacedName, replica); err != nil {
		if apierrors.IsNotFound(err) {
			r.loading.forget(request.NamespacedName)
			r.holding.forget(request.NamespacedName)
			r.cutOff(request.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !replica.DeletionTimestamp.IsZero() {
		r.loading.forget(request.NamespacedName)
		r.cutOff(request.NamespacedName)
		return r.hold(ctx, replica)
	}
	if err := r.claim(ctx, replica); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return r.advance(ctx, replica)
}

// cutOff fails the requests in flight on a replica that is deleted: nothing waits for
// them.
func (r *replicaReconciler) cutOff(replica types.NamespacedName) {
	if n := r.requests.cutOff(replica); n > 0 {
		r.counts.add(func(c *Counters) { c.RequestsCutOff += n })
	}
}

// claim puts the finalizer on a replica that is to be held when it is deleted.
func (r *replicaReconciler) claim(ctx context.Context, replica *modelplane.ModelReplica) error {
	if r.holdTime == 0 {
		return nil
	}
	old := replica.DeepCopy()
	if !controllerutil.AddFinalizer(replica, Finalizer) {
		return nil
	}
	return r.client.Patch(ctx, replica, lockedPatch(old))
}

// hold lets a deleted replica go once it was held for long enough.
func (r *replicaReconciler) hold(ctx context.Context, replica *modelplane.ModelReplica) (reconcile.Result, error) {
	old := replica.DeepCopy()
	if !controllerutil.RemoveFinalizer(replica, Finalizer) {
		return reconcile.Result{}, nil
	}
	key := client.ObjectKeyFromObject(replica)
	if left := r.holdTime - r.holding.elapsed(key, replica.UID, time.Now()); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	if err := r.client.Patch(ctx, replica, lockedPatch(old)); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	r.counts.add(func(c *Counters) { c.ReplicasReleased++ })
	ctrl.LoggerFrom(ctx).Info("Let the deleted replica go", "cluster", replica.Spec.ClusterName)
	return reconcile.Result{}, nil
}

// advance writes the conditions of the phase that a replica is in.
func (r *replicaReconciler) advance(ctx context.Context, replica *modelplane.ModelReplica) (reconcile.Result, error) {
	o := observation{replica: replica, loadTime: r.loadTime}
	var err error
	if o.cluster, err = r.clusterOf(ctx, replica); err != nil {
		return reconcile.Result{}, err
	}
	key := client.ObjectKeyFromObject(replica)
	if _, fails := failure(replica, o.cluster); fails || o.cluster == nil {
		r.loading.forget(key)
	} else if r.loadTime > 0 {
		o.loadingFor = r.loading.elapsed(key, replica.UID, time.Now())
	}
	p, message, again := decide(o)
	return reconcile.Result{RequeueAfter: again}, r.write(ctx, replica, p, message)
}

// clusterOf returns nil if the replica's cluster is not there.
func (r *replicaReconciler) clusterOf(ctx context.Context, replica *modelplane.ModelReplica) (*modelplane.InferenceCluster, error) {
	cluster := &modelplane.InferenceCluster{}
	err := r.client.Get(ctx, types.NamespacedName{Name: replica.Spec.ClusterName}, cluster)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return cluster, nil
}

func (r *replicaReconciler) write(ctx context.Context, replica *modelplane.ModelReplica, p phase, message string) error {
	old := replica.DeepCopy()
	setConditions(&replica.Status.Conditions, replica.Generation, conditionsOf(p, message)...)
	if equality.Semantic.DeepEqual(old.Status, replica.Status) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, replica, lockedPatch(old)); err != nil {
		return client.IgnoreNotFound(err)
	}
	switch {
	case p == phaseServing && !isServing(old):
		r.counts.add(func(c *Counters) { c.ReplicasLoaded++ })
		ctrl.LoggerFrom(ctx).Info("The replica serves", "cluster", replica.Spec.ClusterName)
	case p == phaseFailing:
		r.counts.add(func(c *Counters) { c.ReplicasFailed++ })
		ctrl.LoggerFrom(ctx).Info("The replica fails on purpose", "cluster", replica.Spec.ClusterName)
	}
	return nil
}
