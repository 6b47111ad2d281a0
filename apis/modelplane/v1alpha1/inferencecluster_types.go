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

// TaintEffect is what a cluster's taint does to replicas that do not tolerate it.
// +kubebuilder:validation:Enum=NoSchedule;NoExecute
type TaintEffect string

// Effects that a taint of an InferenceCluster can have.
const (
	// TaintEffectNoSchedule keeps new replicas off the cluster.
	TaintEffectNoSchedule TaintEffect = "NoSchedule"
	// TaintEffectNoExecute also moves the replicas that run there.
	TaintEffectNoExecute TaintEffect = "NoExecute"
)

// Taint repels replicas that do not tolerate it, as a node's taint repels pods.
type Taint struct {
	// Key of the taint. Any non-empty string, also one that a Node could not hold.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
	// Value of the taint.
	// +optional
	Value string `json:"value,omitempty"`
	// Effect on replicas that do not tolerate the taint.
	Effect TaintEffect `json:"effect"`
	// TimeAdded is when the taint was added. Evenkeel's extension: hubs without it carry the time in an annotation.
	// +optional
	TimeAdded *metav1.Time `json:"timeAdded,omitempty"`
}

// ClusterSource is how a cluster came to be.
// +kubebuilder:validation:Enum=GKE;EKS;AKS;Nebius;Vultr;Existing
type ClusterSource string

// ClusterSourceExisting is a cluster that somebody else runs and that is reached through a kubeconfig.
const ClusterSourceExisting ClusterSource = "Existing"

// SecretKeyReference names a key of a Secret in Modelplane's own namespace.
type SecretKeyReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Key within the Secret.
	// +kubebuilder:default=kubeconfig
	// +optional
	Key string `json:"key,omitempty"`
}

// ExistingClusterCache configures model caches on an existing cluster.
type ExistingClusterCache struct {
	// StorageClassName of the volumes that hold cached weights.
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`
}

// ExistingCluster says how to reach a cluster that somebody else runs.
type ExistingCluster struct {
	// SecretRef names the kubeconfig.
	SecretRef SecretKeyReference `json:"secretRef"`
	// IdentitySecretRef names cloud credentials that the kubeconfig needs.
	// +optional
	IdentitySecretRef *SecretKeyReference `json:"identitySecretRef,omitempty"`
	// Cache configures model caches.
	// +optional
	Cache *ExistingClusterCache `json:"cache,omitempty"`
}

// ProviderCluster is a cloud's own block, which Evenkeel never reads.
// +kubebuilder:pruning:PreserveUnknownFields
type ProviderCluster struct{}

// ClusterSpec says where a cluster comes from.
// +kubebuilder:validation:XValidation:rule="self.source == 'Existing' ? has(self.existing) : true",message="existing must be set when source is Existing"
// +kubebuilder:validation:XValidation:rule="self.source == 'GKE' ? has(self.gke) : true",message="gke must be set when source is GKE"
// +kubebuilder:validation:XValidation:rule="self.source == 'EKS' ? has(self.eks) : true",message="eks must be set when source is EKS"
// +kubebuilder:validation:XValidation:rule="self.source == 'AKS' ? has(self.aks) : true",message="aks must be set when source is AKS"
// +kubebuilder:validation:XValidation:rule="self.source == 'Nebius' ? has(self.nebius) : true",message="nebius must be set when source is Nebius"
// +kubebuilder:validation:XValidation:rule="self.source == 'Vultr' ? has(self.vultr) : true",message="vultr must be set when source is Vultr"
type ClusterSpec struct {
	// Source of the cluster; the block of that name must be set.
	Source ClusterSource `json:"source"`
	// Existing cluster, reached through a kubeconfig.
	// +optional
	Existing *ExistingCluster `json:"existing,omitempty"`
	// GKE cluster.
	// +optional
	GKE *ProviderCluster `json:"gke,omitempty"`
	// EKS cluster.
	// +optional
	EKS *ProviderCluster `json:"eks,omitempty"`
	// AKS cluster.
	// +optional
	AKS *ProviderCluster `json:"aks,omitempty"`
	// Nebius cluster.
	// +optional
	Nebius *ProviderCluster `json:"nebius,omitempty"`
	// Vultr cluster.
	// +optional
	Vultr *ProviderCluster `json:"vultr,omitempty"`
}

// PoolFabric is the network between a pool's nodes.
type PoolFabric struct {
	// Type of the fabric.
	// +kubebuilder:validation:Enum=None;EFA;InfiniBand
	// +optional
	Type string `json:"type,omitempty"`
}

// NodePool is one pool of GPU nodes that a cluster should have.
type NodePool struct {
	// Name of the pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`
	// ClassName names the InferenceClass of the pool's nodes.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClassName string `json:"className"`
	// NodeCount is how many nodes the pool has.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	NodeCount *int32 `json:"nodeCount,omitempty"`
	// MinNodeCount is how far an autoscaler may shrink the pool.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MinNodeCount *int32 `json:"minNodeCount,omitempty"`
	// MaxNodeCount is how far an autoscaler may grow the pool.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxNodeCount *int32 `json:"maxNodeCount,omitempty"`
	// Zones that the nodes are in.
	// +optional
	Zones []string `json:"zones,omitempty"`
	// CapacityBlock names reserved capacity of a cloud.
	// +optional
	CapacityBlock string `json:"capacityBlock,omitempty"`
	// Fabric between the nodes.
	// +optional
	Fabric *PoolFabric `json:"fabric,omitempty"`
}

// InferenceClusterSpec is what a platform team wants of a cluster.
type InferenceClusterSpec struct {
	// Cluster says where the cluster comes from.
	Cluster ClusterSpec `json:"cluster"`
	// Taints repel replicas that do not tolerate them.
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +optional
	Taints []Taint `json:"taints,omitempty"`
	// NodePools of GPU nodes.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	NodePools []NodePool `json:"nodePools,omitempty"`
}

// Gateway is where a cluster's engines are reached.
type Gateway struct {
	// Address of the gateway, an IP address or a name.
	// +optional
	Address string `json:"address,omitempty"`
	// Hostname of the gateway, on hubs that publish one.
	// +optional
	Hostname string `json:"hostname,omitempty"`
}

// NameReference names another object.
type NameReference struct {
	// Name of the object.
	Name string `json:"name"`
}

// DeviceClaim tells whether matching a device also claims it.
// +kubebuilder:validation:Enum=DRA;Synthetic
type DeviceClaim string

// Kinds of claim.
const (
	// DeviceClaimDRA devices are claimed through dynamic resource allocation. An absent claim means this one.
	DeviceClaimDRA DeviceClaim = "DRA"
	// DeviceClaimSynthetic devices only describe the node: they satisfy a request and are not claimed.
	DeviceClaimSynthetic DeviceClaim = "Synthetic"
)

// DeviceAttribute is one attribute of a device: exactly one field is set.
// +kubebuilder:validation:MaxProperties=1
// +kubebuilder:validation:MinProperties=1
type DeviceAttribute struct {
	// String value.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	String *string `json:"string,omitempty"`
	// Version is a semantic version.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Version *string `json:"version,omitempty"`
	// Bool value.
	// +optional
	Bool *bool `json:"bool,omitempty"`
	// Int value.
	// +optional
	Int *int64 `json:"int,omitempty"`
}

// DeviceCapacity is how much of something a device has.
type DeviceCapacity struct {
	// Value is a quantity, such as 141Gi. It is kept as text, since a hub may publish a malformed one.
	// +kubebuilder:validation:MaxLength=32
	Value string `json:"value"`
}

// Device is one kind of device that each node of a pool has.
type Device struct {
	// Name of the device within its pool.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Claim tells whether the device is claimed; DRA when absent.
	// +optional
	Claim DeviceClaim `json:"claim,omitempty"`
	// Driver of the device, also the domain of attributes that name none.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Driver string `json:"driver,omitempty"`
	// DeviceClassName to claim the device with.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	DeviceClassName string `json:"deviceClassName,omitempty"`
	// Count of such devices on each node. Absent or negative means none.
	// +optional
	Count *int64 `json:"count,omitempty"`
	// Attributes by name, with or without a domain.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Attributes map[string]DeviceAttribute `json:"attributes,omitempty"`
	// Capacity by name, with or without a domain.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Capacity map[string]DeviceCapacity `json:"capacity,omitempty"`
}

// GPUPool is one pool of nodes as a cluster publishes it.
type GPUPool struct {
	// Name of the pool.
	Name string `json:"name"`
	// Nodes that the pool can grow to. Negative means none.
	// +optional
	Nodes int64 `json:"nodes,omitempty"`
	// Devices of each node.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Devices []Device `json:"devices,omitempty"`
}

// ClusterCacheStatus tells where cached weights can be kept.
type ClusterCacheStatus struct {
	// StorageClassName of the volumes.
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`
}

// InferenceClusterStatus is what a cluster publishes.
type InferenceClusterStatus struct {
	// Conditions of the cluster; placement reads Ready only.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Gateway is where the cluster's engines are reached.
	// +optional
	Gateway *Gateway `json:"gateway,omitempty"`
	// ProviderConfigRef names the configuration that reaches the cluster.
	// +optional
	ProviderConfigRef *NameReference `json:"providerConfigRef,omitempty"`
	// Namespace of the cluster's composed objects.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Cache tells where cached weights can be kept.
	// +optional
	Cache *ClusterCacheStatus `json:"cache,omitempty"`
	// GPUPools that replicas can be placed on, in the order in which they are tried.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	GPUPools []GPUPool `json:"gpuPools,omitempty"`
}

// InferenceCluster is a cluster that serves models.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=ic,categories=crossplane;modelplane
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.spec.cluster.source`
// +kubebuilder:printcolumn:name="Gateway",type=string,JSONPath=`.status.gateway.address`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Taints",type=string,JSONPath=`.spec.taints[*].effect`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type InferenceCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              InferenceClusterSpec   `json:"spec"`
	Status            InferenceClusterStatus `json:"status,omitempty"`
}

// InferenceClusterList is a list of InferenceClusters.
// +kubebuilder:object:root=true
type InferenceClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []InferenceCluster `json:"items"`
}
