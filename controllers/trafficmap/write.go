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

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	weights "github.com/evenkeel-io/evenkeel/internal/trafficmap"
)

const (
	// routingManager is the field manager of OME's routing controller. The same name makes a
	// map change hands without two owners of its fields.
	routingManager = "ome-trafficmap-routing"
	// inputManager owns the one condition that OME does not have.
	inputManager = "evenkeel-trafficmap"
)

func (r *Reconciler) create(ctx context.Context, isvc *ome.InferenceService, table weights.Table) error {
	tm := &ome.TrafficMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       isvc.Namespace,
			Name:            isvc.Name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(isvc, ome.GroupVersion.WithKind("InferenceService"))},
		},
		Spec: table.Spec(isvc),
	}
	if err := r.Client.Create(ctx, tm, client.FieldOwner(routingManager)); err != nil {
		return err
	}
	r.tell(isvc, nil, table)
	return r.writeStatus(ctx, isvc, tm, table)
}

func (r *Reconciler) update(ctx context.Context, isvc *ome.InferenceService, tm *ome.TrafficMap, table weights.Table) error {
	wanted := table.Spec(isvc)
	if !equality.Semantic.DeepEqual(tm.Spec, wanted) {
		changed := tm.DeepCopy()
		changed.Spec = wanted
		// On the resourceVersion that was read, so that nothing newer is overwritten unseen.
		if err := r.Client.Update(ctx, changed, client.FieldOwner(routingManager)); err != nil {
			return err
		}
		r.tell(isvc, tm, table)
		tm = changed
	}
	return r.writeStatus(ctx, isvc, tm, table)
}

// writeStatus writes the routing controller's part of a map's status, if it is not there yet.
func (r *Reconciler) writeStatus(ctx context.Context, isvc *ome.InferenceService, tm *ome.TrafficMap, table weights.Table) error {
	conditions := append([]metav1.Condition{}, tm.Status.Conditions...)
	changed := tm.Status.SourceUID != isvc.UID
	var own []metav1.Condition
	for _, c := range table.Conditions(tm.Generation) {
		changed = r.setCondition(&conditions, c) || changed
		own = append(own, *meta.FindStatusCondition(conditions, c.Type))
	}
	if changed {
		if err := r.applyStatus(ctx, tm, routingManager, map[string]any{"sourceUID": string(isvc.UID)}, own); err != nil {
			return err
		}
	}
	return r.thaw(ctx, tm)
}

func (r *Reconciler) setCondition(conditions *[]metav1.Condition, c metav1.Condition) bool {
	c.LastTransitionTime = metav1.NewTime(r.Clock.Now())
	return meta.SetStatusCondition(conditions, c)
}

// applyStatus makes a manager's part of a map's status exactly this, on exactly the map that
// was read, and takes over the new resourceVersion.
func (r *Reconciler) applyStatus(ctx context.Context, tm *ome.TrafficMap, manager string, status map[string]any, conditions []metav1.Condition) error {
	var list []any
	for i := range conditions {
		c, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&conditions[i])
		if err != nil {
			return err
		}
		list = append(list, c)
	}
	status["conditions"] = list
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": ome.GroupVersion.String(),
		"kind":       "TrafficMap",
		"metadata": map[string]any{
			"namespace":       tm.Namespace,
			"name":            tm.Name,
			"uid":             string(tm.UID),
			"resourceVersion": tm.ResourceVersion,
		},
		"status": status,
	}}
	err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager), client.ForceOwnership)
	if err == nil {
		tm.ResourceVersion = u.GetResourceVersion()
	}
	return err
}
