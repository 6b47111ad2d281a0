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
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// field is the path of a property in a schema; "[]" steps into a list's items.
type field []string

func (f field) String() string { return strings.Join(f, ".") }

// extraFields lists, by CRD, the fields that Evenkeel adds to Modelplane's kinds.
func extraFields() map[string][]field {
	return map[string][]field{
		"modeldeployments.modelplane.ai": {
			{"spec", "template", "spec", "schedulerName"},
			{"spec", "template", "spec", "priorityClassName"},
			{"spec", "template", "spec", "tolerations", "[]", "tolerationSeconds"},
		},
		"inferenceclusters.modelplane.ai": {
			{"spec", "taints", "[]", "timeAdded"},
		},
	}
}

func names(fields map[string][]field) []string {
	return slices.Sorted(maps.Keys(fields))
}

// removeFields removes properties from the schema of every version of a CRD. It is
// an error if one is not there, or if the schema requires it.
func removeFields(crd *unstructured.Unstructured, fields []field) error {
	versions, found, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		return err
	}
	if !found || len(versions) == 0 {
		return errors.New("not a CustomResourceDefinition: it has no spec.versions")
	}
	for i := range versions {
		version, ok := versions[i].(map[string]any)
		if !ok {
			return fmt.Errorf("spec.versions[%d] is not an object", i)
		}
		schema, _, err := unstructured.NestedFieldNoCopy(version, "schema", "openAPIV3Schema")
		if err != nil {
			return err
		}
		for _, f := range fields {
			if err := removeField(schema, f); err != nil {
				return fmt.Errorf("remove %s from version %v: %w", f, version["name"], err)
			}
		}
	}
	return unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")
}

func removeField(schema any, f field) error {
	parent, err := descend(schema, f[:len(f)-1])
	if err != nil {
		return err
	}
	name := f[len(f)-1]
	properties, ok := parent["properties"].(map[string]any)
	if !ok || properties[name] == nil {
		return fmt.Errorf("the schema has no property %s", name)
	}
	required, _ := parent["required"].([]any)
	if slices.Contains(required, any(name)) {
		return fmt.Errorf("the schema requires property %s", name)
	}
	delete(properties, name)
	return nil
}

// descend follows a path from a schema to the schema of the object at its end.
func descend(schema any, path field) (map[string]any, error) {
	for i, step := range path {
		object, ok := schema.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("no schema of an object at %q", path[:i])
		}
		if step == "[]" {
			schema = object["items"]
			continue
		}
		properties, _ := object["properties"].(map[string]any)
		schema = properties[step]
	}
	object, ok := schema.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("no schema of an object at %q", path)
	}
	return object, nil
}
