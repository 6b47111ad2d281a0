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

package operator

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

const (
	team = "ml-team"
	// East has a replica that fits nowhere else, west has none.
	east, west = "gpu-us-east", "gpu-us-west"
	north      = "gpu-eu-north"
)

// newFleet puts up the example fleet and waits until all of it serves. It goes at the end of the test.
func newFleet(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		clearFleet(t)
		if t.Failed() {
			t.Logf("hub-manager:\n%s\nhub-scheduler:\n%s", hub.manager.Tail(), hub.scheduler.Tail())
		}
	})
	examples := hubtest.Manifest("examples")
	require.NoError(t, hub.Kubectl(t.Context(), "apply", "-f", examples+"/inference-classes.yaml", "-f", examples+"/inference-clusters.yaml"))
	awaitClusters(t) // what is placed before all are Ready spreads over fewer
	require.NoError(t, hub.Kubectl(t.Context(), "apply", "-k", examples))
	awaitServing(t)
}

// awaitClusters waits until every cluster is Ready.
func awaitClusters(t *testing.T) {
	t.Helper()
	hubtest.Eventually(t, func() string {
		list := &modelplane.InferenceClusterList{}
		require.NoError(t, hub.Client.List(t.Context(), list))
		for i := range list.Items {
			c := &list.Items[i]
			if !meta.IsStatusConditionTrue(c.Status.Conditions, modelplane.ConditionReady) {
				return c.Name + " is not Ready"
			}
		}
		return ""
	})
}

func clearFleet(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), hubtest.Patience)
	defer cancel()
	in := client.InNamespace(team)
	for _, o := range []client.Object{
		&modelplane.ModelDeployment{}, &evenkeel.DisruptionPolicy{}, &evenkeel.ReplicaPlacement{}, &modelplane.ModelEndpoint{}, &modelplane.ModelReplica{},
	} {
		assert.NoError(t, hub.Client.DeleteAllOf(ctx, o, in))
	}
	assert.NoError(t, hub.Client.DeleteAllOf(ctx, &modelplane.InferenceCluster{}))
	assert.NoError(t, wait.PollUntilContextCancel(ctx, hubtest.Interval, true, func(ctx context.Context) (bool, error) {
		replicas, clusters := &modelplane.ModelReplicaList{}, &modelplane.InferenceClusterList{}
		err := hub.Client.List(ctx, replicas)
		if err == nil {
			err = hub.Client.List(ctx, clusters)
		}
		return len(replicas.Items)+len(clusters.Items) == 0, err
	}), "the fleet does not go")
}

// awaitServing waits until every deployment has all its replicas.
func awaitServing(t *testing.T) {
	t.Helper()
	hubtest.Eventually(t, func() string {
		list := &modelplane.ModelDeploymentList{}
		require.NoError(t, hub.Client.List(t.Context(), list, client.InNamespace(team)))
		for i := range list.Items {
			d := &list.Items[i]
			if d.Status.Replicas == nil || d.Status.Replicas.Ready != d.Spec.Replicas {
				return fmt.Sprintf("%s: %+v of %d", d.Name, d.Status.Replicas, d.Spec.Replicas)
			}
		}
		return ""
	})
}

func clusterNamed(t *testing.T, name string) *modelplane.InferenceCluster {
	t.Helper()
	c := &modelplane.InferenceCluster{}
	require.NoError(t, hub.Client.Get(t.Context(), client.ObjectKey{Name: name}, c))
	return c
}

func taintsOf(t *testing.T, name string) []string {
	t.Helper()
	said := []string{}
	for _, taint := range clusterNamed(t, name).Spec.Taints {
		said = append(said, placement.TaintString(taint))
	}
	slices.Sort(said)
	return said
}

func isDrained(t *testing.T, name string) bool {
	t.Helper()
	return meta.IsStatusConditionTrue(clusterNamed(t, name).Status.Conditions, evenkeel.ConditionDrained)
}

// command is what a person types after kubectl: kubectl finds the plugin in bin/.
type command struct {
	*exec.Cmd
	t              *testing.T
	stdout, stderr *hubtest.Output
}

func as(t *testing.T, person string, args ...string) *command {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join(hubtest.Root, "bin"))
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(bin, "kubectl-evenkeel"), "run make build first")
	c := &command{t: t, stdout: &hubtest.Output{}, stderr: &hubtest.Output{}}
	c.Cmd = exec.CommandContext(t.Context(), filepath.Join(hub.BinDir(), "kubectl"), append([]string{"evenkeel"}, args...)...)
	c.Env = append(os.Environ(), "KUBECONFIG="+hub.kubeconfigs[person], "KUBERC=off", "KUBECACHEDIR="+filepath.Join(hub.Folder, "cache"),
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	c.Stdout, c.Stderr = c.stdout, c.stderr
	return c
}

// exits runs the command, or waits for it where it runs already, and checks how it ends.
func (c *command) exits(code int) *command {
	c.t.Helper()
	var err error
	if c.Process == nil {
		err = c.Run()
	} else {
		err = c.Wait()
	}
	if _, exited := err.(*exec.ExitError); !exited {
		require.NoError(c.t, err)
	}
	require.Equal(c.t, code, c.ProcessState.ExitCode(), "%v\n%s\n%s", c.Args, c.stdout, c.stderr)
	return c
}

// says checks what stands in the output, whitespace aside.
func (c *command) says(parts ...string) *command {
	c.t.Helper()
	all := strings.Join(strings.Fields(c.stdout.String()+c.stderr.String()), " ")
	for _, part := range parts {
		assert.Contains(c.t, all, part, "%v", c.Args)
	}
	return c
}

func (c *command) await(part string) *command {
	c.t.Helper()
	hubtest.Eventually(c.t, func() string {
		if all := c.stdout.String() + c.stderr.String(); !strings.Contains(all, part) {
			return fmt.Sprintf("%v does not say %q: %s", c.Args, part, all)
		}
		return ""
	})
	return c
}

// onTerminal starts the command with a terminal of 100 by 30 for its input and, if so wanted, for its output. What is
// typed goes to the file.
func (c *command) onTerminal(output bool) *os.File {
	c.t.Helper()
	terminal, tty, err := pty.Open()
	require.NoError(c.t, err)
	c.t.Cleanup(func() { _ = terminal.Close() })
	require.NoError(c.t, pty.Setsize(terminal, &pty.Winsize{Cols: 100, Rows: 30}))
	c.Stdin = tty
	if output {
		c.Stdout = tty
		go func() { _, _ = io.Copy(c.stdout, terminal) }() // it ends with the terminal
	}
	require.NoError(c.t, c.Start())
	require.NoError(c.t, tty.Close())
	return terminal
}

func typed(t *testing.T, terminal io.Writer, keys string) {
	t.Helper()
	_, err := io.WriteString(terminal, keys)
	require.NoError(t, err)
}
