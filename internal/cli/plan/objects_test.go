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

package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const twoObjects = `apiVersion: evenkeel.io/v1alpha1
kind: DisruptionPolicy
metadata: {name: careful}
spec: {selector: {}}
---
# nothing
---
{"apiVersion": "modelplane.ai/v1alpha1", "kind": "InferenceCluster", "metadata": {"name": "gpu-us-east"}}
`

func TestReadObjects(t *testing.T) {
	tests := map[string]struct{ file, in, err string }{
		"from standard input": {file: "-", in: twoObjects},
		"no file named":       {err: "-f - reads standard input"},
		"nothing in it":       {file: "-", in: "# nothing\n", err: "- has no objects"},
		"another kind":        {file: "-", in: "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n", err: "object 1: a plan takes ModelDeployments"},
		"a misspelt field":    {file: "-", in: strings.Replace(twoObjects, "selector", "selectr", 1), err: `object 1: strict decoding error: unknown field "spec.selectr"`},
		"no name":             {file: "-", in: strings.Replace(twoObjects, "name: careful", "labels: {}", 1), err: "has no name"},
		"not YAML":            {file: "-", in: "a: [", err: "object 1"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			objects, err := readObjects(strings.NewReader(tc.in), tc.file, "ml-team")
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Len(t, objects, 2)
			assert.Equal(t, "ml-team", objects[0].GetNamespace())
			assert.Empty(t, objects[1].GetNamespace())
		})
	}
	path := filepath.Join(t.TempDir(), "fleet.yaml")
	require.NoError(t, os.WriteFile(path, []byte(twoObjects), 0o600))
	objects, err := readObjects(nil, path, "ml-team")
	require.NoError(t, err)
	assert.Len(t, objects, 2)
}

// Whatever is in a file, reading it ends with objects that have names, or with an error.
func FuzzReadObjects(f *testing.F) {
	f.Add(twoObjects)
	f.Add("{}")
	f.Add("---\n---\n")
	f.Fuzz(func(t *testing.T, content string) {
		objects, err := decodeObjects([]byte(content), "ml-team")
		if err != nil {
			return
		}
		for _, o := range objects {
			require.NotEmpty(t, o.GetName())
		}
	})
}
