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

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSelectScenarios(t *testing.T) {
	all, err := selectScenarios("")
	require.NoError(t, err)
	assert.Len(t, all, len(scenarios()))
	one, err := selectScenarios("drain")
	require.NoError(t, err)
	require.Len(t, one, 1)
	assert.Equal(t, "drain", one[0].name)
	_, err = selectScenarios("drian")
	require.ErrorContains(t, err, `"drian"`)
	for _, s := range all {
		assert.ErrorContains(t, err, s.name, "the error must name what can be chosen")
		assert.NotEmpty(t, s.summary)
	}
}

// TestLastLine is about runs that end before anything is started.
func TestLastLine(t *testing.T) {
	empty := t.TempDir()
	for name, tc := range map[string]struct {
		settings settings
		want     string
	}{
		"a wrong scenario": {settings{scenario: "x", root: empty}, "demo: FAIL no scenario is called \"x\""},
		"nothing built":    {settings{root: empty}, "run \"make build\""},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			assert.Equal(t, 1, newDemo(tc.settings, &out).run(t.Context()))
			lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
			assert.Contains(t, lines[len(lines)-1], tc.want)
		})
	}
}

func TestMissingProgramIsNamed(t *testing.T) {
	root := t.TempDir()
	components := filepath.Join(root, "bin", "k8s")
	require.NoError(t, os.MkdirAll(components, 0o755))
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		require.NoError(t, os.WriteFile(filepath.Join(components, name), nil, 0o755))
	}
	_, err := newHub(root, newPrinter(&bytes.Buffer{}))
	assert.ErrorContains(t, err, "no binary "+filepath.Join(root, "bin", "hub-scheduler"))
}

func TestFailureIsOneLine(t *testing.T) {
	var out bytes.Buffer
	d := newDemo(settings{}, &out)
	d.checks.that("holds", true, "")
	d.checks.that("does not", false, "it is %d", 7)
	line := d.failure(&outcome{err: errors.New("first\nsecond"), cleanUp: errors.New("third"), logs: "there"})
	assert.Equal(t, "(1 of 2 checks: does not) - first; second - clean up: third - logs: there", line)
	assert.Contains(t, out.String(), "FAIL  does not\n   it is 7\n")
}

func TestShellJoin(t *testing.T) {
	for want, args := range map[string][]string{
		"get md -n ml-team":              {"get", "md", "-n", "ml-team"},
		`'--patch={"a":"b"}'`:            {`--patch={"a":"b"}`},
		`'it'\''s' ''`:                   {"it's", ""},
		"-l modelplane.ai/cluster=gpu-x": {"-l", "modelplane.ai/cluster=gpu-x"},
	} {
		assert.Equal(t, want, shellJoin(args))
	}
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := newPrinter(&out)
	p.report("one")
	p.report("two")
	p.passed("done")
	assert.Equal(t, "   .. one\n   .. two\n   ok    done\n", out.String(), "elsewhere than on a terminal")

	out.Reset()
	p.terminal = true
	p.report("longer")
	p.report("short")
	p.passed("done")
	assert.Equal(t, "\r   .. longer\r   .. short \n   ok    done\n", out.String(), "on a terminal")

	out.Reset()
	p.columns = func() int { return 10 }
	p.report("longer than that")
	assert.Equal(t, "\r   .. lon", out.String(), "on a narrow terminal")
}

func TestMerge(t *testing.T) {
	under := map[string]any{"a": map[string]any{"b": 1, "c": 2}, "d": 3}
	over := map[string]any{"a": map[string]any{"c": 4}, "d": map[string]any{"e": 5}}
	assert.Equal(t, map[string]any{"a": map[string]any{"b": 1, "c": 4}, "d": map[string]any{"e": 5}}, merge(under, over))
	assert.Equal(t, over, merge(nil, over))
}

// TestMain lets the test binary be the guard of the programs that tests start.
func TestMain(m *testing.M) {
	if isSet(envGuard) {
		os.Exit(guard(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func TestProcessEnd(t *testing.T) {
	log := filepath.Join(t.TempDir(), "p.log")
	ended := make(chan error, 1)
	_, err := startProcess("p", "/bin/sh", log, []string{"-c", "echo why; exit 3"}, func(p *process) { ended <- p.ended() })
	require.NoError(t, err)
	assert.ErrorContains(t, <-ended, "p ended by itself (exit status 3): ...why")

	p, err := startProcess("p", "/bin/sh", log, []string{"-c", "exec sleep 1000"}, func(*process) {})
	require.NoError(t, err)
	require.NoError(t, p.stop())
	require.NoError(t, p.stop(), "it has ended already")

	_, err = startProcess("p", filepath.Join(t.TempDir(), "none"), log, nil, func(p *process) { ended <- p.ended() })
	require.NoError(t, err)
	assert.ErrorContains(t, <-ended, "no such file")
}

// TestGuardEndsWithTheDemo closes the pipe as the kernel does when the demo is killed.
func TestGuardEndsWithTheDemo(t *testing.T) {
	log := filepath.Join(t.TempDir(), "p.log")
	p, err := startProcess("p", "/bin/sh", log, []string{"-c", "trap '' TERM; echo up; while true; do sleep 1; done"}, func(*process) {})
	require.NoError(t, err)
	require.NoError(t, p.alive.Close())
	select {
	case <-p.exited:
	case <-time.After(time.Minute):
		assert.NoError(t, p.signal(syscall.SIGKILL))
		t.Fatal("the program goes on without the demo")
	}
}

func TestStopOfNothing(t *testing.T) {
	folder := t.TempDir()
	h := &hub{folder: folder, cancel: func(error) {}, stopStandIn: func() error { return nil }}
	require.NoError(t, h.stop())
	assert.NoDirExists(t, folder)
	logs, err := h.keepLogs(filepath.Join(t.TempDir(), "logs"))
	require.NoError(t, err)
	assert.Empty(t, logs)
}

func TestWaitForUserTellsOfAnEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("hub-manager ended"))
	assert.ErrorContains(t, endOf(ctx), "hub-manager ended")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	assert.NoError(t, endOf(ctx))
}

func TestFoldersOfKilledDemosGo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ended := exec.Command("/bin/sh", "-c", "exit 0")
	require.NoError(t, ended.Run())
	owned := func(pid string) string {
		folder, err := os.MkdirTemp("", folderPattern)
		require.NoError(t, err)
		if pid != "" {
			require.NoError(t, os.WriteFile(filepath.Join(folder, ownerFile), []byte(pid), 0o600))
		}
		return folder
	}
	dead, odd, fresh := owned(strconv.Itoa(ended.Process.Pid)), owned("0"), owned("")
	mine, err := createFolder()
	require.NoError(t, err)
	second, err := createFolder()
	require.NoError(t, err)
	assert.NoDirExists(t, dead)
	for _, folder := range []string{odd, fresh, mine, second} {
		assert.DirExists(t, folder)
	}
}
