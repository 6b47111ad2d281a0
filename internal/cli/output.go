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

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"
)

// Formats in which commands print.
const (
	FormatTable = "table"
	FormatWide  = "wide"
	FormatJSON  = "json"
	FormatYAML  = "yaml"
	// FormatName is the kind and name of each object, as kubectl has it.
	FormatName = "name"
	// FormatJSONPath begins a format that goes on with a template.
	FormatJSONPath = "jsonpath="
)

var formats = []string{FormatTable, FormatWide, FormatJSON, FormatYAML}

// KnownFormat tells whether a value of --output is one of the formats.
func KnownFormat(format string) bool {
	return slices.Contains(formats, format)
}

// Formats lists the formats for completion.
func Formats() []string { return slices.Clone(formats) }

// FormatNames lists the formats for messages.
func FormatNames() string { return strings.Join(formats, ", ") }

// ValidateOutput refuses a value of --output that is neither one of the formats nor jsonpath with a template.
func ValidateOutput(output string, formats ...string) error {
	template, is := strings.CutPrefix(output, FormatJSONPath)
	switch {
	case slices.Contains(formats, output):
		return nil
	case is && template != "":
		_, err := jsonPath(template)
		return err
	case is, output == strings.TrimSuffix(FormatJSONPath, "="):
		return fmt.Errorf("-o jsonpath needs a template, such as -o jsonpath='{.items[*].name}'")
	default:
		return fmt.Errorf("unsupported output format %q (supported: %s, jsonpath=TEMPLATE)", output, strings.Join(formats, ", "))
	}
}

// Structured tells whether a format shows the object itself, by WriteObject.
func Structured(format string) bool {
	return format == FormatJSON || format == FormatYAML || strings.HasPrefix(format, FormatJSONPath)
}

// WriteObject prints an object as YAML, by a JSONPath template, or for any other format as indented JSON.
func WriteObject(out io.Writer, format string, object any) error {
	content, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		return err
	}
	if template, is := strings.CutPrefix(format, FormatJSONPath); is {
		return writeJSONPath(out, template, content)
	}
	content = append(content, '\n')
	if format == FormatYAML {
		if content, err = yaml.JSONToYAML(content); err != nil {
			return err
		}
	}
	_, err = out.Write(content)
	return err
}

// writeJSONPath takes the object as JSON, since the template names fields as that does. Its whole numbers stay whole: templates
// compare them with such.
func writeJSONPath(out io.Writer, template string, content []byte) error {
	printer, err := jsonPath(template)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(content, &u.Object); err != nil {
		return err
	}
	return printer.PrintObj(u, out)
}

func jsonPath(template string) (*printers.JSONPathPrinter, error) {
	printer, err := printers.NewJSONPathPrinter(template)
	if err != nil {
		return nil, fmt.Errorf("-o jsonpath=%s: %w", template, err)
	}
	printer.AllowMissingKeys(true) // as kubectl does
	return printer, nil
}
