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

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=inferenceservices,scope=Namespaced,shortName=isvc
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// InferenceService is a model that OME serves. Only the fields that routing reads are
// typed; the CRD keeps all others as they come.
type InferenceService struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec InferenceServiceSpec `json:"spec,omitempty"`
	// +optional
	Status InferenceServiceStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// InferenceServiceList is a list of InferenceServices.
type InferenceServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []InferenceService `json:"items"`
}

// InferenceServiceSpec is the part of a service's spec that routing reads.
// +kubebuilder:pruning:PreserveUnknownFields
type InferenceServiceSpec struct {
	// Where the service may run. Without it, and without the older annotations, the
	// service stays on one cluster and is not routed.
	// +optional
	Placement *PlacementSpec `json:"placement,omitempty"`

	// How its traffic is shared.
	// +optional
	Routing *RoutingSpec `json:"routing,omitempty"`
}

// InferenceServiceStatus is the part of a service's status that routing reads.
// +kubebuilder:pruning:PreserveUnknownFields
type InferenceServiceStatus struct {
	// +optional
	URL string `json:"url,omitempty"`

	// +optional
	Placement *PlacementStatus `json:"placement,omitempty"`

	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []InferenceServiceCondition `json:"conditions,omitempty"`
}

// InferenceServiceCondition is a condition in the form that OME writes, which leaves
// reason, message and time open.
// +kubebuilder:pruning:PreserveUnknownFields
type InferenceServiceCondition struct {
	// +required
	Type string `json:"type"`
	// +required
	Status metav1.ConditionStatus `json:"status"`
	// +optional
	Reason string `json:"reason,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}
