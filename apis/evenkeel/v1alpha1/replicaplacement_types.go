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
	"k8s.io/apimachinery/pkg/types"

	modelplanev1alpha1 "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// MemberRequirements is what one kind of pod of an engine needs of a node.
type MemberRequirements struct {
	// Role of the member.
	// +optional
	Role modelplanev1alpha1.MemberRole `json:"role,omitempty"`
	// Nodes that one copy of the member takes, one pod a node.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=63
	Nodes int32 `json:"nodes"`
	// Devices that each of these nodes must have; none means that any node will do and nothing is claimed.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Devices []modelplanev1alpha1.DeviceRequest `json:"devices,omitempty"`
}

// EngineRequirements is what one engine needs of a node pool; an engine goes whole onto one pool.
type EngineRequirements struct {
	// Name of the engine.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Copies of the engine.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Copies int32 `json:"copies"`
	// Members of the engine.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +listType=atomic
	Members []MemberRequirements `json:"members"`
}

// ReplicaPlacementSpec is one wanted replica of one ModelDeployment. It is written by the deployment's controller.
// +kubebuilder:validation:XValidation:rule="has(self.replaces) == has(oldSelf.replaces) && has(self.adopts) == has(oldSelf.adopts)",message="replaces and adopts are immutable"
type ReplicaPlacementSpec struct {
	// DeploymentName names the ModelDeployment in the same namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="deploymentName is immutable"
	DeploymentName string `json:"deploymentName"`
	// Slot tells the wanted replicas of the deployment apart. A replacement has the slot of what it replaces.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="slot is immutable"
	Slot int32 `json:"slot"`
	// Attempt counts the placements of the slot, from 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="attempt is immutable"
	Attempt int32 `json:"attempt"`
	// SchedulerName names the profile of the hub scheduler that assigns a cluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SchedulerName string `json:"schedulerName"`
	// Tolerations of cluster taints.
	// +listType=atomic
	// +optional
	Tolerations []modelplanev1alpha1.Toleration `json:"tolerations,omitempty"`
	// ClusterSelector is the deployment's selector merged with its model cache's.
	// +optional
	ClusterSelector *modelplanev1alpha1.LabelSelector `json:"clusterSelector,omitempty"`
	// Engines to place.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Engines []EngineRequirements `json:"engines"`
	// PriorityClassName that the priority was resolved from.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// Priority among the placements that wait; higher goes first.
	// +optional
	Priority *int32 `json:"priority,omitempty"`
	// PreemptionPolicy of the priority class.
	// +optional
	PreemptionPolicy *corev1.PreemptionPolicy `json:"preemptionPolicy,omitempty"`
	// Replaces names the placement that this one takes over from. Its nodes count as free for this one, unless surge is
	// set.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="replaces is immutable"
	// +optional
	Replaces string `json:"replaces,omitempty"`
	// Surge tells that the replica is to serve before the one that it replaces goes, so that it needs nodes of its own.
	// +optional
	Surge bool `json:"surge,omitempty"`
	// Adopts names a ModelReplica that was there before its placement. The scheduler leaves such a placement alone.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="adopts is immutable"
	// +optional
	Adopts string `json:"adopts,omitempty"`
	// ModelCacheName names the ModelCache that holds the model's weights; among equally loaded clusters those win that can
	// hold them.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ModelCacheName string `json:"modelCacheName,omitempty"`
	// ExcludedClusters are not considered.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	ExcludedClusters []string `json:"excludedClusters,omitempty"`
}

// MemberAssignment is where one member of an engine goes.
type MemberAssignment struct {
	// NodePoolName of the pool in the assigned cluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	NodePoolName string `json:"nodePoolName"`
}

// EngineAssignment is where one engine goes.
type EngineAssignment struct {
	// Name of the engine.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Members of the engine, in the order of the spec.
	// +kubebuilder:validation:MaxItems=2
	// +listType=atomic
	Members []MemberAssignment `json:"members"`
}

// Assignment is the scheduler's decision. It never changes and is never taken back: a replica that must go elsewhere
// gets a new placement.
type Assignment struct {
	// ClusterName of the InferenceCluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClusterName string `json:"clusterName"`
	// Index tells the deployment's replicas on that cluster apart; with the cluster it makes the ModelReplica's name.
	// +kubebuilder:validation:Minimum=0
	Index int32 `json:"index"`
	// Engines and the pools they go to.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Engines []EngineAssignment `json:"engines"`
}

// Preemptor is the placement that another one makes room for.
type Preemptor struct {
	// Namespace of the placement.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// Name of the placement.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// UID of the placement: another one of the same name is not meant.
	UID types.UID `json:"uid"`
}

// Move tells people how a move stands. Nothing reads it back.
type Move struct {
	// From names the cluster that the replica leaves.
	// +optional
	From string `json:"from,omitempty"`
	// To names the cluster that it goes to, once known.
	// +optional
	To string `json:"to,omitempty"`
	// Cause of the move, a reason of the condition DisruptionTarget.
	// +optional
	Cause string `json:"cause,omitempty"`
	// Actor is who asked for the move, as the managed fields of the object that caused it name the writer. Empty where
	// nobody did.
	// +optional
	Actor string `json:"actor,omitempty"`
	// Step that the move is at.
	// +optional
	Step string `json:"step,omitempty"`
	// Reason that the replica has not left yet, for programs: Moving, WaitingForBudget, NothingFits, Tolerating, Paused or
	// FailingToServe.
	// +optional
	Reason string `json:"reason,omitempty"`
	// WaitingFor says what the step waits for.
	// +optional
	WaitingFor string `json:"waitingFor,omitempty"`
}

// ReplicaPlacementStatus is how the placement stands.
type ReplicaPlacementStatus struct {
	// Assignment is where the replica goes, once the scheduler has decided.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="status.assignment is immutable once set"
	// +optional
	Assignment *Assignment `json:"assignment,omitempty"`
	// NominatedCluster is where room is being made for the placement.
	// +optional
	NominatedCluster string `json:"nominatedCluster,omitempty"`
	// PreemptedBy is the placement for which the scheduler wants this one's replica to leave. It holds for as long as that
	// placement waits and is nominated to the same cluster; the manager takes it away when it does not any more.
	// +optional
	PreemptedBy *Preemptor `json:"preemptedBy,omitempty"`
	// Move tells people how a move stands.
	// +optional
	Move *Move `json:"move,omitempty"`
	// Conditions of the placement.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ReplicaPlacement is one wanted replica of a ModelDeployment: what the hub scheduler places.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rp,categories=evenkeel
// +kubebuilder:printcolumn:name="Deployment",type=string,JSONPath=`.spec.deploymentName`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.status.assignment.clusterName`
// +kubebuilder:printcolumn:name="Scheduled",type=string,JSONPath=`.status.conditions[?(@.type=="Scheduled")].status`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Leaving",type=string,JSONPath=`.status.conditions[?(@.type=="DisruptionTarget")].reason`
// +kubebuilder:printcolumn:name="Step",type=string,JSONPath=`.status.move.step`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Scheduled")].message`,priority=1
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.assignment) || has(self.status) && has(self.status.assignment)",message="status.assignment is immutable once set"
type ReplicaPlacement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ReplicaPlacementSpec   `json:"spec"`
	Status            ReplicaPlacementStatus `json:"status,omitempty"`
}

// ReplicaPlacementList is a list of ReplicaPlacements.
// +kubebuilder:object:root=true
type ReplicaPlacementList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ReplicaPlacement `json:"items"`
}
