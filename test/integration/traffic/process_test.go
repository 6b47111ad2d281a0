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
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

func binary(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(hubtest.Root, "bin", name))
	require.NoError(t, err)
	require.FileExists(t, path, "run make build first")
	return path
}

// startManager runs hub-manager with TrafficMaps switched on; extra is more of that part of
// its configuration.
func startManager(t *testing.T, extra string) *hubtest.Program {
	t.Helper()
	return hub.RunManager(t, hub.managerKubeconfig, "trafficMap:\n  enabled: true\n"+extra)
}

// command makes a command as a user types it: kubectl finds the plugins in bin/.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(hub.BinDir(), "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+hub.kubeconfig, "KUBERC=off", "KUBECACHEDIR="+filepath.Join(hub.Folder, "cache"),
		"PATH="+filepath.Dir(binary(t, "kubectl-ome"))+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd
}

// outcome is how a command ended.
type outcome struct {
	stdout, stderr string
	code           int
}

func finish(t *testing.T, cmd *exec.Cmd, stdout, stderr *hubtest.Output, err error) outcome {
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
	stdout, stderr := &hubtest.Output{}, &hubtest.Output{}
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
	stdout, stderr *hubtest.Output
}

// ask runs a command with a terminal for its input, until it asks.
func ask(t *testing.T, args ...string) *atPrompt {
	t.Helper()
	terminal, tty, err := pty.Open()
	require.NoError(t, err)
	t.Cleanup(func() { _ = terminal.Close() })
	p := &atPrompt{t: t, cmd: command(t, args...), terminal: terminal, stdout: &hubtest.Output{}, stderr: &hubtest.Output{}}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, p.stdout, p.stderr
	require.NoError(t, p.cmd.Start())
	require.NoError(t, tty.Close())
	hubtest.Eventually(t, func() string {
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
