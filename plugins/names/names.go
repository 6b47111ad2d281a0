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

// Package names holds the names of the hub scheduler's own plugins, by which profiles enable and configure them. It
// holds nothing else, so that any package can name a plugin without linking it.
package names

const (
	// ClusterReady keeps new replicas off clusters that cannot take any.
	ClusterReady = "ClusterReady"
	// PoolFit finds a node pool with matching devices and free nodes for each engine.
	PoolFit = "PoolFit"
	// Rank chooses one of the clusters that fit.
	Rank = "Rank"
	// PlacementBinder writes the decision to the ReplicaPlacement.
	PlacementBinder = "PlacementBinder"
	// Preemption says with numbers why a placement fits nowhere, and makes room for it if it is told to.
	Preemption = "Preemption"
)
