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
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// kinds writes the fields of Evenkeel's own kinds, as their CustomResourceDefinitions have them, and of the configuration
// files.
func kinds(p *page) error {
	files, err := filepath.Glob("manifests/hub/crds/*.yaml")
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		crd := &apiextensions.CustomResourceDefinition{}
		if err := yaml.Unmarshal(content, crd); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, version := range crd.Spec.Versions {
			fmt.Fprintf(p, "## %s (%s/%s)\n\n", crd.Spec.Names.Kind, crd.Spec.Group, version.Name)
			var rows [][]string
			for _, part := range []string{"spec", "status"} {
				if schema, has := version.Schema.OpenAPIV3Schema.Properties[part]; has {
					rows = append(rows, fields(part, &schema)...)
				}
			}
			p.table([]string{"Field", "Type", meaningColumn}, rows)
		}
	}
	return configurations(p)
}

// fields lists what is below a field. Conditions have Kubernetes' own fields.
func fields(path string, schema *apiextensions.JSONSchemaProps) [][]string {
	var rows [][]string
	names := make([]string, 0, len(schema.Properties))
	for name := range schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		property := schema.Properties[name]
		below := path + "." + name
		rows = append(rows, []string{code(below), code(typeOf(&property)), prose(property.Description)})
		element := &property
		if property.Items != nil && property.Items.Schema != nil {
			element, below = property.Items.Schema, below+"[]"
		}
		if name != "conditions" {
			rows = append(rows, fields(below, element)...)
		}
	}
	return rows
}

func typeOf(schema *apiextensions.JSONSchemaProps) string {
	switch {
	case len(schema.Enum) > 0:
		var values []string
		for _, v := range schema.Enum {
			values = append(values, strings.Trim(string(v.Raw), `"`))
		}
		return strings.Join(values, ", ")
	case schema.XIntOrString:
		return "integer or percentage"
	case schema.Type == "array" && schema.Items != nil && schema.Items.Schema != nil:
		return "list of " + typeOf(schema.Items.Schema)
	case schema.Format != "":
		return schema.Type + " (" + schema.Format + ")"
	}
	return schema.Type
}
