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
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/openapi"

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

// hasField tells whether the hub's schema of InferenceClusters has timeAdded in taints. Where it has not, the API server
// prunes the field.
func hasField(hub openapiClient) (bool, error) {
	paths, err := hub.OpenAPIV3().Paths()
	if err != nil {
		return false, err
	}
	group, found := paths["apis/"+modelplane.GroupVersion.String()]
	if !found {
		return false, nil
	}
	text, err := group.Schema(runtime.ContentTypeJSON)
	if err != nil {
		return false, err
	}
	var document struct {
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return false, err
	}
	for _, s := range document.Components.Schemas {
		if len(s.Kinds) != 1 || s.Kinds[0].Kind != "InferenceCluster" {
			continue
		}
		if taint := s.Properties["spec"].Properties["taints"].Items; taint != nil {
			_, has := taint.Properties["timeAdded"]
			return has, nil
		}
	}
	return false, nil
}

type openapiClient interface {
	OpenAPIV3() openapi.Client
}
