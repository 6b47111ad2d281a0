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

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// wishChanged lets a deployment's event pass if a person could have changed what it wants, or which policies select it;
// its status is our own doing.
func wishChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{}, deletionStarted())
}

func deletionStarted() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetDeletionTimestamp() == nil && e.ObjectNew.GetDeletionTimestamp() != nil
		},
	}
}

// byIndexedName maps an object to the deployments that an index function finds in it.
func byIndexedName(names client.IndexerFunc) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		var requests []reconcile.Request
		for _, name := range names(o) {
			requests = append(requests, request(o.GetNamespace(), name))
		}
		return requests
	})
}

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// clusterChanged lets a cluster's event pass if it could change where replicas may be or how they are reached.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*modelplane.InferenceCluster)
			after, ok2 := e.ObjectNew.(*modelplane.InferenceCluster)
			return !ok || !ok2 ||
				before.UID != after.UID ||
				placement.Ready(before) != placement.Ready(after) ||
				!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
				!equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) ||
				!equality.Semantic.DeepEqual(before.Status.Gateway, after.Status.Gateway) ||
				!equality.Semantic.DeepEqual(before.Status.GPUPools, after.Status.GPUPools)
		},
	}
}

// byCluster maps a cluster to the deployments that have replicas on it, and to those that could use it.
func (r *Reconciler) byCluster(ctx context.Context, o client.Object) []reconcile.Request {
	var requests []reconcile.Request
	placements := &evenkeel.ReplicaPlacementList{}
	if err := r.Client.List(ctx, placements, client.MatchingFields{indexCluster: o.GetName()}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Cannot list the placements of a cluster", "cluster", o.GetName())
	}
	for i := range placements.Items {
		requests = append(requests, request(placements.Items[i].Namespace, placements.Items[i].Spec.DeploymentName))
	}
	return append(requests, r.deploymentsBy(ctx, "", indexShort, isShort)...)
}

// byPolicy maps a policy to all deployments of its namespace: it may have selected them before.
func (r *Reconciler) byPolicy(ctx context.Context, o client.Object) []reconcile.Request {
	list := &modelplane.ModelDeploymentList{}
	if err := r.Client.List(ctx, list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Cannot list the deployments of a namespace", "namespace", o.GetNamespace())
		return nil
	}
	return requestsFor(list)
}

func (r *Reconciler) byModelCache(ctx context.Context, o client.Object) []reconcile.Request {
	return r.deploymentsBy(ctx, o.GetNamespace(), indexModelCache, o.GetName())
}

func (r *Reconciler) byPriorityClass(ctx context.Context, o client.Object) []reconcile.Request {
	return r.deploymentsBy(ctx, "", indexPriorityClass, o.GetName())
}

func (r *Reconciler) deploymentsBy(ctx context.Context, namespace, index, value string) []reconcile.Request {
	list := &modelplane.ModelDeploymentList{}
	if err := r.Client.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{index: value}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Cannot list deployments", "index", index, "value", value)
		return nil
	}
	return requestsFor(list)
}

func requestsFor(list *modelplane.ModelDeploymentList) []reconcile.Request {
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, request(list.Items[i].Namespace, list.Items[i].Name))
	}
	return requests
}
