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

package app

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	gateway "sigs.k8s.io/gateway-api/apis/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// versions are the versions in which this program knows each group.
var versions = map[string]schema.GroupVersion{
	modelplane.GroupVersion.Group: modelplane.GroupVersion,
	evenkeel.GroupVersion.Group:   evenkeel.GroupVersion,
	ome.GroupVersion.Group:        ome.GroupVersion,
	gateway.GroupName:             schema.GroupVersion(gateway.GroupVersion),
}

// notServed gives those of the resources that the hub does not serve.
func notServed(connection *rest.Config, resources ...schema.GroupResource) ([]string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(connection)
	if err != nil {
		return nil, err
	}
	served := map[schema.GroupResource]bool{}
	asked := map[string]bool{}
	var missing []string
	for _, resource := range resources {
		if !asked[resource.Group] {
			asked[resource.Group] = true
			list, err := client.ServerResourcesForGroupVersion(versions[resource.Group].String())
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("ask the hub what it serves of %s: %w", versions[resource.Group], err)
			}
			if err == nil {
				for _, r := range list.APIResources {
					served[schema.GroupResource{Group: resource.Group, Resource: r.Name}] = true
				}
			}
		}
		if !served[resource] {
			missing = append(missing, resource.String())
		}
	}
	return missing, nil
}
