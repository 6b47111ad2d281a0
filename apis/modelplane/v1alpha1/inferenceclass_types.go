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

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeviceTemplate is one kind of device that an InferenceClass gives each node.
// +kubebuilder:validation:XValidation:rule="!(!has(self.claim) || self.claim == 'DRA') || (has(self.deviceClassName) && self.deviceClassName != \"\")",message="deviceClassName is required when claim is DRA"
type DeviceTemplate struct {
	// Name of the device.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Claim tells whether the device is claimed.
	// +kubebuilder:default=DRA
	// +optional
	Claim DeviceClaim `json:"claim,omitempty"`
	// Driver of the device.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Driver string `json:"driver"`
	// DeviceClassName to claim the device with.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	DeviceClassName string `json:"deviceClassName,omitempty"`
	// Count of such devices on each node.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +optional
	Count *int64 `json:"count,omitempty"`
	// Attributes by name.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Attributes map[string]DeviceAttribute `json:"attributes,omitempty"`
	// Capacity by name.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Capacity map[string]DeviceCapacity `json:"capacity,omitempty"`
}

// ClassProvisioning says how a cloud makes nodes of the class.
// +kubebuilder:pruning:PreserveUnknownFields
type ClassProvisioning struct {
	// Provider of the nodes.
	// +optional
	Provider string `json:"provider,omitempty"`
}

// InferenceClassSpec describes the nodes of a class.
type InferenceClassSpec struct {
	// Devices of each node.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Devices []DeviceTemplate `json:"devices"`
	// Provisioning says how a cloud makes such nodes.
	// +optional
	Provisioning *ClassProvisioning `json:"provisioning,omitempty"`
}

// InferenceClassStatus is what is known of a class.
type InferenceClassStatus struct {
	// Conditions of the class.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// InferenceClass is a kind of node: which devices it has.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=icl,categories=crossplane;modelplane
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type InferenceClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              InferenceClassSpec   `json:"spec"`
	Status            InferenceClassStatus `json:"status,omitempty"`
}

// InferenceClassList is a list of InferenceClasses.
// +kubebuilder:object:root=true
type InferenceClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []InferenceClass `json:"items"`
}
