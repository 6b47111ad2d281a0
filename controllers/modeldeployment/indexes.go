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

package modeldeployment

import (
	"context"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Names of the cache's indexes.
const (
	// indexDeployment finds placements, replicas and endpoints by their deployment's name.
	indexDeployment = "deployment"
	// indexCluster finds assigned placements by their cluster.
	indexCluster = "cluster"
	// indexPreemptor finds placements by the one that they are preempted by.
	indexPreemptor = "preemptor"
	// indexModelCache finds deployments by the cache that they name.
	indexModelCache = "modelCache"
	// indexPriorityClass finds deployments by the priority class that they name.
	indexPriorityClass = "priorityClass"
	// indexUnasked finds placements by the cause that no person asks for.
	indexUnasked = "unasked"
	// indexBackend finds endpoints, and routes, by the Service that routes name.
	indexBackend = "backend"
	// indexSelects finds services by a label that they select endpoints by.
	indexSelects = "selects"
	// indexShort finds deployments that do not have all replicas they want.
	indexShort = "short"
)

const isShort = "true"

// placementName splits a placement's name into its deployment's, slot and attempt.
var placementName = regexp.MustCompile(`^(.+)-[0-9]+-[0-9]+$`)

type index struct {
	of      client.Object
	name    string
	extract client.IndexerFunc
}

func addIndexes(ctx context.Context, indexer client.FieldIndexer, serves Serves) error {
	indexes := []index{
		{&evenkeel.ReplicaPlacement{}, indexDeployment, placementDeployments},
		{&evenkeel.ReplicaPlacement{}, indexCluster, placementCluster},
		{&evenkeel.ReplicaPlacement{}, indexUnasked, placementUnasked},
		{&evenkeel.ReplicaPlacement{}, indexPreemptor, placementPreemptor},
		{&modelplane.ModelReplica{}, indexDeployment, labelledDeployment},
		{&modelplane.ModelEndpoint{}, indexDeployment, labelledDeployment},
		{&modelplane.ModelDeployment{}, indexModelCache, deploymentCache},
		{&modelplane.ModelDeployment{}, indexPriorityClass, deploymentPriorityClass},
		{&modelplane.ModelDeployment{}, indexShort, deploymentShort},
	}
	if serves.Traffic {
		indexes = append(indexes,
			index{&modelplane.ModelEndpoint{}, indexBackend, endpointBackend},
			index{&modelplane.ModelService{}, indexSelects, selectedPairs},
			index{&gatewayv1.HTTPRoute{}, indexBackend, routeBackends},
		)
	}
	for _, index := range indexes {
		if err := indexer.IndexField(ctx, index.of, index.name, index.extract); err != nil {
			return fmt.Errorf("index %T by %s: %w", index.of, index.name, err)
		}
	}
	return nil
}

// placementDeployments are the deployment a placement says it belongs to, and the one whose name it takes.
func placementDeployments(o client.Object) []string {
	p := o.(*evenkeel.ReplicaPlacement)
	names := []string{p.Spec.DeploymentName}
	if m := placementName.FindStringSubmatch(p.Name); m != nil && m[1] != p.Spec.DeploymentName {
		names = append(names, m[1])
	}
	return names
}

func placementCluster(o client.Object) []string {
	p := o.(*evenkeel.ReplicaPlacement)
	if p.Status.Assignment == nil || meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionMoved) {
		return nil
	}
	return []string{p.Status.Assignment.ClusterName}
}

// labelledDeployment is the deployment that an object's label names, and the one that owns it should somebody have
// changed the label.
func labelledDeployment(o client.Object) []string {
	var names []string
	if name := o.GetLabels()[modelplane.LabelDeployment]; name != "" {
		names = append(names, name)
	}
	if owner := metav1.GetControllerOf(o); owner != nil && owner.Kind == "ModelDeployment" && (len(names) == 0 || owner.Name != names[0]) {
		names = append(names, owner.Name)
	}
	return names
}

func deploymentCache(o client.Object) []string {
	if ref := o.(*modelplane.ModelDeployment).Spec.Template.Spec.ModelCacheRef; ref != nil {
		return []string{ref.Name}
	}
	return nil
}

func deploymentPriorityClass(o client.Object) []string {
	if name := priorityClassName(o.(*modelplane.ModelDeployment)); name != "" {
		return []string{name}
	}
	return nil
}

func deploymentShort(o client.Object) []string {
	d := o.(*modelplane.ModelDeployment)
	if meta.IsStatusConditionTrue(d.Status.Conditions, modelplane.ConditionReplicasScheduled) {
		return nil
	}
	return []string{isShort}
}
