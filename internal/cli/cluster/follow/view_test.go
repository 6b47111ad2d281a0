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

package follow

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli/golden"
	"github.com/evenkeel-io/evenkeel/internal/cli/table"
)

func rowsForView() []*Row {
	row := func(name, step, to, reason, waits string, began, ended int) *Row {
		r := &Row{Replica: types.NamespacedName{Namespace: "ml", Name: name}, Step: step, To: to, Reason: reason, WaitingFor: waits, Began: at(began)}
		if ended > 0 {
			r.Ended = at(ended)
		}
		return r
	}
	return []*Row{
		row("chat-1", evenkeel.StepServing, "west", "", "", 0, 12),
		row("chat-2", evenkeel.StepWaiting, "", evenkeel.LeavingBudget, "other replicas of the deployment to serve", 0, 0),
		row("chat-3", evenkeel.StepLoading, "north", "", "chat-9 to serve", 3, 0),
		row("embed-1", StepStays, "", "", "", 0, 0),
		row("reasoner-1", StepNowhere, "", "", "room: 0/3 clusters are available: "+strings.Repeat("x", 200), 0, 9),
	}
}

func TestLines(t *testing.T) {
	out := &bytes.Buffer{}
	view := NewLines(out)
	require.NoError(t, view.Show(nil, rowsForView(), 83*time.Second))
	require.NoError(t, view.Say("a remark"))
	golden.Equal(t, "lines", out.String())
}

func TestScreenLines(t *testing.T) {
	for name, height := range map[string]int{"whole": 20, "cut": 5} {
		t.Run(name, func(t *testing.T) {
			text := screenLines(rowsForView(), 83*time.Second, at(60), height)
			assert.LessOrEqual(t, len(text), height)
			golden.Equal(t, "screen-"+name, strings.Join(text, "\n")+"\n")
		})
	}
	assert.Equal(t, []string{"0 of 0 replicas left, 1s"}, screenLines(nil, time.Second, at(0), 10))
}

// TestScreen draws twice: the second time over the first, and no line is wider than the terminal, which would
// break the count of lines to go back.
func TestScreen(t *testing.T) {
	out := &bytes.Buffer{}
	s := &screen{out: out, now: func() time.Time { return at(60) }, size: func() (int, int) { return 60, 10 }}
	require.NoError(t, s.Show(rowsForView(), nil, time.Second))
	first := out.String()
	for _, line := range strings.Split(strings.TrimPrefix(first, "\r"+clearToEnd), "\n") {
		assert.Less(t, table.Cells(line), 60, line)
	}
	out.Reset()
	require.NoError(t, s.Show(rowsForView()[:1], nil, 2*time.Second))
	assert.True(t, strings.HasPrefix(out.String(), "\x1b[7A\r"+clearToEnd), "%q", out)
	out.Reset()
	require.NoError(t, s.Say("a remark"))
	assert.Equal(t, "\x1b[3A\r"+clearToEnd+"a remark\n", out.String())
	out.Reset()
	require.NoError(t, s.Show(nil, nil, 3*time.Second))
	assert.True(t, strings.HasPrefix(out.String(), "\r"+clearToEnd), "what was said stays: %q", out)
}
