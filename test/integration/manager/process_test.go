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

package manager

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"
)

// process is one of the project's binaries, run as a child.
type process struct {
	path string
	args []string
	// atWork is what it logs at each start once it works.
	atWork string

	mu  sync.Mutex
	log bytes.Buffer
	cmd *exec.Cmd
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// run starts the binary.
func (p *process) run() error {
	p.cmd = exec.Command(p.path, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return p.cmd.Start()
}

// kill ends it without giving it a chance to clean up.
func (p *process) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// killAndRun kills it, starts it again and waits until it is at work: on a slow machine one that is killed before would
// never get anything done.
func (p *process) killAndRun(ctx context.Context) error {
	starts := strings.Count(p.output(), p.atWork)
	p.kill()
	if err := p.run(); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(context.Context) (bool, error) {
		return strings.Count(p.output(), p.atWork) > starts, nil
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("it does not get to work: %w", err)
	}
	return nil
}

// stop asks it to end, and waits until it has.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.wait()
}

// wait waits until it ends by itself.
func (p *process) wait() error {
	cmd := p.cmd
	p.cmd = nil
	return cmd.Wait()
}

func (p *process) running() bool { return p.cmd.Process.Signal(syscall.Signal(0)) == nil }

func startProcess(t *testing.T, binary string, args ...string) *process {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "bin", binary))
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run make build first", err)
	}
	p := &process{path: path, args: args}
	require.NoError(t, p.run())
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s:\n%s", binary, tail(p.output(), 6000))
		}
	})
	return p
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "..." + s[len(s)-n:]
}

// startManager runs hub-manager with a configuration that suits tests: no waiting where a test does not test the wait.
func startManager(t *testing.T, extra string) *process {
	t.Helper()
	return startManagerWith(t, "leaderElection: {leaderElect: false}", "settleTime: 1s", extra)
}

func startManagerWith(t *testing.T, election, settle, extra string) *process {
	t.Helper()
	return startManagerServing(t, "0", election, settle, extra)
}

// startManagerServing has it serve its metrics at an address.
func startManagerServing(t *testing.T, metrics, election, settle, extra string) *process {
	t.Helper()
	config := filepath.Join(t.TempDir(), "manager.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `apiVersion: config.evenkeel.io/v1alpha1
kind: HubManagerConfiguration
healthBindAddress: "0"
metricsBindAddress: %q
webhooks: {bindAddress: "0"}
%s
modelDeployments:
  %s
%s`, metrics, election, settle, extra), 0o600))
	p := startProcess(t, "hub-manager", "--kubeconfig="+hub.managerKubeconfig, "--config="+config, "-v=1")
	p.atWork = `"Starting workers" controller="modeldeployment"`
	return p
}

func startScheduler(t *testing.T) *process {
	t.Helper()
	p := startProcess(t, "hub-scheduler", "--kubeconfig="+hub.KubeconfigPath(), "--leader-elect=false",
		"--secure-port=0", "--authentication-skip-lookup=true", "--v=3")
	p.atWork = "Handlers synced"
	return p
}
