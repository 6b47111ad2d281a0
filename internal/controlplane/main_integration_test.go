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
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

// patience is the deadline of every poll: long, because it is only ever used up by
// a test that fails.
const (
	patience = 2 * time.Minute
	interval = 50 * time.Millisecond
)

// parentEnv turns the test binary into a process that starts a control plane, tells
// about it and waits to be killed, or for the test to end.
const parentEnv = "EVENKEEL_CONTROLPLANE_TEST_PARENT"

// report is what that process prints.
type report struct {
	Kubeconfig string
	PIDs       map[controlplane.Component]int
}

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) == "" {
		os.Exit(m.Run())
	}
	cp, err := controlplane.Start(context.Background(), controlplane.Options{Scheduler: true})
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(report{Kubeconfig: cp.KubeconfigPath(), PIDs: cp.PIDs()})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test is gone
}

// ownTempDir gives the test a temporary folder of its own, so that whatever a
// control plane leaves behind shows. t.TempDir is too long for a socket on macOS.
func ownTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ek")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	t.Setenv("TMPDIR", dir)
	return dir
}

// start brings up a control plane that is stopped when the test ends.
func start(t *testing.T, options controlplane.Options) *controlplane.ControlPlane {
	t.Helper()
	cp, err := controlplane.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cp.Stop()) })
	return cp
}

// requireGone waits until none of the processes runs. One that only waits for its
// exit code to be fetched is gone: in a container nobody may ever fetch it.
func requireGone(t *testing.T, pids map[controlplane.Component]int) {
	t.Helper()
	require.NotEmpty(t, pids)
	for component, pid := range pids {
		require.Eventually(t, func() bool { return !runs(pid) }, patience, interval, "%s still runs with pid %d", component, pid)
	}
}

func runs(pid int) bool {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return false
	}
	stat, err := process.Stat()
	return err == nil && stat.State != "Z" && stat.State != "X"
}

func requireNothingIn(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func requireNoFile(t *testing.T, path string) {
	t.Helper()
	_, err := os.Stat(path)
	require.True(t, errors.Is(err, os.ErrNotExist), "%s still exists", path)
}

// requireNoComponents looks for processes that were given a file in dir, whoever
// started them.
func requireNoComponents(t *testing.T, dir string) {
	t.Helper()
	processes, err := procfs.AllProcs()
	require.NoError(t, err)
	for _, process := range processes {
		args, err := process.CmdLine()
		if err != nil {
			continue // it has just ended
		}
		require.NotContains(t, strings.Join(args, " "), dir, "process %d still runs", process.PID)
	}
}
