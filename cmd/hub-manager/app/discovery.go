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

// hubKinds is what the hub serves of those groups, asked once for each.
type hubKinds struct {
	client discovery.DiscoveryInterface
	served map[string]map[string]bool
}

func newHubKinds(connection *rest.Config) (*hubKinds, error) {
	client, err := discovery.NewDiscoveryClientForConfig(connection)
	if err != nil {
		return nil, err
	}
	return &hubKinds{client: client, served: map[string]map[string]bool{}}, nil
}

// notServed gives those of the resources that the hub does not serve.
func (h *hubKinds) notServed(resources ...schema.GroupResource) ([]string, error) {
	var missing []string
	for _, resource := range resources {
		served, err := h.servedOf(resource.Group)
		if err != nil {
			return nil, err
		}
		if !served[resource.Resource] {
			missing = append(missing, resource.String())
		}
	}
	return missing, nil
}

func (h *hubKinds) servedOf(group string) (map[string]bool, error) {
	if served, asked := h.served[group]; asked {
		return served, nil
	}
	version := versions[group]
	list, err := h.client.ServerResourcesForGroupVersion(version.String())
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("ask the hub what it serves of %s: %w", version, err)
	}
	served := map[string]bool{}
	if err == nil {
		for _, r := range list.APIResources {
			served[r.Name] = true
		}
	}
	h.served[group] = served
	return served, nil
}
