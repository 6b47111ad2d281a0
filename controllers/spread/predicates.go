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
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// settledPredicate lets the serving path's Deployments pass.
func settledPredicate(catalogue *servingpath.Catalogue) builder.Predicates {
	return builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool {
		d, ok := o.(*appsv1.Deployment)
		return ok && catalogue.ForDeployment(d) != nil
	}))
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
