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

package controlplane

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-io/evenkeel/internal/controlplane/lifeline"
)

// shell is a process that runs a script.
func shell(t *testing.T, script string) *process {
	t.Helper()
	line, err := lifeline.New()
	require.NoError(t, err)
	p := &process{
		component: "shell",
		binary:    "/bin/sh",
		args:      []string{"-c", script},
		logPath:   filepath.Join(t.TempDir(), "shell.log"),
		line:      line,
	}
	t.Cleanup(func() {
		p.kill()
		line.Close()
	})
	return p
}

func TestProcessLifecycle(t *testing.T) {
	p := shell(t, "echo run; exec sleep 3600")
	assert.Zero(t, p.currentPID())
	p.kill() // never started: nothing to do

	require.NoError(t, p.start())
	pid := p.currentPID()
	require.NotZero(t, pid)
	assert.ErrorContains(t, p.start(), "runs already")
	assert.NoError(t, p.exitError())
	group, err := syscall.Getpgid(pid)
	require.NoError(t, err)
	assert.Equal(t, pid, group, "Ctrl-C in a terminal would reach the component")

	p.kill()
	assert.Zero(t, p.currentPID())
	assert.ErrorContains(t, p.exitError(), "killed")
	assert.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	p.kill() // dead already: nothing to do

	require.NoError(t, p.start())
	assert.NoError(t, p.exitError())
}

func TestProcessAppendsToItsLog(t *testing.T) {
	p := shell(t, "echo out; echo err >&2")
	for range 2 {
		require.NoError(t, p.start())
		<-p.exited
	}
	assert.Equal(t, "out\nerr\nout\nerr", tail(p.logPath, 10))
	assert.EqualError(t, p.exitError(), "exit status 0")
}

func TestGarbageCollection(t *testing.T) {
	for set, want := range map[string]string{"": gcPercent, "50": "50"} {
		t.Setenv("GOGC", set)
		p := shell(t, "echo GOGC=$GOGC; exec sleep 3600")
		require.NoError(t, p.start())
		require.Eventually(t, func() bool {
			log, err := os.ReadFile(p.logPath)
			return err == nil && strings.Contains(string(log), "GOGC="+want+"\n")
		}, 10*time.Second, time.Millisecond)
	}
}

func TestProcessThatCannotStart(t *testing.T) {
	p := shell(t, "")
	p.binary = filepath.Join(t.TempDir(), "none")
	assert.ErrorIs(t, p.start(), os.ErrNotExist)
	assert.Zero(t, p.currentPID())
}

func TestWaitReady(t *testing.T) {
	errNotYet := errors.New("not yet")
	never := func(context.Context) error { return errNotYet }
	bounded, cancelBounded := context.WithTimeout(t.Context(), time.Minute)
	defer cancelBounded()

	t.Run("ready after a while", func(t *testing.T) {
		p := shell(t, "exec sleep 3600")
		require.NoError(t, p.start())
		calls := 0
		err := waitReady(bounded, p, func(context.Context) error {
			if calls++; calls < 3 {
				return errNotYet
			}
			return nil
		})
		assert.NoError(t, err)
		assert.Equal(t, 3, calls)
	})

	t.Run("it ends first", func(t *testing.T) {
		p := shell(t, "echo the reason; exit 3")
		require.NoError(t, p.start())
		err := waitReady(bounded, p, never)
		assert.ErrorContains(t, err, "shell: it ended before it was ready: exit status 3")
		assert.ErrorContains(t, err, "    the reason")
	})

	t.Run("the context ends first", func(t *testing.T) {
		p := shell(t, "echo still loading; exec sleep 3600")
		require.NoError(t, p.start())
		errCause := errors.New("out of patience")
		ctx, cancel := context.WithCancelCause(bounded)
		err := waitReady(ctx, p, func(context.Context) error {
			if strings.Contains(tail(p.logPath, 1), "still loading") {
				cancel(errCause)
			}
			return errNotYet
		})
		assert.ErrorIs(t, err, errCause)
		assert.ErrorIs(t, err, errNotYet)
		assert.ErrorContains(t, err, "    still loading")
	})

	t.Run("a probe does not hang for ever", func(t *testing.T) {
		p := shell(t, "exec sleep 3600")
		require.NoError(t, p.start())
		err := waitReady(bounded, p, func(ctx context.Context) error {
			deadline, ok := ctx.Deadline()
			assert.True(t, ok)
			assert.LessOrEqual(t, time.Until(deadline), probeTimeout)
			return nil
		})
		assert.NoError(t, err)
	})
}

func TestTail(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("x", tailWindow) + "\nlast"
	tests := map[string]struct {
		content string
		lines   int
		want    string
	}{
		"empty":              {"", 3, ""},
		"shorter":            {"a\nb\n", 3, "a\nb"},
		"longer":             {"a\nb\nc\nd\n", 2, "c\nd"},
		"no end of line":     {"a\nb", 1, "b"},
		"longer than window": {long, 1, "last"},
		"cut line":           {long, 9, long[len(long)-tailWindow:]},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(path, []byte(test.content), ownerOnly))
			assert.Equal(t, test.want, tail(path, test.lines))
		})
	}
	assert.Contains(t, tail(filepath.Join(dir, "none"), 1), "the log cannot be read")
}
