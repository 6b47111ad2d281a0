//go:build integration

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
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/cmd/kubectl-evenkeel/app"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

const rejected = "error: guarded annotation patch rejected; refresh traffic status and retry explicitly\n"

// TestAStatusUpdateWhileThePromptWaits checks that a change of any kind between read and
// patch has the API server apply nothing.
func TestAStatusUpdateWhileThePromptWaits(t *testing.T) {
	isvc := newService(t, newNamespace(t), "chat", candidate("worker-a", 2, 2), candidate("worker-b", 2, 2))
	p := ask(t, "ome", "traffic", "drain", "chat", "-n", isvc.Namespace, "--workload-cluster=worker-a", "--id=a", "--reason=r")
	place(t, isvc, candidate("worker-a", 2, 1), candidate("worker-b", 2, 2))
	o := p.answer("y\r")
	assert.Equal(t, 3, o.code)
	assert.True(t, strings.HasSuffix(o.stderr, rejected), o.stderr)
	assert.Empty(t, o.stdout)
	require.NoError(t, hub.Client.Get(t.Context(), client.ObjectKeyFromObject(isvc), isvc))
	assert.NotContains(t, isvc.Annotations, trafficdrain.AnnotationKey)
}

// TestAServiceMadeAnewWhileThePromptWaits checks that a drain never reaches another service
// of the same name.
func TestAServiceMadeAnewWhileThePromptWaits(t *testing.T) {
	namespace := newNamespace(t)
	isvc := newService(t, namespace, "chat", candidate("worker-a", 2, 2))
	p := ask(t, "ome", "traffic", "drain", "chat", "-n", namespace, "--workload-cluster=worker-a", "--id=a", "--reason=r")
	require.NoError(t, hub.Client.Delete(t.Context(), isvc))
	again := newService(t, namespace, "chat", candidate("worker-a", 2, 2))
	o := p.answer("y\r")
	assert.Equal(t, 3, o.code, o.stderr)
	require.NoError(t, hub.Client.Get(t.Context(), client.ObjectKeyFromObject(again), again))
	assert.NotContains(t, again.Annotations, trafficdrain.AnnotationKey)
}

// TestManyClientsLoseNoDrain has twenty people drain one service at the same moment, each
// again until the drain is in.
func TestManyClientsLoseNoDrain(t *testing.T) {
	const clients = 20
	isvc := newService(t, newNamespace(t), "chat", candidate("worker-a", 2, 2), candidate("worker-b", 2, 2))
	var group sync.WaitGroup
	var mu sync.Mutex
	conflicts := 0
	for i := range clients {
		group.Go(func() {
			for range 2 * clients {
				var stdout, stderr bytes.Buffer
				code := app.Run([]string{"kubectl-ome", "--kubeconfig=" + hub.kubeconfig, "traffic", "drain", "chat", "-n", isvc.Namespace,
					"--workload-cluster=worker-a", fmt.Sprintf("--id=drain-%d", i), "--reason=r", "--yes"},
					genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &stdout, ErrOut: &stderr})
				if code == 0 {
					return
				}
				if !assert.Equal(t, 3, code, stderr.String()) {
					return
				}
				mu.Lock()
				conflicts++
				mu.Unlock()
			}
			assert.Fail(t, "no round was won", "client %d", i)
		})
	}
	group.Wait()
	require.NoError(t, hub.Client.Get(t.Context(), client.ObjectKeyFromObject(isvc), isvc))
	drains, err := trafficdrain.ValueOf(isvc.Annotations).ParseStrict()
	require.NoError(t, err)
	assert.Len(t, drains, clients)
	t.Logf("%d patches were rejected as stale", conflicts)
}

// TestDryRuns checks that neither kind of dry run stores anything, and that the server's
// checks are made by the server.
func TestDryRuns(t *testing.T) {
	isvc := newService(t, newNamespace(t), "chat", candidate("worker-a", 2, 2))
	before := isvc.ResourceVersion
	for mode, want := range map[string][]string{
		"client": {"accepted      No", "applied       No", "Validated locally; no patch sent. TrafficMap converge..."},
		"server": {"accepted      Yes", "applied       No", "API dry-run accepted; no changes persisted."},
	} {
		o := run(t, "ome", "traffic", "drain", "chat", "-n", isvc.Namespace, "--workload-cluster=worker-a", "--id=a", "--reason=r", "--yes", "--dry-run="+mode)
		require.Zero(t, o.code, o.stderr)
		for _, text := range want {
			assert.Contains(t, o.stdout, text)
		}
	}
	require.NoError(t, hub.Client.Get(t.Context(), client.ObjectKeyFromObject(isvc), isvc))
	assert.Equal(t, before, isvc.ResourceVersion)
}

// TestWithoutATerminal checks that nothing but a person or --yes can confirm.
func TestWithoutATerminal(t *testing.T) {
	isvc := newService(t, newNamespace(t), "chat", candidate("worker-a", 2, 2))
	cmd := command(t, "ome", "traffic", "drain", "chat", "-n", isvc.Namespace, "--workload-cluster=worker-a", "--id=a", "--reason=r")
	stdout, stderr := &hubtest.Output{}, &hubtest.Output{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("y\ny\n"), stdout, stderr
	o := finish(t, cmd, stdout, stderr, cmd.Run())
	assert.Equal(t, 1, o.code)
	assert.True(t, strings.HasSuffix(o.stderr, "error: action not confirmed; noninteractive input requires --yes\n"), o.stderr)
	assert.Empty(t, o.stdout)
}

// TestWhatTheServerSays checks that the API server's own words are repeated below OME's.
func TestWhatTheServerSays(t *testing.T) {
	o := run(t, "ome", "traffic", "undrain", "nobody", "-n", "prod", "--id=a", "--yes")
	assert.Equal(t, 1, o.code)
	assert.Equal(t, "error: required Kubernetes API request failed; check access and connectivity\n"+
		"cause: inferenceservices.ome.io \"nobody\" not found\n", o.stderr)
}
