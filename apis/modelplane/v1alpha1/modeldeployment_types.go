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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TolerationOperator says how a toleration's key and value are compared with a taint's.
// +kubebuilder:validation:Enum=Exists;Equal
type TolerationOperator string

// Operators of a toleration.
const (
	// TolerationOpExists matches any value of the key, and with an empty key any taint.
	TolerationOpExists TolerationOperator = "Exists"
	// TolerationOpEqual matches key and value. An absent operator means this one.
	TolerationOpEqual TolerationOperator = "Equal"
)

// Toleration lets a deployment's replicas stay on, or land on, a cluster with a matching taint.
// +kubebuilder:validation:XValidation:rule="(has(self.operator) && self.operator == 'Exists') || (has(self.key) && self.key != \"\")",message="an Equal toleration must set a key"
// +kubebuilder:validation:XValidation:rule="!(has(self.operator) && self.operator == 'Exists') || !has(self.value) || self.value == \"\"",message="an Exists toleration must not set a value"
type Toleration struct {
	// Key of the taint; empty with Exists matches every taint.
	// +optional
	Key string `json:"key,omitempty"`
	// Operator that relates key and value.
	// +kubebuilder:default=Equal
	// +optional
	Operator TolerationOperator `json:"operator,omitempty"`
	// Value of the taint for Equal.
	// +optional
	Value string `json:"value,omitempty"`
	// Effect of the taint; empty matches every effect.
	// +optional
	Effect TaintEffect `json:"effect,omitempty"`
	// TolerationSeconds is how long, in seconds, a NoExecute taint is tolerated; absent means for ever, zero or less
	// means not at all. Evenkeel's extension: hubs without it use an annotation.
	// +optional
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

// LabelSelector selects by equality only.
type LabelSelector struct {
	// MatchLabels must all be present with these values.
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
}

// ServingMode is how a replica's engines divide the work.
// +kubebuilder:validation:Enum=Unified;PrefillDecode
type ServingMode string

// Modes of serving.
const (
	// ServingModeUnified engines each do the whole work.
	ServingModeUnified ServingMode = "Unified"
	// ServingModePrefillDecode has one engine for the prompt and one for the answer.
	ServingModePrefillDecode ServingMode = "PrefillDecode"
)

// Serving says how a replica serves.
type Serving struct {
	// Mode of serving.
	// +kubebuilder:default=Unified
	// +optional
	Mode ServingMode `json:"mode,omitempty"`
}

// EnginePhase is the part of the work that an engine does under PrefillDecode.
// +kubebuilder:validation:Enum=Prefill;Decode
type EnginePhase string

// MemberRole is a member's part in its engine.
// +kubebuilder:validation:Enum=Standalone;Leader;Worker
type MemberRole string

// Roles of a member.
const (
	// MemberRoleStandalone is an engine's only member. An absent role means this one.
	MemberRoleStandalone MemberRole = "Standalone"
	// MemberRoleLeader leads a gang.
	MemberRoleLeader MemberRole = "Leader"
	// MemberRoleWorker works in a gang.
	MemberRoleWorker MemberRole = "Worker"
)

// DeviceSelector is one CEL expression over a device.
type DeviceSelector struct {
	// CEL expression with the variable device.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	CEL string `json:"cel"`
}

// DeviceRequest asks for devices of one kind on each of a member's nodes.
type DeviceRequest struct {
	// Name of the request.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Count of devices.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +optional
	Count *int64 `json:"count,omitempty"`
	// Selectors that a device must all satisfy.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Selectors []DeviceSelector `json:"selectors,omitempty"`
}

// NodeSelector says which nodes a member can run on.
type NodeSelector struct {
	// Devices that a node must have.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Devices []DeviceRequest `json:"devices"`
}

// WorkerGroup sizes the workers of a gang.
type WorkerGroup struct {
	// Nodes that the workers run on, one pod a node.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=63
	Nodes int32 `json:"nodes"`
}

// EnvVar is an environment variable of the engine.
// +kubebuilder:pruning:PreserveUnknownFields
type EnvVar struct {
	// Name of the variable.
	Name string `json:"name"`
	// Value of the variable.
	// +optional
	Value string `json:"value,omitempty"`
	// ValueFrom says where the value is: a Secret, a ConfigMap, or a field of the pod.
	// +optional
	ValueFrom *corev1.EnvVarSource `json:"valueFrom,omitempty"`
}

// Container is the engine's container.
type Container struct {
	// Name of the container, always engine.
	// +kubebuilder:validation:Enum=engine
	Name string `json:"name"`
	// Image to run.
	// +optional
	Image string `json:"image,omitempty"`
	// Command to run instead of the image's.
	// +optional
	// +listType=atomic
	Command []string `json:"command,omitempty"`
	// Args of the command.
	// +optional
	// +listType=atomic
	Args []string `json:"args,omitempty"`
	// Env of the container.
	// +optional
	// +listType=atomic
	Env []EnvVar `json:"env,omitempty"`
}

// TemplateMetadata is metadata of objects made from a template.
type TemplateMetadata struct {
	// Labels to add.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('modelplane.ai/'))",message="template.metadata.labels keys must not use the reserved modelplane.ai/ prefix"
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations to add.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// MemberPodSpec is the part of a pod that a member may say.
type MemberPodSpec struct {
	// Containers of the pod: exactly one, named engine.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1
	// +listType=atomic
	Containers []Container `json:"containers"`
	// ImagePullSecrets to pull the image with.
	// +listType=atomic
	// +optional
	ImagePullSecrets []NameReference `json:"imagePullSecrets,omitempty"`
}

// MemberTemplate is the template of a member's pods.
type MemberTemplate struct {
	// Metadata of the pods.
	// +optional
	Metadata *TemplateMetadata `json:"metadata,omitempty"`
	// Spec of the pods.
	// +optional
	Spec *MemberPodSpec `json:"spec,omitempty"`
}

// Member is one kind of pod in an engine.
// +kubebuilder:validation:XValidation:rule="!has(self.worker) || (has(self.role) && self.role == 'Worker')",message="worker may only be set on a Worker member"
type Member struct {
	// Role of the member.
	// +kubebuilder:default=Standalone
	// +optional
	Role MemberRole `json:"role,omitempty"`
	// NodeSelector says which nodes it can run on.
	// +optional
	NodeSelector *NodeSelector `json:"nodeSelector,omitempty"`
	// Worker sizes a Worker member.
	// +optional
	Worker *WorkerGroup `json:"worker,omitempty"`
	// Template of the member's pods.
	// +optional
	Template *MemberTemplate `json:"template,omitempty"`
}

// Engine is one model server of a replica: a single pod, or a gang.
// +kubebuilder:validation:XValidation:rule="(self.members.size() == 1 && (!has(self.members[0].role) || self.members[0].role == 'Standalone')) || (self.members.exists_one(m, has(m.role) && m.role == 'Leader') && self.members.exists(m, has(m.role) && m.role == 'Worker') && !self.members.exists(m, !has(m.role) || m.role == 'Standalone'))",message="an engine is either a single Standalone member or one Leader and one or more Workers"
// +kubebuilder:validation:XValidation:rule="self.members.exists(m, has(m.nodeSelector))",message="at least one member of an engine must have a nodeSelector"
type Engine struct {
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
	// Phase that the engine does under PrefillDecode.
	// +optional
	Phase EnginePhase `json:"phase,omitempty"`
	// Members of the engine.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +listType=atomic
	Members []Member `json:"members"`
}

// ModelDeploymentTemplateSpec is what each replica should be.
// +kubebuilder:validation:XValidation:rule="!(has(self.serving) && has(self.serving.mode) && self.serving.mode == 'PrefillDecode') || (self.engines.size() == 2 && self.engines.exists_one(e, has(e.phase) && e.phase == 'Prefill') && self.engines.exists_one(e, has(e.phase) && e.phase == 'Decode'))",message="PrefillDecode needs exactly two engines, one Prefill and one Decode"
// +kubebuilder:validation:XValidation:rule="(has(self.serving) && has(self.serving.mode) && self.serving.mode == 'PrefillDecode') || !self.engines.exists(e, has(e.phase))",message="engine phase may only be set when serving.mode is PrefillDecode"
type ModelDeploymentTemplateSpec struct {
	// SchedulerName of the scheduler that places the replicas. Evenkeel's extension: hubs without it use the annotation
	// evenkeel.io/scheduler-name.
	// +optional
	SchedulerName string `json:"schedulerName,omitempty"`
	// PriorityClassName of the replicas. Evenkeel's extension: hubs without it use the annotation
	// evenkeel.io/priority-class.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// ClusterSelector says which clusters the replicas may be on.
	// +optional
	ClusterSelector *LabelSelector `json:"clusterSelector,omitempty"`
	// ModelCacheRef names the cache of the model's weights.
	// +optional
	ModelCacheRef *NameReference `json:"modelCacheRef,omitempty"`
	// Serving says how the replicas serve.
	// +optional
	Serving *Serving `json:"serving,omitempty"`
	// Tolerations of the replicas.
	// +listType=atomic
	// +optional
	Tolerations []Toleration `json:"tolerations,omitempty"`
	// Engines of each replica.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	Engines []Engine `json:"engines"`
}

// ModelDeploymentTemplate is the template of the replicas.
type ModelDeploymentTemplate struct {
	// Metadata of the replicas.
	// +optional
	Metadata *TemplateMetadata `json:"metadata,omitempty"`
	// Spec of the replicas.
	Spec ModelDeploymentTemplateSpec `json:"spec"`
}

// CrossplaneSpec is what Crossplane keeps on a composite resource.
// +kubebuilder:pruning:PreserveUnknownFields
type CrossplaneSpec struct {
	// CompositionRef names the composition that makes this resource's children.
	// +optional
	CompositionRef *NameReference `json:"compositionRef,omitempty"`
}

// ModelDeploymentSpec is what an ML team wants.
type ModelDeploymentSpec struct {
	// Replicas wanted.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Replicas int32 `json:"replicas"`
	// Template of the replicas.
	Template ModelDeploymentTemplate `json:"template"`
	// Crossplane keeps its own settings here.
	// +optional
	Crossplane *CrossplaneSpec `json:"crossplane,omitempty"`
}

// ReplicaCounts counts a deployment's replicas.
type ReplicaCounts struct {
	// Total replicas that have a cluster.
	// +optional
	Total int32 `json:"total"`
	// Ready replicas among them.
	// +optional
	Ready int32 `json:"ready"`
}

// ModelDeploymentStatus is how it stands.
type ModelDeploymentStatus struct {
	// Conditions of the deployment.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Replicas counted.
	// +optional
	Replicas *ReplicaCounts `json:"replicas,omitempty"`
}

// ModelDeployment is a model that is served by a number of replicas, each on one cluster.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas.total
// +kubebuilder:resource:shortName=md,categories=crossplane;modelplane
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Placed",type=integer,JSONPath=`.status.replicas.total`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.replicas.ready`
// +kubebuilder:printcolumn:name="Scheduled",type=string,JSONPath=`.status.conditions[?(@.type=="ReplicasScheduled")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ModelDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ModelDeploymentSpec   `json:"spec"`
	Status            ModelDeploymentStatus `json:"status,omitempty"`
}

// ModelDeploymentList is a list of ModelDeployments.
// +kubebuilder:object:root=true
type ModelDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ModelDeployment `json:"items"`
}
