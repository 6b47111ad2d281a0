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

package controlplane_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

func client(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return clientset
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
}

func create(t *testing.T, clientset kubernetes.Interface, name string) {
	t.Helper()
	_, err := clientset.CoreV1().ConfigMaps("default").Create(t.Context(), configMap(name), metav1.CreateOptions{})
	require.NoError(t, err)
}

func exists(t *testing.T, clientset kubernetes.Interface, name string) bool {
	t.Helper()
	_, err := clientset.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false
	}
	require.NoError(t, err)
	return true
}

func TestStopLeavesNoProcessAndNoFolder(t *testing.T) {
	tmp := ownTempDir(t)
	cp := start(t, controlplane.Options{Scheduler: true})
	pids := cp.PIDs()
	require.Len(t, pids, 4)
	for component, pid := range pids {
		require.True(t, runs(pid), "%s does not run", component)
		require.FileExists(t, cp.LogPath(component))
	}
	create(t, client(t, cp.Config()), "a")

	require.NoError(t, cp.Stop())

	requireGone(t, pids)
	requireNothingIn(t, tmp)
	assert.Empty(t, cp.PIDs())
	_, err := client(t, cp.Config()).Discovery().ServerVersion()
	assert.ErrorContains(t, err, "connection refused")

	assert.NoError(t, cp.Stop(), "a second stop")
	assert.ErrorContains(t, cp.Restart(t.Context(), controlplane.APIServer), "was stopped")
	assert.NoError(t, cp.Kill(controlplane.APIServer))
}

func TestTwoSideBySide(t *testing.T) {
	tmp := ownTempDir(t)
	hub := start(t, controlplane.Options{})
	workload := start(t, controlplane.Options{})
	onHub, onWorkload := client(t, hub.Config()), client(t, workload.Config())

	create(t, onHub, "on-hub")
	assert.True(t, exists(t, onHub, "on-hub"))
	assert.False(t, exists(t, onWorkload, "on-hub"))

	// A user of one, even an administrator, is nobody on the other.
	stranger := hub.Config()
	stranger.Host = workload.Config().Host
	stranger.CAData = workload.Config().CAData
	_, err := client(t, stranger).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	assert.True(t, apierrors.IsUnauthorized(err), "got %v", err)

	hubPIDs := hub.PIDs()
	require.NoError(t, hub.Stop())
	requireGone(t, hubPIDs)
	create(t, onWorkload, "still-works")
	require.NoError(t, workload.Stop())
	requireNothingIn(t, tmp)
}

func TestKilledParentTakesItsComponentsAlong(t *testing.T) {
	tmp := ownTempDir(t)
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"=1")
	parent.Stderr = os.Stderr
	_, err := parent.StdinPipe()
	require.NoError(t, err)
	output, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	t.Cleanup(func() { _ = parent.Process.Kill() }) // "already finished" if the test went well
	var started report
	require.NoError(t, json.NewDecoder(output).Decode(&started))
	require.Len(t, started.PIDs, 4)
	for component, pid := range started.PIDs {
		require.True(t, runs(pid), "%s does not run", component)
	}

	require.NoError(t, parent.Process.Kill())
	require.ErrorContains(t, parent.Wait(), "killed")

	requireGone(t, started.PIDs)
	require.FileExists(t, started.Kubeconfig, "this test expects the folder to be left to the next start")
	cp := start(t, controlplane.Options{DisableControllerManager: true})
	requireNoFile(t, filepath.Dir(started.Kubeconfig))
	require.FileExists(t, cp.KubeconfigPath(), "the sweep took the new folder too")
	require.NoError(t, cp.Stop())
	requireNothingIn(t, tmp)
}

func TestCancelledContextStops(t *testing.T) {
	tmp := ownTempDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	cp, err := controlplane.Start(ctx, controlplane.Options{})
	require.NoError(t, err)
	pids := cp.PIDs()

	cancel()

	requireGone(t, pids)
	require.NoError(t, cp.Stop(), "it waits for the stop that the context began")
	requireNothingIn(t, tmp)
}

func TestFailedStart(t *testing.T) {
	tests := map[string]struct {
		options controlplane.Options
		want    []string
	}{
		"bad flag of the API server": {
			controlplane.Options{APIServerArgs: []string{"--no-such-flag"}},
			[]string{"kube-apiserver: it ended before it was ready: exit status 1", "unknown flag: --no-such-flag"},
		},
		"bad flag of the controller manager": {
			controlplane.Options{ControllerManagerArgs: []string{"--controllers=none-such"}},
			[]string{"kube-controller-manager: it ended before it was ready", "is not in the list of known controllers"},
		},
		"bad flag of the scheduler": {
			controlplane.Options{Scheduler: true, SchedulerArgs: []string{"--config=/no/such/file"}},
			[]string{"kube-scheduler: it ended before it was ready", "/no/such/file"},
		},
		"unknown feature gate": {
			controlplane.Options{FeatureGates: map[string]bool{"NoSuchGate": true}},
			[]string{"kube-apiserver: it ended before it was ready", "NoSuchGate"},
		},
		"too little time": {
			controlplane.Options{StartTimeout: time.Millisecond},
			[]string{"etcd: not ready within 1ms"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tmp := ownTempDir(t)
			cp, err := controlplane.Start(t.Context(), test.options)
			assert.Nil(t, cp)
			for _, want := range test.want {
				assert.ErrorContains(t, err, want)
			}
			requireNothingIn(t, tmp)
			requireNoComponents(t, tmp)
		})
	}
}

func TestStartCancelledHalfWay(t *testing.T) {
	tmp := ownTempDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			logs, _ := filepath.Glob(filepath.Join(tmp, "*", "logs", "kube-apiserver.log"))
			if len(logs) > 0 {
				return
			}
			<-time.After(interval)
		}
	}()

	cp, err := controlplane.Start(ctx, controlplane.Options{})

	assert.Nil(t, cp)
	assert.ErrorIs(t, err, context.Canceled)
	requireNothingIn(t, tmp)
	requireNoComponents(t, tmp)
}
