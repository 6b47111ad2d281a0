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

package lifeline_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-io/evenkeel/internal/controlplane/lifeline"
)

// roleEnv turns the test binary into one of the processes of a test.
const roleEnv = "EVENKEEL_LIFELINE_TEST_ROLE"

// patience is only ever used up by a test that fails.
const patience = time.Minute

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "parent":
		parent()
	case "child":
		child()
	default:
		os.Exit(m.Run())
	}
}

// parent starts a child on a lifeline and then only waits to be killed.
func parent() {
	line, err := lifeline.New()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=child")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	line.Tie(cmd)
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	time.Sleep(2 * patience)
}

// child says that it is attached and then lives for as long as its parent, unless
// that is broken.
func child() {
	if err := lifeline.Attach(); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("attached; variable left for grandchildren:", os.Getenv(lifeline.EnvFD) != "")
	time.Sleep(2 * patience)
}

func start(t *testing.T, cmd *exec.Cmd) *bufio.Reader {
	t.Helper()
	output, writer, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = writer, writer
	require.NoError(t, cmd.Start())
	require.NoError(t, writer.Close())
	// A child that outlives its parent makes this a failed read, not a hang.
	require.NoError(t, output.SetReadDeadline(time.Now().Add(patience)))
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // "already finished" if the test went well
		assert.NoError(t, output.Close())
	})
	return bufio.NewReader(output)
}

func TestChildDiesWhenParentIsKilled(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=parent")
	output := start(t, cmd)
	line, err := output.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "attached; variable left for grandchildren: false\n", line)

	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // "signal: killed"

	// Parent and child hold the only writing ends.
	_, err = output.ReadString('\n')
	assert.ErrorIs(t, err, io.EOF, "the child still runs")
}

func TestChildDiesWhenLifelineIsClosed(t *testing.T) {
	line, err := lifeline.New()
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=child")
	line.Tie(cmd)
	output := start(t, cmd)
	_, err = output.ReadString('\n')
	require.NoError(t, err)

	line.Close()

	_, err = output.ReadString('\n')
	assert.ErrorIs(t, err, io.EOF, "the child still runs")
	assert.ErrorContains(t, cmd.Wait(), "killed")
}

func TestTieKeepsEnvironmentAndOtherFiles(t *testing.T) {
	line, err := lifeline.New()
	require.NoError(t, err)
	defer line.Close()
	cmd := exec.Command("unused")
	cmd.ExtraFiles = []*os.File{os.Stdin}
	line.Tie(cmd)
	assert.Contains(t, cmd.Env, lifeline.EnvFD+"=4")
	assert.Subset(t, cmd.Env, os.Environ())
}

func TestAttach(t *testing.T) {
	notAPipe, err := os.Open(os.Args[0])
	require.NoError(t, err)
	defer func() { assert.NoError(t, notAPipe.Close()) }()

	tests := map[string]struct{ value, wantErr string }{
		"no number":     {"pipe", "must be the number of a pipe above 2"},
		"empty":         {"", "must be the number of a pipe above 2"},
		"standard file": {"1", "must be the number of a pipe above 2"},
		"negative":      {"-1", "must be the number of a pipe above 2"},
		"not open":      {"9999", "which is no open pipe"},
		"a file":        {strconv.Itoa(int(notAPipe.Fd())), "which is no open pipe"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv(lifeline.EnvFD, test.value)
			assert.ErrorContains(t, lifeline.Attach(), test.wantErr)
		})
	}

	t.Run("without a parent it does nothing", func(t *testing.T) {
		_, set := os.LookupEnv(lifeline.EnvFD)
		require.False(t, set)
		assert.NoError(t, lifeline.Attach())
	})
}
