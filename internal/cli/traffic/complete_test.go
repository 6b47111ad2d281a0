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

package traffic

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/evenkeel-io/evenkeel/internal/cli"
)

// complete asks what may come next, as a shell does, and returns it without the directive.
func (s *server) complete(t *testing.T, program cli.Program, args ...string) []string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := s.command(t, program, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &stdout, ErrOut: &stderr})
	cmd.SetArgs(append([]string{"__complete", "--kubeconfig=" + s.kubeconfig(t), "traffic"}, args...))
	assert.NoError(t, cmd.ExecuteContext(t.Context()))
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	return lines[:len(lines)-1]
}

// named gives an object another name, and its own namespace.
func named(namespace, name string) func(metadata, object map[string]any) {
	return func(metadata, _ map[string]any) { metadata["namespace"], metadata["name"] = namespace, name }
}

// newFleet is a server with several services, one map and three WorkloadClusters.
func newFleet(t *testing.T) *server {
	t.Helper()
	answers := map[string]any{
		"/apis/ome.io/v1beta1/namespaces/prod/inferenceservices": []any{
			chat(drained(`{"a":{"cluster":"worker-a","reason":"r"},"rack-2":{"cluster":"worker-b","reason":"r"}}`)),
			chat(named("prod", "code"), drained(`null`)),
			chat(named("prod", "copy"), annotated("ome.io/placement-origin-uid", "u")),
			chat(named("prod", "here"), func(_, object map[string]any) { object["spec"] = map[string]any{} }),
		},
		"/apis/ome.io/v1beta1/inferenceservices": []any{
			chat(drained(`{"rack-2":{"cluster":"worker-b","reason":"r"}}`)),
			chat(named("other", "chat"), drained(`{"rack-2":{"cluster":"worker-a","reason":"r"},"x":{"cluster":"worker-c","reason":"r"}}`)),
		},
		"/apis/ome.io/v1beta1/workloadclusters": []any{
			map[string]any{"metadata": map[string]any{"name": "worker-a"}}, map[string]any{"metadata": map[string]any{"name": "worker-z"}},
		},
	}
	s := newServer(t, nil)
	s.get = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		items, found := answers[r.URL.Path]
		switch {
		case found:
			_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "ome.io/v1beta1", "kind": "List", "items": items})
		case strings.HasSuffix(r.URL.Path, "/prod/trafficmaps/chat"):
			_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "ome.io/v1beta1", "kind": "TrafficMap", "spec": map[string]any{"entries": []any{
				map[string]any{"cluster": "worker-a", "weight": 0}, map[string]any{"cluster": "worker-b", "weight": 3},
			}}})
		default:
			answerStatus(http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)(w, r)
		}
	}
	return s
}

func TestCompletion(t *testing.T) {
	s := newFleet(t)
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"services that can be drained":  {[]string{"drain", ""}, []string{"chat", "code"}},
		"as typed so far":               {[]string{"drain", "co"}, []string{"code"}},
		"services that are drained":     {[]string{"undrain", ""}, []string{"chat"}},
		"any service":                   {[]string{"status", ""}, []string{"chat", "code", "copy", "here"}},
		"any service to be explained":   {[]string{"explain", "h"}, []string{"here"}},
		"one service only":              {[]string{"drain", "chat", ""}, []string{}},
		"clusters that serve":           {[]string{"drain", "chat", "--workload-cluster", ""}, []string{"worker-a\tweight 0", "worker-b\tweight 3"}},
		"clusters, as typed so far":     {[]string{"drain", "chat", "--workload-cluster=worker-b"}, []string{"worker-b\tweight 3"}},
		"clusters without a map":        {[]string{"drain", "code", "--workload-cluster", ""}, []string{"worker-a", "worker-z"}},
		"clusters of the fleet":         {[]string{"drain", "--all-services", "--workload-cluster", ""}, []string{"worker-a", "worker-z"}},
		"clusters to list drains of":    {[]string{"drains", "--workload-cluster", "worker-z"}, []string{"worker-z"}},
		"drains of a service":           {[]string{"undrain", "chat", "--id", ""}, []string{"a\tworker-a", "rack-2\tworker-b"}},
		"drains that cannot be read":    {[]string{"undrain", "code", "--id", ""}, []string{}},
		"drains of a namespace":         {[]string{"undrain", "--all-services", "--id", "r"}, []string{"rack-2\tworker-b"}},
		"drains of the fleet":           {[]string{"undrain", "--all-services", "-A", "--id", ""}, []string{"rack-2\tworker-a, worker-b", "x\tworker-c"}},
		"dry runs":                      {[]string{"drain", "--dry-run", ""}, []string{"none", "client", "server"}},
		"formats":                       {[]string{"status", "-o", ""}, []string{"table", "wide", "json", "yaml"}},
		"in a namespace that has none":  {[]string{"drain", "-n", "nobody", ""}, []string{}},
		"nothing that is for the drain": {[]string{"drain", "chat", "--id", "r"}, []string{}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, s.complete(t, cli.Evenkeel, tc.args...)) })
	}
	assert.Equal(t, []string{"rack-2\tworker-b"}, s.complete(t, cli.OME, "undrain", "chat", "--id", "r"))
}
