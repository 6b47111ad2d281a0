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
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// clusterReconciler publishes the status of clusters of source Existing. The other
// sources are clouds, for which nothing stands in.
type clusterReconciler struct {
	client   client.Client
	gateways *clusterGateways
	counts   *counter
}

func (r *clusterReconciler) setUp(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		Named("stand-in-cluster").
		For(&modelplane.InferenceCluster{}).
		Watches(&modelplane.InferenceClass{}, handler.EnqueueRequestsFromMapFunc(r.clustersOfClass)).
		Complete(r)
}

// clustersOfClass lists the clusters with a pool of a class.
func (r *clusterReconciler) clustersOfClass(ctx context.Context, class client.Object) []reconcile.Request {
	clusters := &modelplane.InferenceClusterList{}
	if err := r.client.List(ctx, clusters); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List InferenceClusters")
		return nil
	}
	var requests []reconcile.Request
	for i := range clusters.Items {
		for j := range clusters.Items[i].Spec.NodePools {
			if clusters.Items[i].Spec.NodePools[j].ClassName == class.GetName() {
				requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: clusters.Items[i].Name}})
				break
			}
		}
	}
	return requests
}

// Reconcile writes the status of one cluster if it differs from what it should be.
func (r *clusterReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	cluster := &modelplane.InferenceCluster{}
	if err := r.client.Get(ctx, request.NamespacedName, cluster); err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, r.gateways.closeOf(request.Name)
		}
		return reconcile.Result{}, err
	}
	if cluster.Spec.Cluster.Source != modelplane.ClusterSourceExisting || !cluster.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	address, err := r.gateways.addressOf(cluster.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	classes, err := r.classes(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	old := cluster.DeepCopy()
	publishStatus(cluster, address, classes)
	if equality.Semantic.DeepEqual(old.Status, cluster.Status) {
		return reconcile.Result{}, nil
	}
	if err := r.client.Status().Patch(ctx, cluster, lockedPatch(old)); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	r.counts.add(func(c *Counters) { c.ClustersPublished++ })
	ctrl.LoggerFrom(ctx).Info("Published the cluster", "gateway", address, "pools", len(cluster.Status.GPUPools))
	return reconcile.Result{}, nil
}

// classes returns the devices of every InferenceClass.
func (r *clusterReconciler) classes(ctx context.Context) (map[string][]modelplane.DeviceTemplate, error) {
	list := &modelplane.InferenceClassList{}
	if err := r.client.List(ctx, list); err != nil {
		return nil, err
	}
	classes := make(map[string][]modelplane.DeviceTemplate, len(list.Items))
	for i := range list.Items {
		classes[list.Items[i].Name] = list.Items[i].Spec.Devices
	}
	return classes, nil
}

// publishStatus sets what Modelplane publishes of a cluster, and leaves conditions
// of other types alone.
func publishStatus(cluster *modelplane.InferenceCluster, address string, classes map[string][]modelplane.DeviceTemplate) {
	pools, missing := placement.PublishedPools(cluster.Spec.NodePools, classes)
	status := &cluster.Status
	status.GPUPools = pools
	status.Gateway = &modelplane.Gateway{Address: address}
	status.Cache = nil
	if existing := cluster.Spec.Cluster.Existing; existing != nil && existing.Cache != nil {
		status.Cache = &modelplane.ClusterCacheStatus{StorageClassName: existing.Cache.StorageClassName}
	}
	running := condition(conditionClusterReady, true, reasonClusterRunning, "")
	if len(missing) > 0 {
		running = condition(conditionClusterReady, false, reasonWaitingForClasses,
			fmt.Sprintf("Waiting for InferenceClasses: %s", strings.Join(missing, ", ")))
	}
	setConditions(&status.Conditions, cluster.Generation,
		running,
		condition(conditionBackendReady, true, reasonBackendHealthy, ""),
		readyCondition(len(missing) == 0))
}

// lockedPatch is a merge patch from old that the API server refuses if the object is
// not any more, or not at all, the one that was read: lists of conditions are
// replaced as a whole, and names of replicas are used again.
func lockedPatch(old client.Object) client.Patch {
	return client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})
}
