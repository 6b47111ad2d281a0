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

// ModelEndpointSpec is where a replica is reached.
type ModelEndpointSpec struct {
	// URL of the replica's API.
	// +kubebuilder:validation:MinLength=1
	URL string `json:"url"`
	// RewritePath that requests are sent to behind the gateway.
	// +optional
	RewritePath string `json:"rewritePath,omitempty"`
}

// EndpointRouting tells how a gateway reaches an endpoint.
type EndpointRouting struct {
	// BackendName of the backend that routes name.
	// +optional
	BackendName string `json:"backendName,omitempty"`
}

// ModelEndpointStatus is how it stands.
type ModelEndpointStatus struct {
	// Conditions of the endpoint.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Routing tells how a gateway reaches it.
	// +optional
	Routing *EndpointRouting `json:"routing,omitempty"`
}

// ModelEndpoint is where one ready replica is reached.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=me,categories=crossplane;modelplane
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ModelEndpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ModelEndpointSpec   `json:"spec"`
	Status            ModelEndpointStatus `json:"status,omitempty"`
}

// ModelEndpointList is a list of ModelEndpoints.
// +kubebuilder:object:root=true
type ModelEndpointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ModelEndpoint `json:"items"`
}

// EndpointGroup is a share of a service's traffic and the endpoints that get it.
type EndpointGroup struct {
	// Weight of the group.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	Weight *int32 `json:"weight,omitempty"`
	// Selector of the endpoints, in every namespace.
	Selector LabelSelector `json:"selector"`
}

// ModelServiceSpec divides traffic over endpoints.
type ModelServiceSpec struct {
	// Endpoints by group; an endpoint that two groups select belongs to the first.
	// +kubebuilder:validation:MinItems=1
	// +listType=atomic
	Endpoints []EndpointGroup `json:"endpoints"`
}

// ModelServiceStatus is how it stands.
type ModelServiceStatus struct {
	// Conditions of the service.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Address that clients use.
	// +optional
	Address string `json:"address,omitempty"`
}

// ModelService is one address for a model, whatever replicas serve it.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ms,categories=crossplane;modelplane
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.status.address`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ModelService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ModelServiceSpec   `json:"spec"`
	Status            ModelServiceStatus `json:"status,omitempty"`
}

// ModelServiceList is a list of ModelServices.
// +kubebuilder:object:root=true
type ModelServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ModelService `json:"items"`
}

// ModelCacheSpec is the part of a cache that placement reads.
// +kubebuilder:pruning:PreserveUnknownFields
type ModelCacheSpec struct {
	// ClusterSelector says which clusters hold the weights. On the same key it wins over a deployment's selector.
	// +optional
	ClusterSelector *LabelSelector `json:"clusterSelector,omitempty"`
}

// ModelCacheStatus is how it stands.
// +kubebuilder:pruning:PreserveUnknownFields
type ModelCacheStatus struct {
	// Conditions of the cache.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ModelCache keeps a model's weights on clusters.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mc,categories=crossplane;modelplane
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ModelCache struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ModelCacheSpec   `json:"spec,omitempty"`
	Status            ModelCacheStatus `json:"status,omitempty"`
}

// ModelCacheList is a list of ModelCaches.
// +kubebuilder:object:root=true
type ModelCacheList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ModelCache `json:"items"`
}
