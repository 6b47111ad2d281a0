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
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
	weights "github.com/evenkeel-io/evenkeel/internal/trafficmap"
)

// serviceChanged lets through what a map depends on. Annotations do not count in a
// service's generation, so the drains are compared as they stand, and an empty annotation
// differs from none.
func serviceChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, new := e.ObjectOld.(*ome.InferenceService), e.ObjectNew.(*ome.InferenceService)
		return old.UID != new.UID ||
			old.Generation != new.Generation ||
			old.DeletionTimestamp.IsZero() != new.DeletionTimestamp.IsZero() ||
			trafficdrain.ValueOf(old.Annotations) != trafficdrain.ValueOf(new.Annotations) ||
			routed(old) != routed(new) ||
			!equality.Semantic.DeepEqual(old.Status.Placement, new.Status.Placement)
	}}
}

// mapChanged lets through what this controller would put right, and not what the publisher
// reports.
func mapChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, new := e.ObjectOld.(*ome.TrafficMap), e.ObjectNew.(*ome.TrafficMap)
		return old.UID != new.UID ||
			old.Generation != new.Generation ||
			old.DeletionTimestamp.IsZero() != new.DeletionTimestamp.IsZero() ||
			!equality.Semantic.DeepEqual(old.OwnerReferences, new.OwnerReferences) ||
			old.Status.SourceUID != new.Status.SourceUID ||
			!equality.Semantic.DeepEqual(ownConditions(old), ownConditions(new))
	}}
}

// ownConditions are those of a map that this controller writes.
func ownConditions(tm *ome.TrafficMap) []metav1.Condition {
	var own []metav1.Condition
	for _, kind := range []string{ome.TrafficMapRoutable, ome.TrafficMapCapacityFallback, ome.TrafficMapOverrideActive, conditionInputValid} {
		if c := meta.FindStatusCondition(tm.Status.Conditions, kind); c != nil {
			own = append(own, *c)
		}
	}
	return own
}

// routed tells whether a service has traffic to share and wants that. A copy that placement
// made for a workload cluster never does: its source has the map.
func routed(isvc *ome.InferenceService) bool {
	return isvc.DeletionTimestamp == nil && weights.Eligible(isvc) && !weights.OptedOut(isvc) &&
		!trafficdrain.IsDerivedCopy(isvc.Labels, isvc.Annotations)
}
