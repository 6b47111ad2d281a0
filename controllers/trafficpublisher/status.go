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
	// publisherName is OME's name of this publisher.
	publisherName = "gatewayapi"
	// fieldManager is that of OME's publisher: see the routing controller's.
	fieldManager = "ome-trafficmap-publisher"
)

// report is the publisher's part of a map's status.
type report struct {
	Published                    bool                           `json:"published"`
	GatewayRef                   *ome.TrafficMapGatewayRef      `json:"gatewayRef,omitempty"`
	ObservedTrafficMapGeneration int64                          `json:"observedTrafficMapGeneration,omitempty"`
	Publisher                    *ome.TrafficMapPublisherStatus `json:"publisher,omitempty"`
	Conditions                   []metav1.Condition             `json:"conditions"`
}

func reportOf(tm *ome.TrafficMap) report {
	r := report{
		Published:                    tm.Status.Published,
		GatewayRef:                   tm.Status.GatewayRef,
		ObservedTrafficMapGeneration: tm.Status.ObservedTrafficMapGeneration,
		Publisher:                    tm.Status.Publisher,
	}
	for _, kind := range []string{ome.TrafficMapPublished, ome.TrafficMapPublicationFallback} {
		if c := meta.FindStatusCondition(tm.Status.Conditions, kind); c != nil {
			r.Conditions = append(r.Conditions, *c)
		}
	}
	return r
}

// write makes the publisher's part of the status say how far the publication is, and what
// change makes of the rest. Unless it says otherwise, gatewayRef and journal stay: a failure
// leaves what was published before in place. The map takes over what was written.
func (r *Reconciler) write(ctx context.Context, tm *ome.TrafficMap, publication weights.Publication, change func(*report)) error {
	before := reportOf(tm)
	after := before
	after.Published = publication == weights.Published
	if change != nil {
		change(&after)
	}
	conditions := append([]metav1.Condition{}, before.Conditions...)
	for _, c := range publication.Conditions(publisherName, tm.Generation) {
		c.LastTransitionTime = metav1.NewTime(r.Clock.Now())
		meta.SetStatusCondition(&conditions, c)
	}
	after.Conditions = conditions
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&after)
	if err != nil {
		return err
	}
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
	if err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(fieldManager), client.ForceOwnership); err != nil {
		return err
	}
	tm.ResourceVersion = u.GetResourceVersion()
	tm.Status.Published, tm.Status.GatewayRef = after.Published, after.GatewayRef
	tm.Status.ObservedTrafficMapGeneration, tm.Status.Publisher = after.ObservedTrafficMapGeneration, after.Publisher
	for _, c := range after.Conditions {
		meta.SetStatusCondition(&tm.Status.Conditions, c)
	}
	return nil
}
