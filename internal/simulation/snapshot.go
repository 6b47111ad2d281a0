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

package simulation

import (
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Snapshot is a fleet as it was read from a hub. A simulation does not change the objects.
type Snapshot struct {
	Clusters        []modelplane.InferenceCluster
	Deployments     []modelplane.ModelDeployment
	Replicas        []modelplane.ModelReplica
	Endpoints       []modelplane.ModelEndpoint
	Placements      []evenkeel.ReplicaPlacement
	Policies        []evenkeel.DisruptionPolicy
	PriorityClasses []schedulingv1.PriorityClass
	// Caches are the ModelCaches, nil on a hub that does not serve them.
	Caches []modelplane.ModelCache
	// ServesCaches tells whether the hub serves ModelCaches.
	ServesCaches bool
	// Now is when it was read.
	Now time.Time
}
