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

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/drain"
)

// Name of the controller.
const Name = "inferencecluster"

// indexDrain finds replicas and placements by the cluster that they are on.
const indexDrain = "drain.cluster"

// maxConcurrentReconciles is how many clusters are looked at at once: few are drained at a time.
const maxConcurrentReconciles = 2

// Setup registers the controller with a manager whose hub serves InferenceClusters, ModelReplicas, ModelDeployments and
// ReplicaPlacements.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	r := &Reconciler{
		Options:  options,
		Client:   mgr.GetClient(),
		Recorder: mgr.GetEventRecorder(FieldManager),
		Clock:    clock.RealClock{},
		drains:   map[types.NamespacedName]*state{},
	}
	var err error
	if r.gauges, err = newGauges(); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	for object, extract := range map[client.Object]client.IndexerFunc{
		&modelplane.ModelReplica{}:   replicaCluster,
		&evenkeel.ReplicaPlacement{}: placementCluster,
	} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, object, indexDrain, extract); err != nil {
			return fmt.Errorf("index %T by cluster: %w", object, err)
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&modelplane.InferenceCluster{}).
		Watches(&modelplane.ModelReplica{}, r.byDrain(replicaCluster)).
		Watches(&evenkeel.ReplicaPlacement{}, r.byDrain(placementCluster)).
		WithOptions(controller.Options{MaxConcurrentReconciles: maxConcurrentReconciles}).
		Complete(r)
}

func replicaCluster(o client.Object) []string {
	return []string{o.(*modelplane.ModelReplica).Spec.ClusterName}
}

// placementCluster leaves out finished placements: no replica stands for them.
func placementCluster(o client.Object) []string {
	p := o.(*evenkeel.ReplicaPlacement)
	if p.Status.Assignment == nil || meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionMoved) {
		return nil
	}
	return []string{p.Status.Assignment.ClusterName}
}

// byDrain maps an object to its cluster, if that is being drained: a fleet has many clusters whose replicas change all
// the time, and nothing to tell of them.
func (r *Reconciler) byDrain(clusters client.IndexerFunc) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		var requests []reconcile.Request
		for _, name := range clusters(o) {
			key := types.NamespacedName{Name: name}
			cluster := &modelplane.InferenceCluster{}
			// One that cannot be read is looked at: Reconcile reports why.
			if err := r.Client.Get(ctx, key, cluster, client.UnsafeDisableDeepCopy); err != nil || drain.Draining(cluster) {
				requests = append(requests, reconcile.Request{NamespacedName: key})
			}
		}
		return requests
	})
}
