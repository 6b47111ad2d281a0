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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=workloadclusters,scope=Cluster,shortName=wlc
// +kubebuilder:printcolumn:name="Reachable",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// WorkloadCluster registers a cluster that may run InferenceServices.
type WorkloadCluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec WorkloadClusterSpec `json:"spec,omitempty"`
	// +optional
	Status WorkloadClusterStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// WorkloadClusterList is a list of WorkloadClusters.
type WorkloadClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WorkloadCluster `json:"items"`
}

// WorkloadClusterSpec says how to reach the cluster.
type WorkloadClusterSpec struct {
	// +required
	ClusterSource ClusterSource `json:"clusterSource"`
}

// ClusterSource is the one way by which the cluster is reached.
// +kubebuilder:validation:XValidation:rule="has(self.kubeConfig) != has(self.clusterProfileRef)",message="set exactly one of kubeConfig and clusterProfileRef"
type ClusterSource struct {
	// +optional
	KubeConfig *KubeConfigSource `json:"kubeConfig,omitempty"`
	// Recorded but not supported by OME.
	// +optional
	ClusterProfileRef *ClusterProfileRef `json:"clusterProfileRef,omitempty"`
}

// KubeConfigSource names the Secret that holds a kubeconfig.
type KubeConfigSource struct {
	// +required
	SecretRef corev1.SecretReference `json:"secretRef"`

	// Key in the Secret's data.
	// +optional
	// +kubebuilder:default="kubeconfig"
	Key string `json:"key,omitempty"`
}

// ClusterProfileRef names a ClusterProfile.
type ClusterProfileRef struct {
	// +required
	Name string `json:"name"`
}

// WorkloadClusterReady is the only condition of a WorkloadCluster. It is about the
// connection, never about capacity.
const WorkloadClusterReady = "Ready"

// Reasons of the condition Ready of a WorkloadCluster.
const (
	ReasonReachable                 = "Reachable"
	ReasonProbeFailedRetrying       = "ProbeFailedRetrying"
	ReasonConnectionFailed          = "ConnectionFailed"
	ReasonSecretNotFound            = "SecretNotFound"
	ReasonBadKubeConfig             = "BadKubeConfig"
	ReasonClusterProfileUnsupported = "ClusterProfileUnsupported"
)

// WorkloadClusterStatus tells whether the hub reaches the cluster.
type WorkloadClusterStatus struct {
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}
