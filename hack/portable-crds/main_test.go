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
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const crds = "../../manifests/dev/crds"

// TestOnlyExtraFieldsAreRemoved compares what is derived from the real CRDs with
// them, property by property.
func TestOnlyExtraFieldsAreRemoved(t *testing.T) {
	target := t.TempDir()
	require.NoError(t, run(crds, target, io.Discard))

	sources, err := filepath.Glob(filepath.Join(crds, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	var removed []string
	for _, source := range sources {
		before, after := properties(t, source), properties(t, filepath.Join(target, filepath.Base(source)))
		for path, schema := range before {
			if _, ok := after[path]; !ok {
				removed = append(removed, filepath.Base(source)+": "+path)
				continue
			}
			assert.Empty(t, cmp.Diff(schema, after[path]), path)
		}
		for path := range after {
			assert.Contains(t, before, path, "a property was added")
		}
	}
	assert.ElementsMatch(t, []string{
		"modelplane.ai_modeldeployments.yaml: .spec.template.spec.schedulerName",
		"modelplane.ai_modeldeployments.yaml: .spec.template.spec.priorityClassName",
		"modelplane.ai_modeldeployments.yaml: .spec.template.spec.tolerations[].tolerationSeconds",
		"modelplane.ai_inferenceclusters.yaml: .spec.taints[].timeAdded",
	}, removed)
}

// TestUnchangedTextStays makes sure that a person who compares the two folders sees
// the removed fields only: the text of the others is the same.
func TestUnchangedTextStays(t *testing.T) {
	target := t.TempDir()
	require.NoError(t, run(crds, target, io.Discard))
	for _, name := range []string{"modelplane.ai_modelreplicas.yaml", "modelplane.ai_modelservices.yaml"} {
		before, err := os.ReadFile(filepath.Join(crds, name))
		require.NoError(t, err)
		after, err := os.ReadFile(filepath.Join(target, name))
		require.NoError(t, err)
		assert.Equal(t, string(before), string(after))
	}
}

func TestStaleFilesGo(t *testing.T) {
	target := t.TempDir()
	stale := filepath.Join(target, "modelplane.ai_gone.yaml")
	require.NoError(t, os.WriteFile(stale, []byte("{}"), 0o600))
	require.NoError(t, run(crds, target, io.Discard))
	assert.NoFileExists(t, stale)
}

func TestErrors(t *testing.T) {
	deployment, err := os.ReadFile(filepath.Join(crds, "modelplane.ai_modeldeployments.yaml"))
	require.NoError(t, err)
	cluster, err := os.ReadFile(filepath.Join(crds, "modelplane.ai_inferenceclusters.yaml"))
	require.NoError(t, err)
	replace := func(content []byte, from, to string) string {
		require.Contains(t, string(content), from)
		return strings.ReplaceAll(string(content), from, to)
	}
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"empty folder":   {files: nil, want: "no CRDs"},
		"not YAML":       {files: map[string]string{"a.yaml": "a: b: c"}, want: "a.yaml"},
		"not a CRD":      {files: map[string]string{"a.yaml": "kind: ConfigMap"}, want: "no spec.versions"},
		"a kind is gone": {files: map[string]string{"md.yaml": string(deployment)}, want: "inferenceclusters.modelplane.ai"},
		"a field was renamed": {
			files: map[string]string{"md.yaml": replace(deployment, "schedulerName:", "scheduler:"), "ic.yaml": string(cluster)},
			want:  "no property schedulerName",
		},
		"a list was renamed": {
			files: map[string]string{"md.yaml": string(deployment), "ic.yaml": replace(cluster, " taints:", " marks:")},
			want:  "remove spec.taints.[].timeAdded",
		},
		"a field became required": {
			files: map[string]string{"md.yaml": string(deployment), "ic.yaml": replace(cluster, "- effect\n", "- effect\n                  - timeAdded\n")},
			want:  "requires property timeAdded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			source, target := t.TempDir(), t.TempDir()
			for file, content := range tc.files {
				require.NoError(t, os.WriteFile(filepath.Join(source, file), []byte(content), 0o600))
			}
			assert.ErrorContains(t, run(source, target, io.Discard), tc.want)
			left, err := os.ReadDir(target)
			require.NoError(t, err)
			assert.Empty(t, left, "a failed run must write nothing")
		})
	}
}

// properties returns each property's schema, without its own properties, by path.
func properties(t *testing.T, path string) map[string]map[string]any {
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	crd := map[string]any{}
	require.NoError(t, yaml.Unmarshal(content, &crd))
	versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
	require.NoError(t, err)
	require.Len(t, versions, 1)
	schema, _, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema")
	require.NoError(t, err)
	all := map[string]map[string]any{}
	collect("", schema, all)
	return all
}

func collect(path string, schema map[string]any, into map[string]map[string]any) {
	own := map[string]any{}
	for key, value := range schema {
		switch nested := value.(type) {
		case map[string]any:
			if key == "items" {
				collect(path+"[]", nested, into)
				continue
			}
			if key == "properties" {
				for name, property := range nested {
					collect(path+"."+name, property.(map[string]any), into)
				}
				continue
			}
		}
		own[key] = value
	}
	into[path] = own
}
