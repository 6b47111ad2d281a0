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

package harness

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"
)

func TestChildIsMeasuredAndStopped(t *testing.T) {
	child, err := StartChild(t.TempDir(), "sleeper", "/bin/sh", "-c", "echo started; exec sleep 600")
	require.NoError(t, err)
	require.NoError(t, child.Check())
	usage, err := child.Usage()
	require.NoError(t, err)
	assert.Positive(t, usage.PeakRSSBytes)
	child.Stop(t.Context())
	assert.ErrorContains(t, child.Check(), "sleeper ended: signal: terminated")
}

func TestChildThatIgnoresTheSignalIsKilled(t *testing.T) {
	folder := t.TempDir()
	child, err := StartChild(folder, "stubborn", "/bin/sh", "-c", "trap '' TERM; touch "+filepath.Join(folder, "ready")+"; while :; do sleep 1; done")
	require.NoError(t, err)
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		_, err := os.Stat(filepath.Join(folder, "ready"))
		return err == nil, nil
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // no grace
	child.Stop(ctx)
	assert.ErrorContains(t, child.Check(), "signal: killed")
}

func TestChildThatEndsTellsWhy(t *testing.T) {
	child, err := StartChild(t.TempDir(), "failing", "/bin/sh", "-c", "echo the reason >&2; exit 3")
	require.NoError(t, err)
	defer child.Stop(t.Context())
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return child.Check() != nil, nil
	})
	require.NoError(t, err)
	assert.ErrorContains(t, child.Check(), "failing ended: exit status 3")
	assert.ErrorContains(t, child.Check(), "the reason")
}

func TestStartChildThatIsNotThere(t *testing.T) {
	_, err := StartChild(t.TempDir(), "nobody", filepath.Join(t.TempDir(), "nobody"))
	assert.ErrorContains(t, err, "start nobody")
}

func TestRunChild(t *testing.T) {
	ran, err := RunChild(t.Context(), t.TempDir(), "worker", "/bin/sh", "-c", "echo done; sleep 0.1")
	require.NoError(t, err)
	assert.Equal(t, "done\n", string(ran.Output))
	assert.True(t, ran.Ended.After(ran.Started))
	assert.Positive(t, ran.Usage.PeakRSSBytes)

	_, err = RunChild(t.Context(), t.TempDir(), "failing", "/bin/sh", "-c", "echo the reason; exit 3")
	assert.ErrorContains(t, err, "failing ended: exit status 3")
	assert.ErrorContains(t, err, "the reason")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = RunChild(ctx, t.TempDir(), "sleeper", "/bin/sh", "-c", "exec sleep 600")
	assert.ErrorIs(t, err, context.Canceled)
}
