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

package drain

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/test/benchmark/programs"
)

const (
	namespace = programs.FleetNamespace
	// room is how many replicas a cluster has nodes for.
	room = 10
)

// barePlacement is what the bare writes are made to: an object of the size of those that a move writes, of which no
// program takes notice.
func barePlacement(i int) *evenkeel.ReplicaPlacement {
	return &evenkeel.ReplicaPlacement{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("bare-%06d", i)},
		Spec: evenkeel.ReplicaPlacementSpec{
			DeploymentName: "bare", Attempt: 1, SchedulerName: "nobody",
			Engines: []evenkeel.EngineRequirements{{Name: "main", Copies: 1, Members: []evenkeel.MemberRequirements{{
				Role: modelplane.MemberRoleStandalone, Nodes: 1, Devices: []modelplane.DeviceRequest{programs.DeviceRequest()},
			}}}},
		},
	}
}

// fleetState is how far the replicas are.
type fleetState struct {
	// ready counts replicas that serve, and away those of them that are on no drained cluster.
	ready, away int
	// wrong is the first deployment that does not have its replicas.
	wrong string
}

// listReplicas lists those of all deployments.
func listReplicas(ctx context.Context, c client.Client) ([]modelplane.ModelReplica, error) {
	var replicas modelplane.ModelReplicaList
	if err := c.List(ctx, &replicas, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the replicas: %w", err)
	}
	return replicas.Items, nil
}

// occupied gives the clusters that replicas are on, sorted.
func occupied(replicas []modelplane.ModelReplica) []string {
	clusters := map[string]bool{}
	for i := range replicas {
		clusters[replicas[i].Spec.ClusterName] = true
	}
	return slices.Sorted(maps.Keys(clusters))
}

// judge counts.
func judge(replicas []modelplane.ModelReplica, s shape, drained []string) fleetState {
	var state fleetState
	byDeployment := map[string]int{}
	for i := range replicas {
		r := &replicas[i]
		byDeployment[r.Labels[modelplane.LabelDeployment]]++
		if r.DeletionTimestamp != nil || !isReady(r) {
			continue
		}
		state.ready++
		if !slices.Contains(drained, r.Spec.ClusterName) {
			state.away++
		}
	}
	for i := range s.deployments {
		if name := programs.DeploymentName(i); byDeployment[name] != s.replicas && state.wrong == "" {
			state.wrong = fmt.Sprintf("%s has %d replicas instead of %d", name, byDeployment[name], s.replicas)
		}
	}
	return state
}

func isReady(r *modelplane.ModelReplica) bool {
	for _, c := range r.Status.Conditions {
		if c.Type == modelplane.ConditionReady {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}
