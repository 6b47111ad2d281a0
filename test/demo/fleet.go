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

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// namespace of the example deployments.
const namespace = "ml-team"

// fleet is what the API server said at one moment.
type fleet struct {
	clusters    []modelplane.InferenceCluster
	deployments []modelplane.ModelDeployment
	replicas    []modelplane.ModelReplica
	placements  []evenkeel.ReplicaPlacement // without finished ones
	moved       map[string]int              // how many finished ones have left a cluster
}

func readFleet(ctx context.Context, c client.Client) (*fleet, error) {
	var clusters modelplane.InferenceClusterList
	var deployments modelplane.ModelDeploymentList
	var replicas modelplane.ModelReplicaList
	var placements evenkeel.ReplicaPlacementList
	for _, list := range []client.ObjectList{&clusters, &deployments, &replicas, &placements} {
		if err := c.List(ctx, list); err != nil {
			return nil, err
		}
	}
	f := &fleet{clusters: clusters.Items, deployments: deployments.Items, replicas: replicas.Items, moved: map[string]int{}}
	for _, p := range placements.Items {
		switch {
		case !meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionMoved):
			f.placements = append(f.placements, p)
		case p.Status.Assignment != nil:
			f.moved[p.Status.Assignment.ClusterName]++
		}
	}
	return f, nil
}

// deployment returns an empty one if there is none of the name.
func (f *fleet) deployment(name string) *modelplane.ModelDeployment {
	for i := range f.deployments {
		if f.deployments[i].Name == name {
			return &f.deployments[i]
		}
	}
	return &modelplane.ModelDeployment{}
}

// condition returns an empty one if the deployment has none of the type.
func (f *fleet) condition(deployment, conditionType string) metav1.Condition {
	if c := meta.FindStatusCondition(f.deployment(deployment).Status.Conditions, conditionType); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func (f *fleet) replicasOf(deployment string) []*modelplane.ModelReplica {
	return f.selectReplicas(func(r *modelplane.ModelReplica) bool { return deploymentOf(r) == deployment })
}

func (f *fleet) replicasOn(cluster string) []*modelplane.ModelReplica {
	return f.selectReplicas(func(r *modelplane.ModelReplica) bool { return r.Spec.ClusterName == cluster })
}

func (f *fleet) selectReplicas(match func(*modelplane.ModelReplica) bool) []*modelplane.ModelReplica {
	var selected []*modelplane.ModelReplica
	for i := range f.replicas {
		if match(&f.replicas[i]) {
			selected = append(selected, &f.replicas[i])
		}
	}
	return selected
}

// spread tells how many replicas of a deployment are on which clusters, such as
// "gpu-us-east:2 gpu-us-west:1", terminating ones too.
func (f *fleet) spread(deployment string) string {
	return tally(f.replicasOf(deployment), func(r *modelplane.ModelReplica) string { return r.Spec.ClusterName })
}

// deploymentsOn tells how many replicas of which deployments are on a cluster.
func (f *fleet) deploymentsOn(cluster string) string {
	return tally(f.replicasOn(cluster), deploymentOf)
}

// ready counts the replicas of a deployment that serve.
func (f *fleet) ready(deployment string) int {
	return len(slices.DeleteFunc(f.replicasOf(deployment), func(r *modelplane.ModelReplica) bool { return !serves(r) }))
}

// identities returns the replicas of some deployments by name, with their UIDs.
func (f *fleet) identities(deployments ...string) map[string]types.UID {
	all := map[string]types.UID{}
	for _, deployment := range deployments {
		for _, replica := range f.replicasOf(deployment) {
			all[replica.Name+" on "+replica.Spec.ClusterName] = replica.UID
		}
	}
	return all
}

// complete tells whether all replicas wanted serve, no other is there, and the
// deployments say so.
func (f *fleet) complete() bool {
	for i := range f.deployments {
		if !f.completeOne(f.deployments[i].Name) {
			return false
		}
	}
	return len(f.deployments) > 0
}

func (f *fleet) completeOne(name string) bool {
	d := f.deployment(name)
	wanted := int(d.Spec.Replicas)
	return wanted > 0 && f.ready(name) == wanted && len(f.replicasOf(name)) == wanted &&
		d.Status.Replicas != nil && int(d.Status.Replicas.Ready) == wanted &&
		f.condition(name, modelplane.ConditionReplicasScheduled).Status == metav1.ConditionTrue
}

// summary is a line about the progress of all deployments.
func (f *fleet) summary() string {
	var parts []string
	for i := range f.deployments {
		name := f.deployments[i].Name
		part := fmt.Sprintf("%s %d/%d ready", name, f.ready(name), f.deployments[i].Spec.Replicas)
		var loading, ending int
		for _, replica := range f.replicasOf(name) {
			switch {
			case !replica.DeletionTimestamp.IsZero():
				ending++
			case !serves(replica):
				loading++
			}
		}
		parts = append(parts, part+count(loading, "loading")+count(ending, "ending")+count(f.pending(name), "pending"))
	}
	return strings.Join(parts, " | ")
}

// pending counts the placements of a deployment that have no cluster yet.
func (f *fleet) pending(deployment string) int {
	n := 0
	for i := range f.placements {
		if f.placements[i].Spec.DeploymentName == deployment && f.placements[i].Status.Assignment == nil {
			n++
		}
	}
	return n
}

func count(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d %s", n, what)
}

func tally(replicas []*modelplane.ModelReplica, by func(*modelplane.ModelReplica) string) string {
	counts := map[string]int{}
	for _, replica := range replicas {
		counts[by(replica)]++
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s:%d", key, counts[key]))
	}
	return strings.Join(parts, " ")
}

func deploymentOf(replica *modelplane.ModelReplica) string {
	return replica.Labels[modelplane.LabelDeployment]
}

func serves(replica *modelplane.ModelReplica) bool {
	return replica.DeletionTimestamp.IsZero() && meta.IsStatusConditionTrue(replica.Status.Conditions, modelplane.ConditionReady)
}
