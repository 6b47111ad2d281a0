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

// Labels, annotations and names that Modelplane gives meaning to.
const (
	// LabelDeployment names the ModelDeployment that a ModelReplica or ModelEndpoint belongs to.
	LabelDeployment = "modelplane.ai/deployment"
	// LabelCluster names the InferenceCluster that a ModelReplica or ModelEndpoint is on.
	LabelCluster = "modelplane.ai/cluster"
	// LabelReplicaIndex tells the replicas of one deployment on one cluster apart.
	LabelReplicaIndex = "modelplane.ai/replica-index"
	// ReservedPrefix is the prefix of keys that a template's labels must not use.
	ReservedPrefix = "modelplane.ai/"

	// AnnotationCompositionResourceName is the key by which Crossplane knows a composed resource.
	AnnotationCompositionResourceName = "crossplane.io/composition-resource-name"
	// AnnotationReconcileRequestedAt makes Crossplane reconcile at once when its value changes.
	AnnotationReconcileRequestedAt = "crossplane.io/reconcile-requested-at"
	// AnnotationDeletionAttempt records that the object was to be deleted while it was in use. Crossplane deletes it once
	// it is not any more.
	AnnotationDeletionAttempt = "usage.crossplane.io/deletion-attempt-with-policy"
)

// Condition types of Modelplane's kinds.
const (
	// ConditionReady is set on every composite resource.
	ConditionReady = "Ready"
	// ConditionReplicasScheduled tells whether a ModelDeployment's replicas all have a cluster.
	ConditionReplicasScheduled = "ReplicasScheduled"
	// ConditionReplicasReady tells whether a ModelDeployment's placed replicas all serve.
	ConditionReplicasReady = "ReplicasReady"
	// ConditionModelCacheResolved tells whether the ModelCache a ModelDeployment names was found.
	ConditionModelCacheResolved = "ModelCacheResolved"
	// ConditionRoutingReady tells whether a ModelEndpoint's backend, or a ModelService's route, is configured.
	ConditionRoutingReady = "RoutingReady"
)
