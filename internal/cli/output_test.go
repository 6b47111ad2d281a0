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
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestValidateOutput(t *testing.T) {
	for _, output := range []string{"table", "json", "jsonpath={.items[*].name}"} {
		require.NoError(t, ValidateOutput(output, "table", "json"), output)
	}
	for output, said := range map[string]string{
		"":                 "unsupported output format",
		"yaml":             `unsupported output format "yaml" (supported: table, json, jsonpath=TEMPLATE)`,
		"json=x":           `unsupported output format "json=x"`,
		"jsonpath":         "-o jsonpath needs a template",
		"jsonpath=":        "-o jsonpath needs a template",
		"jsonpath={.items": "-o jsonpath={.items: ",
	} {
		assert.ErrorContains(t, ValidateOutput(output, "table", "json"), said)
	}
}

func TestWriteObject(t *testing.T) {
	object := map[string]any{"items": []any{map[string]any{"name": "a", "count": 1}, map[string]any{"name": "b"}}}
	for format, want := range map[string]string{
		"json":                                  "{\n  \"items\": [\n    {\n      \"count\": 1,\n      \"name\": \"a\"\n    },\n    {\n      \"name\": \"b\"\n    }\n  ]\n}\n",
		"yaml":                                  "items:\n- count: 1\n  name: a\n- name: b\n",
		`jsonpath={.items[*].name}{"\n"}`:       "a b\n",
		"jsonpath={.items[*].count}":            "1",
		"jsonpath={.nothing}":                   "",
		"jsonpath={.items[?(@.count==1)].name}": "a",
	} {
		assert.True(t, Structured(format))
		out := &bytes.Buffer{}
		require.NoError(t, WriteObject(out, format, object), format)
		assert.Equal(t, want, out.String(), format)
	}
	assert.False(t, Structured("table"))
}
