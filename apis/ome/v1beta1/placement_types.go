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

// PlacementMode says how many workload clusters serve a service.
// +kubebuilder:validation:Enum=Single;All;Split;SplitByCapacity
type PlacementMode string

const (
	// PlacementSingle keeps one cluster.
	PlacementSingle PlacementMode = "Single"
	// PlacementAll keeps every cluster that admits the service.
	PlacementAll PlacementMode = "All"
	// PlacementSplit shares the wanted replicas over the clusters.
	PlacementSplit PlacementMode = "Split"
	// PlacementSplitByCapacity shares them by the clusters' hardware.
	PlacementSplitByCapacity PlacementMode = "SplitByCapacity"
)

// PlacementPolicy is the generation of placement rules that a service uses.
// +kubebuilder:validation:Enum=Legacy;ClusterAffinity
type PlacementPolicy string

const (
	PlacementPolicyLegacy          PlacementPolicy = "Legacy"
	PlacementPolicyClusterAffinity PlacementPolicy = "ClusterAffinity"
)

// PlacementSpec selects the workload clusters of a service. Newer and older OME
// versions know different fields of it; this type has those of both.
// +kubebuilder:pruning:PreserveUnknownFields
type PlacementSpec struct {
	// +optional
	// +kubebuilder:default=Single
	Mode PlacementMode `json:"mode,omitempty"`

	// Label selector that a cluster must match for the service to run at all.
	// +optional
	Requirements string `json:"requirements,omitempty"`

	// Label selector that narrows the clusters further.
	// +optional
	ClusterSelector string `json:"clusterSelector,omitempty"`

	// +optional
	Policy PlacementPolicy `json:"policy,omitempty"`

	// Terms of which a cluster must match one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	ClusterAffinity []ClusterAffinityTerm `json:"clusterAffinity,omitempty"`

	// +optional
	Split *SplitSpec `json:"split,omitempty"`

	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxSurge *int32 `json:"maxSurge,omitempty"`

	// +optional
	ReplacementTimeout *metav1.Duration `json:"replacementTimeout,omitempty"`
}

// SplitSpec tunes the modes Split and SplitByCapacity.
// +kubebuilder:pruning:PreserveUnknownFields
type SplitSpec struct {
	// +optional
	// +kubebuilder:validation:Minimum=1
	Replicas *int32 `json:"replicas,omitempty"`

	// 0 means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxReplicasPerCluster int32 `json:"maxReplicasPerCluster,omitempty"`
}

// ClusterAffinityTerm matches clusters that meet all of its requirements.
type ClusterAffinityTerm struct {
	// +optional
	// +kubebuilder:validation:Minimum=1
	Weight *int32 `json:"weight,omitempty"`

	// Requirements on the cluster's labels.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	MatchExpressions []ClusterSelectorRequirement `json:"matchExpressions,omitempty"`

	// Requirements on metadata.name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	MatchFields []ClusterSelectorRequirement `json:"matchFields,omitempty"`
}

// ClusterSelectorRequirement is one requirement of a term.
type ClusterSelectorRequirement struct {
	// +required
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`

	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt
	Operator corev1.NodeSelectorOperator `json:"operator"`

	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Values []string `json:"values,omitempty"`
}

// PlacementPhase is how far the placement of a service has come.
// +kubebuilder:validation:Enum=Pending;Admitting;Racing;Placed;Failed
type PlacementPhase string

const (
	PlacementPending   PlacementPhase = "Pending"
	PlacementAdmitting PlacementPhase = "Admitting"
	// PlacementRacing is what older versions write for Admitting.
	PlacementRacing PlacementPhase = "Racing"
	// PlacementPlaced is the only phase in which a service is routed.
	PlacementPlaced PlacementPhase = "Placed"
	PlacementFailed PlacementPhase = "Failed"
)

// PlacementStatus tells where a service runs.
// +kubebuilder:pruning:PreserveUnknownFields
type PlacementStatus struct {
	// +optional
	Phase PlacementPhase `json:"phase,omitempty"`

	// The serving cluster and its URL; set in mode Single only.
	// +optional
	Cluster string `json:"cluster,omitempty"`
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// +optional
	// +listType=map
	// +listMapKey=cluster
	Candidates []PlacementCandidate `json:"candidates,omitempty"`
}

// CandidatePhase tells whether a cluster has admitted its copy of the service.
// +kubebuilder:validation:Enum=Admitting;Admitted
type CandidatePhase string

const (
	CandidateAdmitting CandidatePhase = "Admitting"
	CandidateAdmitted  CandidatePhase = "Admitted"
)

// PlacementCandidate is what one workload cluster says about its copy. With an engine
// and a decoder, both counts are the lower of the two.
// +kubebuilder:pruning:PreserveUnknownFields
type PlacementCandidate struct {
	// +required
	Cluster string `json:"cluster"`
	// +optional
	Phase CandidatePhase `json:"phase,omitempty"`
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// +optional
	AdmittedReplicas int32 `json:"admittedReplicas,omitempty"`
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// +optional
	Allocation *CandidateAllocation `json:"allocation,omitempty"`
}

// CandidateAllocation is the cluster's part of an accepted placement plan.
// +kubebuilder:pruning:PreserveUnknownFields
type CandidateAllocation struct {
	// True when the plan takes traffic off the cluster before it removes replicas.
	// +optional
	DrainRequested bool `json:"drainRequested,omitempty"`
}
