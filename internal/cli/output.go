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
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Formats in which the traffic commands and `get` print.
const (
	FormatTable = "table"
	FormatWide  = "wide"
	FormatJSON  = "json"
	FormatYAML  = "yaml"
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

// WriteObject prints an object as YAML, or for any other format as indented JSON.
func WriteObject(out io.Writer, format string, object any) error {
	content, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		return err
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
