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

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Resources of the hub that this package reads.
const (
	resourcePlacements = "replicaplacements"
	resourceClusters   = "inferenceclusters"
	resourceReplicas   = "modelreplicas"
	resourcePolicies   = "disruptionpolicies"
	resourceModels     = "modeldeployments"
)

// ReplicasResource is the resource of ModelReplicas, whose changes plugins wait for.
var ReplicasResource = modelplane.GroupVersion.WithResource(resourceReplicas)

// Resources that a scheduler reads only where a plugin asks for them.
var (
	// PoliciesResource is the resource of DisruptionPolicies.
	PoliciesResource = evenkeel.GroupVersion.WithResource(resourcePolicies)
	// DeploymentsResource is the resource of ModelDeployments.
	DeploymentsResource = modelplane.GroupVersion.WithResource(resourceModels)
)

var (
	scheme         = runtime.NewScheme()
	parameterCodec = runtime.NewParameterCodec(scheme)
)

func init() {
	utilruntime.Must(evenkeel.AddToScheme(scheme))
	utilruntime.Must(modelplane.AddToScheme(scheme))
}

// Hub reaches the custom resources of a hub.
type Hub struct {
	evenkeel   rest.Interface
	modelplane rest.Interface
}

// NewHub makes clients from a configuration, of which the content type is not used: the API server has no protobuf
// for custom resources.
func NewHub(config *rest.Config) (*Hub, error) {
	config = rest.CopyConfig(config)
	config.APIPath = "/apis"
	config.ContentType = runtime.ContentTypeJSON
	config.AcceptContentTypes = runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()

	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make the client of the hub's custom resources: %w", err)
	}
	clientFor := func(version schema.GroupVersion) (rest.Interface, error) {
		config := rest.CopyConfig(config)
		config.GroupVersion = &version
		client, err := rest.RESTClientForConfigAndClient(config, httpClient)
		if err != nil {
			return nil, fmt.Errorf("make the client of %s: %w", version, err)
		}
		return client, nil
	}
	hub := &Hub{}
	if hub.evenkeel, err = clientFor(evenkeel.GroupVersion); err != nil {
		return nil, err
	}
	if hub.modelplane, err = clientFor(modelplane.GroupVersion); err != nil {
		return nil, err
	}
	return hub, nil
}

// listRequest builds a list or a watch of a resource in all namespaces.
func listRequest(client rest.Interface, resource string, options metav1.ListOptions) *rest.Request {
	request := client.Get().Resource(resource).VersionedParams(&options, parameterCodec)
	if options.TimeoutSeconds != nil {
		request = request.Timeout(time.Duration(*options.TimeoutSeconds) * time.Second)
	}
	return request
}
