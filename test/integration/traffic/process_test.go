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
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// buffer collects output that a test looks at while it is written.
type buffer struct {
	mu      sync.Mutex
	content bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.content.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.content.String()
}

func binary(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "bin", name))
	require.NoError(t, err)
	require.FileExists(t, path, "run make build first")
	return path
}

// startManager runs hub-manager with TrafficMaps switched on; extra is more of that part of
// its configuration.
func startManager(t *testing.T, extra string) (*exec.Cmd, *buffer) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "manager.yaml")
	require.NoError(t, os.WriteFile(config, []byte(`apiVersion: config.evenkeel.io/v1alpha1
kind: HubManagerConfiguration
healthBindAddress: "0"
metricsBindAddress: "0"
webhooks: {bindAddress: "0"}
leaderElection: {leaderElect: false}
trafficMap:
  enabled: true
`+extra), 0o600))
	out := &buffer{}
	cmd := exec.Command(binary(t, "hub-manager"), "--kubeconfig="+hub.managerKubeconfig, "--config="+config, "-v=1")
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("hub-manager:\n%s", out.String())
		}
	})
	return cmd, out
}

// command makes a command as a user types it: kubectl finds the plugins in bin/.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(hub.BinDir(), "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+hub.kubeconfig, "KUBERC=off", "KUBECACHEDIR="+filepath.Join(hub.folder, "cache"),
		"PATH="+filepath.Dir(binary(t, "kubectl-ome"))+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd
}

// outcome is how a command ended.
type outcome struct {
	stdout, stderr string
	code           int
}

func finish(t *testing.T, cmd *exec.Cmd, stdout, stderr *buffer, err error) outcome {
	t.Helper()
	if _, exited := err.(*exec.ExitError); !exited {
		require.NoError(t, err)
	}
	return outcome{stdout: stdout.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
}

// run runs a command without a terminal.
func run(t *testing.T, args ...string) outcome {
	t.Helper()
	cmd := command(t, args...)
	stdout, stderr := &buffer{}, &buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return finish(t, cmd, stdout, stderr, cmd.Run())
}

// kubectl runs a command that must succeed and returns what it printed.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	o := run(t, args...)
	require.Zero(t, o.code, "kubectl %s: %s", strings.Join(args, " "), o.stderr)
	return o.stdout
}

// atPrompt is a command that asks on a terminal and waits.
type atPrompt struct {
	t              *testing.T
	cmd            *exec.Cmd
	terminal       *os.File
	stdout, stderr *buffer
}

// ask runs a command with a terminal for its input, until it asks.
func ask(t *testing.T, args ...string) *atPrompt {
	t.Helper()
	terminal, tty, err := pty.Open()
	require.NoError(t, err)
	t.Cleanup(func() { _ = terminal.Close() })
	p := &atPrompt{t: t, cmd: command(t, args...), terminal: terminal, stdout: &buffer{}, stderr: &buffer{}}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, p.stdout, p.stderr
	require.NoError(t, p.cmd.Start())
	require.NoError(t, tty.Close())
	eventually(t, func() string {
		if !strings.HasSuffix(p.stderr.String(), "[y/N] ") {
			return "the command does not ask: " + p.stderr.String()
		}
		return ""
	})
	return p
}

// answer types a line.
func (p *atPrompt) answer(keys string) outcome {
	p.t.Helper()
	_, err := io.WriteString(p.terminal, keys)
	assert.NoError(p.t, err)
	return finish(p.t, p.cmd, p.stdout, p.stderr, p.cmd.Wait())
}
