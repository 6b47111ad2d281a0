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

package tainttime

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/openapi"
	"sigs.k8s.io/controller-runtime/pkg/log"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func fieldPath(taint int) string { return fmt.Sprintf("/spec/taints/%d/timeAdded", taint) }

// schema is the part of an OpenAPI schema that leads to a field.
type schema struct {
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
	Kinds      []struct {
		Kind string `json:"kind"`
	} `json:"x-kubernetes-group-version-kind"`
}

// publishing bounds how long the API server may take to publish the schema of a kind that it serves already.
const publishing = 30 * time.Second

// awaitField tells whether taints have timeAdded, as soon as the hub has published the schema of InferenceClusters, which
// it does a moment after it begins to serve them. One that does not publish it in time counts as one without the field.
func awaitField(ctx context.Context, hub openapiClient, within time.Duration) (bool, error) {
	has := false
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, within, true, func(context.Context) (bool, error) {
		var published bool
		var err error
		has, published, err = hasField(hub)
		return published, err
	})
	if wait.Interrupted(err) {
		log.FromContext(ctx).Info("The hub publishes no schema of InferenceClusters; the times of their taints go into an annotation", "waited", within)
		return false, nil
	}
	return has, err
}

// hasField tells whether the hub's schema of InferenceClusters is published, and whether it has timeAdded in taints.
// Where it has not, the API server prunes the field.
func hasField(hub openapiClient) (has, published bool, err error) {
	paths, err := hub.OpenAPIV3().Paths()
	if err != nil {
		return false, false, err
	}
	group, found := paths["apis/"+modelplane.GroupVersion.String()]
	if !found {
		return false, false, nil
	}
	text, err := group.Schema(runtime.ContentTypeJSON)
	if err != nil {
		return false, false, err
	}
	var document struct {
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return false, false, err
	}
	for _, s := range document.Components.Schemas {
		if len(s.Kinds) != 1 || s.Kinds[0].Kind != "InferenceCluster" {
			continue
		}
		if taint := s.Properties["spec"].Properties["taints"].Items; taint != nil {
			_, has = taint.Properties["timeAdded"]
		}
		return has, true, nil
	}
	return false, false, nil
}

type openapiClient interface {
	OpenAPIV3() openapi.Client
}
