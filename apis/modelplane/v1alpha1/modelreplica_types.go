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

// ReplicaDeviceRequest is a request that was matched to devices of a pool.
type ReplicaDeviceRequest struct {
	// Name of the request.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// DeviceClassName to claim with.
	// +kubebuilder:validation:MaxLength=253
	DeviceClassName string `json:"deviceClassName"`
	// Count of devices.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +optional
	Count *int64 `json:"count,omitempty"`
	// Selectors that the devices satisfy.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Selectors []DeviceSelector `json:"selectors,omitempty"`
}

// ReplicaMember is one kind of pod of a placed engine.
type ReplicaMember struct {
	// Role of the member.
	// +kubebuilder:default=Standalone
	// +optional
	Role MemberRole `json:"role,omitempty"`
	// NodePoolName of the pool that the member's pods run on.
	// +kubebuilder:validation:MinLength=1
	NodePoolName string `json:"nodePoolName"`
	// DeviceRequests of each pod; absent where the member claims nothing.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	DeviceRequests []ReplicaDeviceRequest `json:"deviceRequests,omitempty"`
	// Worker sizes a Worker member.
	// +optional
	Worker *WorkerGroup `json:"worker,omitempty"`
	// Template of the member's pods.
	// +optional
	Template *MemberTemplate `json:"template,omitempty"`
}

// ReplicaEngine is one placed engine.
// +kubebuilder:validation:XValidation:rule="self.members.exists(m, has(m.deviceRequests))",message="at least one member of an engine must have deviceRequests"
type ReplicaEngine struct {
	// Name of the engine.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Copies of the engine.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +optional
	Copies *int32 `json:"copies,omitempty"`
	// Phase that the engine does.
	// +optional
	Phase EnginePhase `json:"phase,omitempty"`
	// Members of the engine.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +listType=atomic
	Members []ReplicaMember `json:"members"`
}

// ModelReplicaSpec is one replica on one cluster.
type ModelReplicaSpec struct {
	// ClusterName of the InferenceCluster that the replica is on.
	// +kubebuilder:validation:MinLength=1
	ClusterName string `json:"clusterName"`
	// ModelCacheRef names the cache of the model's weights.
	// +optional
	ModelCacheRef *NameReference `json:"modelCacheRef,omitempty"`
	// Serving says how the replica serves.
	// +optional
	Serving *Serving `json:"serving,omitempty"`
	// Engines of the replica.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	Engines []ReplicaEngine `json:"engines"`
}

// ModelReplicaStatus is how it stands.
type ModelReplicaStatus struct {
	// Conditions of the replica.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ModelReplica is one replica of a ModelDeployment on one cluster.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mr,categories=crossplane;modelplane
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterName`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ModelReplica struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ModelReplicaSpec   `json:"spec"`
	Status            ModelReplicaStatus `json:"status,omitempty"`
}

// ModelReplicaList is a list of ModelReplicas.
// +kubebuilder:object:root=true
type ModelReplicaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ModelReplica `json:"items"`
}
