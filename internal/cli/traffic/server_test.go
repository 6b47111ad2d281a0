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
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/evenkeel-io/evenkeel/internal/cli"
)

// server stands in for an API server that has one service, and notes what it is asked.
type server struct {
	*httptest.Server
	// get and patch answer; nil stands for the service as it is.
	get, patch http.HandlerFunc
	service    map[string]any
	patches    []patchRequest
}

type patchRequest struct {
	path, query, contentType string
	body                     string
}

func newServer(t *testing.T, service map[string]any) *server {
	t.Helper()
	s := &server{service: service}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			body, _ := io.ReadAll(r.Body)
			s.patches = append(s.patches, patchRequest{r.URL.Path, r.URL.RawQuery, r.Header.Get("Content-Type"), string(body)})
			if s.patch != nil {
				s.patch(w, r)
				return
			}
		} else if s.get != nil {
			s.get(w, r)
			return
		}
		if strings.Contains(r.URL.Path, "/trafficmaps/") {
			answerStatus(http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","details":{"name":"chat"},"code":404}`)(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.service)
	}))
	t.Cleanup(s.Close)
	return s
}

// answerStatus answers every request with a status and a body.
func answerStatus(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

const (
	testUID = "2f6c1d9e-4b7a-4c1e-9f3d-8a5b6c7d0e12"
	testRV  = "1284711"
)

// chat is a service that may be drained; changes are made to it in order.
func chat(changes ...func(metadata, object map[string]any)) map[string]any {
	metadata := map[string]any{
		"name": "chat", "namespace": "prod", "uid": testUID, "resourceVersion": testRV, "generation": 3,
	}
	object := map[string]any{
		"apiVersion": "ome.io/v1beta1", "kind": "InferenceService", "metadata": metadata,
		"spec": map[string]any{"placement": map[string]any{"mode": "All", "clusterSelector": "accelerator=gpu"}},
	}
	for _, change := range changes {
		change(metadata, object)
	}
	return object
}

// annotated gives the service annotations.
func annotated(pairs ...string) func(metadata, object map[string]any) {
	return func(metadata, _ map[string]any) {
		annotations, _ := metadata["annotations"].(map[string]any)
		if annotations == nil {
			annotations = map[string]any{}
		}
		for i := 0; i < len(pairs); i += 2 {
			annotations[pairs[i]] = pairs[i+1]
		}
		metadata["annotations"] = annotations
	}
}

// drained gives the service drains.
func drained(value string) func(metadata, object map[string]any) {
	return annotated("ome.io/traffic-drain", value)
}

// outcome is how a command ended.
type outcome struct {
	stdout, stderr string
	code           int
}

// execute runs `kubectl ome traffic ...` against the server.
func (s *server) execute(t *testing.T, args ...string) outcome {
	t.Helper()
	return s.executeAs(t, cli.OME, &bytes.Buffer{}, args...)
}

func (s *server) executeAs(t *testing.T, program cli.Program, in io.Reader, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err := s.command(t, program, genericiooptions.IOStreams{In: in, Out: &stdout, ErrOut: &stderr}, args...).ExecuteContext(t.Context())
	code := cli.Report(&stderr, err)
	return outcome{stdout.String(), stderr.String(), code}
}

func (s *server) command(t *testing.T, program cli.Program, streams genericiooptions.IOStreams, args ...string) *cobra.Command {
	t.Helper()
	f := cli.NewFactory(program, streams)
	root := &cobra.Command{Use: "kubectl", SilenceErrors: true, SilenceUsage: true}
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	f.Flags.AddFlags(root.PersistentFlags())
	if program == cli.OME {
		root.AddCommand(NewOMECommand(f))
	} else {
		root.AddCommand(NewCommand(f))
	}
	root.SetArgs(append([]string{"--kubeconfig=" + s.kubeconfig(t), "traffic"}, args...))
	return root
}

func (s *server) kubeconfig(t *testing.T) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: s.URL}
	config.AuthInfos["me"] = &clientcmdapi.AuthInfo{Token: "t"}
	config.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "me", Namespace: "prod"}
	config.Contexts["bad context"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "me", Namespace: "Prod"}
	config.CurrentContext = "hub"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, path))
	return path
}
