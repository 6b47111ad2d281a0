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

package spread

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// batched asks for one look at the cluster some time after any event.
func batched() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc:  func(_ context.Context, _ event.CreateEvent, q queue) { q.AddAfter(cluster, batch) },
		UpdateFunc:  func(_ context.Context, _ event.UpdateEvent, q queue) { q.AddAfter(cluster, batch) },
		DeleteFunc:  func(_ context.Context, _ event.DeleteEvent, q queue) { q.AddAfter(cluster, batch) },
		GenericFunc: func(_ context.Context, _ event.GenericEvent, q queue) { q.AddAfter(cluster, batch) },
	}
}

// nodePredicate lets pass what could make a node take pods: not the heartbeats.
func nodePredicate() builder.Predicates {
	return builder.WithPredicates(predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*corev1.Node)
			after, ok2 := e.ObjectNew.(*corev1.Node)
			return !ok || !ok2 ||
				before.Spec.Unschedulable != after.Spec.Unschedulable ||
				servingpath.NodeReady(before) != servingpath.NodeReady(after) ||
				!apiequality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) ||
				!apiequality.Semantic.DeepEqual(before.Labels, after.Labels) ||
				!apiequality.Semantic.DeepEqual(before.Status.Allocatable, after.Status.Allocatable)
		},
	})
}
