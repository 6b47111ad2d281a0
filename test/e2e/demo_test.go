//go:build e2e

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

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"
)

// patience bounds one run of the demo on a busy machine.
const patience = 8 * time.Minute

// repository is the root folder, absolute.
func repository(t *testing.T) string {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	return root
}

// run is one run of the demo. Its temporary folders are made in a folder of its own,
// whose name is in the environment of every process that it starts.
type run struct {
	t         *testing.T
	cmd       *exec.Cmd
	temporary string
	lines     chan string // its output, closed at the end
	output    bytes.Buffer
}

// start runs bin/demo in the repository.
func start(t *testing.T, env []string, args ...string) *run {
	// A short path: it becomes a part of the paths of Unix sockets.
	temporary, err := os.MkdirTemp("", "e2e-*")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(temporary)) })
	root := repository(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r := &run{
		t:         t,
		cmd:       exec.CommandContext(ctx, filepath.Join(root, "bin", "demo"), args...),
		temporary: temporary,
		lines:     make(chan string, 1),
	}
	r.cmd.Dir = root
	r.cmd.Env = append(append(os.Environ(), "SCENARIO=", "KEEP=", "TMPDIR="+temporary), env...)
	// Even a demo that is stuck gets the chance to end what it started.
	r.cmd.Cancel = func() error { return r.cmd.Process.Signal(syscall.SIGTERM) }
	r.cmd.WaitDelay = time.Minute
	reader, writer := io.Pipe()
	r.cmd.Stdout, r.cmd.Stderr = writer, writer
	require.NoError(t, r.cmd.Start(), "run \"make build\" first")
	go func() {
		_ = r.cmd.Wait() // the tests read ProcessState
		_ = writer.Close()
	}()
	go r.read(reader)
	return r
}

func (r *run) read(output io.Reader) {
	defer close(r.lines)
	scanner := bufio.NewScanner(output)
	for scanner.Scan() {
		r.output.WriteString(scanner.Text() + "\n")
		r.lines <- scanner.Text()
	}
}

// until returns the first line that contains a text.
func (r *run) until(text string) string {
	r.t.Helper()
	for line := range r.lines {
		if strings.Contains(line, text) {
			return line
		}
	}
	require.Fail(r.t, "the demo ended", "before it said %q:\n%s", text, r.output.String())
	return ""
}

// end waits for the end and returns the exit code and the last line.
func (r *run) end() (code int, last string) {
	for range r.lines {
	}
	lines := strings.Split(strings.TrimRight(r.output.String(), "\n"), "\n")
	return r.cmd.ProcessState.ExitCode(), lines[len(lines)-1]
}

func (r *run) signal(s os.Signal) {
	require.NoError(r.t, r.cmd.Process.Signal(s))
}

// requirePass ends a run that must pass.
func (r *run) requirePass(fewestChecks int) {
	r.t.Helper()
	code, last := r.end()
	match := regexp.MustCompile(`^demo: PASS \((\d+) checks\)$`).FindStringSubmatch(last)
	require.NotNil(r.t, match, "the last line is %q of:\n%s", last, r.output.String())
	assert.Zero(r.t, code)
	checks, err := strconv.Atoi(match[1])
	require.NoError(r.t, err)
	assert.GreaterOrEqual(r.t, checks, fewestChecks)
	assert.NotContains(r.t, r.output.String(), "FAIL")
	r.requireNothingLeft()
}

// requireFail ends a run that must fail, and returns its last line.
func (r *run) requireFail() string {
	r.t.Helper()
	code, last := r.end()
	require.True(r.t, strings.HasPrefix(last, "demo: FAIL "), "the last line is %q of:\n%s", last, r.output.String())
	assert.Equal(r.t, 1, code)
	r.requireNothingLeft()
	return last
}

func (r *run) requireNothingLeft() {
	r.t.Helper()
	assert.NoError(r.t, r.awaitNoProcess(), "processes were left behind: %q", r.processes())
	left, err := os.ReadDir(r.temporary)
	require.NoError(r.t, err)
	assert.Empty(r.t, left, "files were left behind")
}

// awaitNoProcess waits until all that the demo started has ended: what guards a program ends just after it.
func (r *run) awaitNoProcess() error {
	return wait.PollUntilContextTimeout(r.t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return len(r.processes()) == 0, nil
	})
}

// processes lists the command lines of processes that the demo started and that
// still run. It sees none where there is no /proc.
func (r *run) processes() []string {
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(r.t, err)
	var found []string
	for _, path := range environments {
		environment, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(environment, []byte("TMPDIR="+r.temporary+"\x00")) {
			continue // ended meanwhile, somebody else's, or not ours
		}
		command, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err == nil && len(command) > 0 {
			found = append(found, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

func TestAllScenarios(t *testing.T) {
	r := start(t, nil)
	r.requirePass(20)
	for _, name := range []string{"== place: ", "== drain: ", "== drain-graceful: ", "== traffic: ", "== system-nodes: "} {
		assert.Contains(t, r.output.String(), name)
	}
}

func TestOneScenario(t *testing.T) {
	r := start(t, []string{"SCENARIO=drain"})
	r.requirePass(10)
	assert.NotContains(t, r.output.String(), "== place: ")
}

// TestKeep looks around with the printed KUBECONFIG, as a user would.
func TestKeep(t *testing.T) {
	r := start(t, []string{"SCENARIO=place", "KEEP=1"})
	kubeconfig := strings.TrimPrefix(strings.TrimSpace(r.until("export KUBECONFIG=")), "export ")
	r.until("Ctrl-C")
	assert.NotEmpty(t, r.processes(), "the test does not see the demo's processes")

	kubectl := exec.CommandContext(t.Context(), filepath.Join(repository(t), "bin", "k8s", "kubectl"), "get", "modelreplicas", "-A", "--no-headers")
	kubectl.Env = append(os.Environ(), kubeconfig, "KUBERC=off", "KUBECACHEDIR="+t.TempDir())
	output, err := kubectl.CombinedOutput()
	require.NoError(t, err, string(output))
	assert.Len(t, strings.Split(strings.TrimSpace(string(output)), "\n"), 8, string(output))

	r.signal(os.Interrupt)
	r.requirePass(10)
}

func TestInterrupt(t *testing.T) {
	r := start(t, nil)
	r.until("kubectl apply")
	r.signal(os.Interrupt)
	assert.Equal(t, "demo: FAIL interrupted", r.requireFail())
}

func TestInterruptWhileStarting(t *testing.T) {
	r := start(t, nil)
	r.until("Starting a control plane")
	r.signal(syscall.SIGTERM)
	assert.Equal(t, "demo: FAIL interrupted", r.requireFail())
}

// TestKilled makes sure that no process stays for ever when the demo cannot end it.
func TestKilled(t *testing.T) {
	r := start(t, nil)
	r.until("kubectl apply")
	r.signal(syscall.SIGKILL)
	r.end()
	assert.NoError(t, r.awaitNoProcess(), "still running: %q", r.processes())
}

func TestWrongScenario(t *testing.T) {
	last := start(t, []string{"SCENARIO=plaice"}).requireFail()
	assert.Contains(t, last, `no scenario is called "plaice"`)
	assert.Contains(t, last, "place, drain")
}

// copyOfRepository links what the demo needs, except that the hub-scheduler is the
// given script, or not there.
func copyOfRepository(t *testing.T, scheduler string) string {
	original, root := repository(t), t.TempDir()
	bin := filepath.Join(root, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	for _, name := range []string{"manifests", "bin/k8s", "bin/hub-manager"} {
		require.NoError(t, os.Symlink(filepath.Join(original, name), filepath.Join(root, name)))
	}
	if scheduler != "" {
		require.NoError(t, os.WriteFile(filepath.Join(bin, "hub-scheduler"), []byte(scheduler), 0o755))
	}
	return root
}

func TestMissingBinary(t *testing.T) {
	last := start(t, nil, "--root="+copyOfRepository(t, "")).requireFail()
	assert.Contains(t, last, "hub-scheduler")
	assert.Contains(t, last, `run "make build"`)
}

// TestBrokenBinary makes sure that the end of a program ends the demo at once, with
// the program's own words, and that its log can be read afterwards.
func TestBrokenBinary(t *testing.T) {
	root := copyOfRepository(t, "#!/bin/sh\necho the scheduler is unwell\nexit 3\n")
	last := start(t, nil, "--root="+root).requireFail()
	assert.Contains(t, last, "hub-scheduler ended by itself (exit status 3)")
	assert.Contains(t, last, "the scheduler is unwell")

	logs := filepath.Join(root, "bin", "demo-logs")
	assert.Contains(t, last, "logs: "+logs)
	content, err := os.ReadFile(filepath.Join(logs, "hub-scheduler.log"))
	require.NoError(t, err)
	assert.Contains(t, string(content), "the scheduler is unwell")
	assert.FileExists(t, filepath.Join(logs, "kube-apiserver.log"))
}
