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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MaxWeight is the largest weight of an entry; Gateway API allows no larger one.
const MaxWeight = 1000000

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=trafficmaps,scope=Namespaced,shortName=tm;tmap
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Published",type=string,JSONPath=`.status.conditions[?(@.type=="Published")].status`
// +kubebuilder:printcolumn:name="Routable",type=string,JSONPath=`.status.conditions[?(@.type=="Routable")].status`
// +kubebuilder:printcolumn:name="Override",type=string,JSONPath=`.status.conditions[?(@.type=="OverrideActive")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Routable")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// TrafficMap tells a gateway how to share the traffic of one InferenceService over
// the workload clusters that serve it. It has the name and namespace of the service
// and is owned by it. Controllers write it; an edit of its spec by hand is overwritten.
type TrafficMap struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec TrafficMapSpec `json:"spec,omitempty"`
	// +optional
	Status TrafficMapStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// TrafficMapList is a list of TrafficMaps.
type TrafficMapList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TrafficMap `json:"items"`
}

// TrafficMapSpec is the computed table.
type TrafficMapSpec struct {
	// Name of the routed InferenceService; equals metadata.name.
	// +required
	Service string `json:"service"`

	// Copy of the service's spec.placement.mode.
	// +optional
	Mode PlacementMode `json:"mode,omitempty"`

	// One entry per serving workload cluster, in the order of their names.
	// +optional
	// +listType=map
	// +listMapKey=cluster
	Entries []TrafficMapEntry `json:"entries,omitempty"`

	// Generation of the InferenceService that the table was computed from.
	// +optional
	ObservedISVCGeneration int64 `json:"observedISVCGeneration,omitempty"`
}

// TrafficMapEntry is the share of one workload cluster and how it came about.
type TrafficMapEntry struct {
	// Name of the WorkloadCluster.
	// +required
	Cluster string `json:"cluster"`

	// URL under which clients reach the service in this cluster.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// Final share relative to the other entries. A gateway applies it as it is.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Weight int32 `json:"weight"`

	// True when replicas are ready and the probe does not gate the cluster. A drain
	// does not change it.
	// +optional
	Healthy bool `json:"healthy"`

	// Replica counts behind the weight.
	// +optional
	Capacity *TrafficMapCapacity `json:"capacity,omitempty"`

	// Last observation of the health probe; absent when probing is off.
	// +optional
	Probe *TrafficMapProbe `json:"probe,omitempty"`

	// IDs of the drains that hold this entry at weight 0, in order.
	// +optional
	// +listType=set
	DrainRefs []string `json:"drainRefs,omitempty"`
}

// CapacitySource says where the allocated count of an entry comes from.
// +kubebuilder:validation:Enum=ControlPlane;Endpoint
type CapacitySource string

const (
	// CapacitySourceControlPlane is the count that placement admitted.
	CapacitySourceControlPlane CapacitySource = "ControlPlane"
	// CapacitySourceEndpoint is a report of the cluster's endpoint that lowered it.
	CapacitySourceEndpoint CapacitySource = "Endpoint"
)

// TrafficMapCapacity holds the replica counts behind an entry's weight.
type TrafficMapCapacity struct {
	// Replicas the cluster may use, after a report lowered them.
	// +optional
	Allocated int32 `json:"allocated,omitempty"`

	// Replicas that are ready.
	// +optional
	Ready int32 `json:"ready,omitempty"`

	// What one replica serves here relative to other clusters; unset counts as 1.
	// +optional
	Factor *resource.Quantity `json:"factor,omitempty"`

	// Where the allocated count comes from.
	// +optional
	// +kubebuilder:default=ControlPlane
	Source CapacitySource `json:"source,omitempty"`

	// Replicas the endpoint says it can serve, also when that lowered nothing.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Reported *int32 `json:"reported,omitempty"`

	// Why no usable report exists although polling is configured.
	// +optional
	FallbackReason string `json:"fallbackReason,omitempty"`
}

// ProbeResult is the verdict of one health probe.
// +kubebuilder:validation:Enum=Passing;Failing;Unknown
type ProbeResult string

const (
	ProbePassing ProbeResult = "Passing"
	ProbeFailing ProbeResult = "Failing"
	// ProbeUnknown is no verdict; it never opens or closes the gate.
	ProbeUnknown ProbeResult = "Unknown"
)

// TrafficMapProbe is what the health probe of one entry found.
type TrafficMapProbe struct {
	// Digest of the probe policy that was in force.
	// +optional
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	PolicyDigest string `json:"policyDigest,omitempty"`

	// Verdict of the last attempt.
	// +optional
	Result ProbeResult `json:"result,omitempty"`

	// True once enough attempts in a row failed, until enough pass again.
	// +optional
	Gated bool `json:"gated,omitempty"`

	// End of the last attempt.
	// +optional
	LastProbeTime *metav1.Time `json:"lastProbeTime,omitempty"`

	// Failing attempts in a row.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`

	// What the last attempt saw.
	// +optional
	Message string `json:"message,omitempty"`
}

// TrafficMapStatus is written by two controllers, each with its own fields: the
// routing controller owns sourceUID and the conditions Routable, CapacityFallback and
// OverrideActive, the publisher everything else.
type TrafficMapStatus struct {
	// UID of the InferenceService that the map was made for.
	// +optional
	SourceUID types.UID `json:"sourceUID,omitempty"`

	// Copy of the condition Published.
	// +optional
	Published bool `json:"published,omitempty"`

	// Object in the data plane that carries the weights.
	// +optional
	GatewayRef *TrafficMapGatewayRef `json:"gatewayRef,omitempty"`

	// Generation of this map that was last written to the data plane.
	// +optional
	ObservedTrafficMapGeneration int64 `json:"observedTrafficMapGeneration,omitempty"`

	// What the publisher must remember to clean up after itself.
	// +optional
	Publisher *TrafficMapPublisherStatus `json:"publisher,omitempty"`

	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// TrafficMapGatewayRef names an object of the data plane.
type TrafficMapGatewayRef struct {
	// API group; empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// +required
	Kind string `json:"kind"`
	// +required
	Name string `json:"name"`
	// Namespace; empty for the namespace of the map.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// TrafficMapPublisherStatus is the publisher's journal: it names what the publisher
// may have written, before it writes it.
type TrafficMapPublisherStatus struct {
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	PublisherName string `json:"publisherName"`

	// Canonical names of everything written for this map.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	ClaimedTargets []string `json:"claimedTargets,omitempty"`

	// Digest of the publisher's options at the last success.
	// +optional
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	ObservedOptionsDigest string `json:"observedOptionsDigest,omitempty"`

	// Last plan with a positive weight that was applied whole, for publishers that
	// can apply it again.
	// +optional
	LastPositive *TrafficMapPublishedPlan `json:"lastPositive,omitempty"`
}

// TrafficMapPublishedPlan is a plan that a publisher applied.
type TrafficMapPublishedPlan struct {
	// +required
	// +kubebuilder:validation:Minimum=1
	TrafficMapGeneration int64 `json:"trafficMapGeneration"`

	// +required
	// +kubebuilder:validation:Minimum=1
	ObservedISVCGeneration int64 `json:"observedISVCGeneration"`

	// Digest of the options that decide target names and weights.
	// +required
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	PlanCompatibilityDigest string `json:"planCompatibilityDigest"`

	// +required
	// +listType=map
	// +listMapKey=target
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	Targets []TrafficMapPublishedTarget `json:"targets"`
}

// TrafficMapPublishedTarget is one target of an applied plan and its weight.
type TrafficMapPublishedTarget struct {
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Target string `json:"target"`

	// +required
	// +kubebuilder:validation:Minimum=0
	Weight int64 `json:"weight"`
}
