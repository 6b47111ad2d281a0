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
	"k8s.io/cli-runtime/pkg/resource"
)

const (
	policyFile = `apiVersion: evenkeel.io/v1alpha1
kind: DisruptionPolicy
metadata: {name: careful}
spec: {selector: {}}
`
	clusterFile    = `{"apiVersion": "modelplane.ai/v1alpha1", "kind": "InferenceCluster", "metadata": {"name": "gpu-us-east"}}` + "\n"
	deploymentFile = `apiVersion: modelplane.ai/v1alpha1
kind: ModelDeployment
metadata: {name: chat}
spec: {replicas: 2, template: {spec: {engines: [{name: main, members: []}]}}}
`
	podFile   = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
	listFile  = "apiVersion: v1\nkind: List\nitems:\n- " + `{"apiVersion": "evenkeel.io/v1alpha1", "kind": "DisruptionPolicy", "metadata": {"name": "careful"}, "spec": {"selector": {}}}` + "\n- " + clusterFile
	classFile = "apiVersion: modelplane.ai/v1alpha1\nkind: InferenceClass\nmetadata: {name: h100}\n"
)

func fromStream(content string, within space) (*contents, error) {
	return readObjects(strings.NewReader(content), resource.FilenameOptions{Filenames: []string{"-"}}, within)
}

func TestReadObjects(t *testing.T) {
	for name, content := range map[string]string{
		"documents":      policyFile + "---\n# nothing\n---\n" + clusterFile,
		"a list":         listFile,
		"with others":    policyFile + "---\n" + podFile + "---\n" + clusterFile,
		"with a class":   policyFile + "---\n" + classFile + "---\n" + clusterFile,
		"not the first":  "---\n---\n" + policyFile + "---\n" + clusterFile,
		"own namespace":  strings.Replace(policyFile, "name: careful", "name: careful, namespace: ml-team", 1) + "---\n" + clusterFile,
		"windows breaks": strings.ReplaceAll(policyFile+"---\n"+clusterFile, "\n", "\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			read, err := fromStream(content, space{namespace: "ml-team", explicit: true})
			require.NoError(t, err)
			require.Len(t, read.objects, 2)
			assert.Equal(t, "ml-team", read.objects[0].GetNamespace())
			assert.Empty(t, read.objects[1].GetNamespace())
			assert.Len(t, read.clusters(), 1)
			assert.Len(t, read.classes, strings.Count(content, "InferenceClass"))
			assert.Len(t, read.leftOut, strings.Count(content, "kind: Pod"))
		})
	}
}

// What is wrong in a file is told with the object, the file and what is wrong, all of it at once.
func TestReadObjectsRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ in, err string }{
		"nothing":          {"# nothing\n", "the files have no objects"},
		"only others":      {podFile, "the files have no ModelDeployment, InferenceCluster or DisruptionPolicy: nothing else can be planned"},
		"a misspelt field": {strings.Replace(policyFile, "selector", "selectr", 1), `DisruptionPolicy "careful" in standard input: strict decoding error: unknown field "spec.selectr"`},
		"no name":          {strings.Replace(policyFile, "name: careful", "labels: {}", 1), `DisruptionPolicy "" in standard input: metadata.name is missing`},
		"no kind":          {"metadata: {name: x}\n", `Object 'Kind' is missing`},
		"not YAML":         {"a: [", "error parsing standard input"},
		"not an object":    {"- 1\n", "standard input"},
		"no replicas":      {strings.Replace(deploymentFile, "replicas: 2,", "", 1), `ModelDeployment "chat" in standard input: spec.replicas must be 1 to 10, not 0`},
		"no engines":       {strings.Replace(deploymentFile, "[{name: main, members: []}]", "[]", 1), "spec.template.spec.engines is missing"},
		"a wrong type":     {strings.Replace(deploymentFile, "replicas: 2", "replicas: two", 1), `ModelDeployment "chat" in standard input`},
		"elsewhere":        {strings.Replace(policyFile, "name: careful", "name: careful, namespace: web", 1), `is in namespace "web", not in "ml-team" as --namespace says`},
		"the second":       {policyFile + "---\n" + strings.Replace(deploymentFile, "replicas: 2,", "", 1), "spec.replicas"},
		"both": {strings.Replace(policyFile, "selector", "selectr", 1) + "---\n" + strings.Replace(deploymentFile, "replicas: 2,", "", 1),
			"spec.selectr\"\nModelDeployment"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fromStream(tc.in, space{namespace: "ml-team", explicit: true})
			assert.ErrorContains(t, err, tc.err)
		})
	}
}

func TestReadFolders(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	write("policy.yaml", policyFile)
	write("notes.txt", "not an object")
	cluster := write("more/cluster.json", clusterFile)
	write("kustomization.yaml", "resources: [policy.yaml, more/cluster.json]\nnamespace: ml-team\n")
	kustomized := t.TempDir()
	require.NoError(t, os.Rename(filepath.Join(folder, "kustomization.yaml"), filepath.Join(kustomized, "kustomization.yaml")))
	require.NoError(t, os.WriteFile(filepath.Join(kustomized, "kustomization.yaml"), []byte("resources: [policy.yaml]\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(kustomized, "policy.yaml"), []byte(policyFile), 0o600))

	for name, tc := range map[string]struct {
		options resource.FilenameOptions
		objects int
		err     string
	}{
		"a folder":            {options: resource.FilenameOptions{Filenames: []string{folder}}, objects: 1},
		"folders in it":       {options: resource.FilenameOptions{Filenames: []string{folder}, Recursive: true}, objects: 2},
		"several":             {options: resource.FilenameOptions{Filenames: []string{folder, cluster}}, objects: 2},
		"a file and a stream": {options: resource.FilenameOptions{Filenames: []string{cluster, "-"}}, objects: 2},
		"a kustomization":     {options: resource.FilenameOptions{Kustomize: kustomized}, objects: 1},
		"none named":          {err: "-f - reads standard input"},
		"not there":           {options: resource.FilenameOptions{Filenames: []string{filepath.Join(folder, "gone.yaml")}}, err: "gone.yaml\" does not exist"},
		"an empty folder":     {options: resource.FilenameOptions{Filenames: []string{t.TempDir()}}, err: "recognized file extensions are"},
		"both kinds":          {options: resource.FilenameOptions{Filenames: []string{folder}, Kustomize: kustomized}, err: "only one of -f or -k"},
	} {
		t.Run(name, func(t *testing.T) {
			read, err := readObjects(strings.NewReader(policyFile), tc.options, space{namespace: "ml-team"})
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Len(t, read.objects, tc.objects)
		})
	}
}

// Whatever is in a file, reading it ends with objects that have names, or with an error.
func FuzzReadObjects(f *testing.F) {
	for _, content := range []string{policyFile + "---\n" + clusterFile, deploymentFile, listFile, "{}", "---\n---\n"} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content string) {
		read, err := fromStream(content, space{namespace: "ml-team"})
		if err != nil {
			return
		}
		for _, o := range read.objects {
			require.NotEmpty(t, o.GetName())
		}
	})
}
