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

package virtual

import corev1 "k8s.io/api/core/v1"

// LabelDeployment of a translated Pod names the ModelDeployment that its placement belongs to.
const LabelDeployment = "evenkeel.io/deployment"

// Annotations of translated objects. Their values are canonical JSON, except where a comment says otherwise.
const (
	// AnnotationPools of a Node holds the node pools that the cluster publishes.
	AnnotationPools = "evenkeel.io/pools"
	// AnnotationRequirements of a Pod holds its Requirements.
	AnnotationRequirements = "evenkeel.io/requirements"
	// AnnotationAssignment of a Pod holds the placement's assignment, once there is one.
	AnnotationAssignment = "evenkeel.io/assignment"
	// AnnotationLeaving of a Pod is "true" while its replica is about to leave its cluster.
	AnnotationLeaving = "evenkeel.io/leaving"
	// AnnotationPreemptor of a Pod is the UID of the placement that it makes room for. Not JSON.
	AnnotationPreemptor = "evenkeel.io/preemptor"
	// AnnotationCacheStorage of a Node is the storage class in which its cluster keeps cached weights. Not JSON.
	AnnotationCacheStorage = "evenkeel.io/cache-storage"
	// AnnotationReplica of a Pod names the ModelReplica that its placement has adopted, which may be called anything. It is
	// absent where the name follows from the assignment.
	AnnotationReplica = "evenkeel.io/replica"
)

// NodeConditionRoutable is the condition of a Node that tells whether the cluster's engines can be reached.
const NodeConditionRoutable corev1.NodeConditionType = "evenkeel.io/Routable"

// ResourceNodes is how many nodes a cluster publishes and a placement needs at most: what quotas are counted in.
const ResourceNodes corev1.ResourceName = "evenkeel.io/nodes"
