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
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/evenkeel-io/evenkeel/internal/cli"
)

// resources are those that a snapshot has, by their paths.
var resources = map[string]string{
	"/apis/modelplane.ai/v1alpha1/inferenceclusters": "inferenceclusters",
	"/apis/modelplane.ai/v1alpha1/modeldeployments":  "modeldeployments",
	"/apis/modelplane.ai/v1alpha1/modelreplicas":     "modelreplicas",
	"/apis/modelplane.ai/v1alpha1/modelendpoints":    "modelendpoints",
	"/apis/modelplane.ai/v1alpha1/modelcaches":       "modelcaches",
	"/apis/evenkeel.io/v1alpha1/replicaplacements":   "replicaplacements",
	"/apis/evenkeel.io/v1alpha1/disruptionpolicies":  "disruptionpolicies",
	"/apis/scheduling.k8s.io/v1/priorityclasses":     "priorityclasses",
}

// newHub has one object of each kind, called by its resource. One resource may be answered by a status code instead.
func newHub(t *testing.T, refused string, code int) *cli.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resource, served := resources[r.URL.Path]
		switch {
		case !served:
			http.NotFound(w, r)
		case resource == refused:
			http.Error(w, "no", code)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"metadata":{},"items":[{"metadata":{"name":%q}}]}`, resource)
		}
	}))
	t.Cleanup(server.Close)
	client, err := cli.NewClient(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	return client
}

func TestRead(t *testing.T) {
	s, err := Read(t.Context(), newHub(t, "", 0))
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
	for _, resource := range resources {
		for _, code := range []int{http.StatusForbidden, http.StatusNotFound} {
			s, err := Read(t.Context(), newHub(t, resource, code))
			if resource == "modelcaches" && code == http.StatusNotFound {
				require.NoError(t, err)
				assert.False(t, s.ServesCaches)
				assert.Empty(t, s.Caches)
				continue
			}
			require.ErrorContains(t, err, "list "+resource+": ")
			assert.Equal(t, code == http.StatusNotFound, cli.NotServed(err), "%v", err)
			assert.Equal(t, code == http.StatusForbidden, apierrors.IsForbidden(err), "%v", err)
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
