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

package fleet

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// kinds are those that a snapshot has, by their resources.
var kinds = map[schema.GroupVersionResource]string{
	modelplane.GroupVersion.WithResource("inferenceclusters"):                "InferenceCluster",
	modelplane.GroupVersion.WithResource("modeldeployments"):                 "ModelDeployment",
	modelplane.GroupVersion.WithResource("modelreplicas"):                    "ModelReplica",
	modelplane.GroupVersion.WithResource("modelendpoints"):                   "ModelEndpoint",
	modelplane.GroupVersion.WithResource("modelcaches"):                      "ModelCache",
	evenkeel.GroupVersion.WithResource("replicaplacements"):                  "ReplicaPlacement",
	evenkeel.GroupVersion.WithResource("disruptionpolicies"):                 "DisruptionPolicy",
	{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}: "PriorityClass",
}

// newHub has one object of each kind, called by its resource.
func newHub(t *testing.T) *dynamicfake.FakeDynamicClient {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{}
	for resource, kind := range kinds {
		lists[resource] = kind + "List"
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	for resource, kind := range kinds {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(resource.GroupVersion().WithKind(kind))
		o.SetNamespace("team")
		o.SetName(resource.Resource)
		require.NoError(t, client.Tracker().Create(resource, o, "team"))
	}
	return client
}

func TestRead(t *testing.T) {
	s, err := Read(t.Context(), newHub(t))
	require.NoError(t, err)
	assert.Equal(t, "inferenceclusters", s.Clusters[0].Name)
	assert.Equal(t, "modeldeployments", s.Deployments[0].Name)
	assert.Equal(t, "modelreplicas", s.Replicas[0].Name)
	assert.Equal(t, "modelendpoints", s.Endpoints[0].Name)
	assert.Equal(t, "replicaplacements", s.Placements[0].Name)
	assert.Equal(t, "disruptionpolicies", s.Policies[0].Name)
	assert.Equal(t, "priorityclasses", s.PriorityClasses[0].Name)
	assert.Equal(t, "modelcaches", s.Caches[0].Name)
	assert.True(t, s.ServesCaches)
	assert.False(t, s.Now.IsZero())
}

// TestReadCannotList says of which kind; only ModelCaches may be missing on a hub, and only by not being served.
func TestReadCannotList(t *testing.T) {
	notServed := apierrors.NewGenericServerResponse(404, "list", schema.GroupResource{}, "", "404 page not found", 0, true)
	for resource := range kinds {
		for _, answer := range []error{errors.New("not you"), notServed} {
			client := newHub(t)
			client.PrependReactor("list", resource.Resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, answer })
			s, err := Read(t.Context(), client)
			if resource.Resource == "modelcaches" && errors.Is(answer, notServed) {
				require.NoError(t, err)
				assert.False(t, s.ServesCaches)
				assert.Empty(t, s.Caches)
				continue
			}
			require.ErrorContains(t, err, "list "+resource.Resource+": ")
			require.ErrorIs(t, err, answer)
		}
	}
}

// TestSettings are those of the programs' files, where there are any; an error names the file.
func TestSettings(t *testing.T) {
	folder := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	const manager = "apiVersion: config.evenkeel.io/v1alpha1\nkind: HubManagerConfiguration\nmodelDeployments: {maxParallelMoves: 7}\n"
	const scheduler = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: ours}]\n"
	load := func(args ...string) (moves int, names []string, err error) {
		t.Helper()
		s := &Settings{}
		flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
		s.AddFlags(flags)
		require.NoError(t, flags.Parse(args))
		options, err := s.Load()
		if err != nil {
			return 0, nil, err
		}
		for i := range options.Scheduler.Profiles {
			names = append(names, options.Scheduler.Profiles[i].SchedulerName)
		}
		return options.Controller.MaxParallelMoves, names, nil
	}
	defaultMoves, names, err := load()
	require.NoError(t, err)
	assert.NotEqual(t, 7, defaultMoves)
	assert.Equal(t, []string{"evenkeel"}, names)
	moves, names, err := load("--manager-config=" + file("manager", manager))
	require.NoError(t, err)
	assert.Equal(t, 7, moves)
	assert.Equal(t, []string{"evenkeel"}, names)
	moves, names, err = load("--scheduler-config=" + file("scheduler", scheduler))
	require.NoError(t, err)
	assert.Equal(t, defaultMoves, moves)
	assert.Equal(t, []string{"ours"}, names)
	for name, content := range map[string]string{"bad": "nonsense: [", "other": "kind: Pod\napiVersion: v1\n"} {
		for _, flag := range []string{"--manager-config=", "--scheduler-config="} {
			path := file(name, content)
			_, _, err := load(flag + path)
			require.ErrorContains(t, err, path+": ", flag)
		}
	}
	for _, flag := range []string{"--manager-config=", "--scheduler-config="} {
		_, _, err := load(flag + filepath.Join(folder, "missing"))
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}
