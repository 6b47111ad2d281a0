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

package cluster

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/cluster/follow"
	"github.com/evenkeel-io/evenkeel/internal/cli/golden"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// over makes a finished placement.
func over(name, cluster string, move *evenkeel.Move, began, ended time.Time, cause, message string) evenkeel.ReplicaPlacement {
	return evenkeel.ReplicaPlacement{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name},
		Spec:       evenkeel.ReplicaPlacementSpec{DeploymentName: "chat"},
		Status: evenkeel.ReplicaPlacementStatus{
			Assignment: &evenkeel.Assignment{ClusterName: cluster}, Move: move,
			Conditions: []metav1.Condition{
				{Type: evenkeel.ConditionDisruptionTarget, Status: metav1.ConditionTrue, Reason: cause, LastTransitionTime: metav1.NewTime(began)},
				{Type: evenkeel.ConditionMoved, Status: metav1.ConditionTrue, Reason: cause, Message: message, LastTransitionTime: metav1.NewTime(ended)},
			},
		},
	}
}

func placementsForHistory() []evenkeel.ReplicaPlacement {
	return []evenkeel.ReplicaPlacement{
		over("chat-0-1", "east", &evenkeel.Move{From: "east", To: "west", Actor: "kubectl-evenkeel"}, noon.Add(-time.Hour), noon.Add(-59*time.Minute),
			evenkeel.CauseTaint, "moved from east to west within 1m0s"),
		over("chat-1-1", "east", &evenkeel.Move{From: "east"}, noon.Add(-2*time.Hour), noon.Add(-110*time.Minute),
			evenkeel.CausePool, "left east within 10m0s with nowhere to go: 0/2 clusters are available"),
		over("chat-2-1", "north", &evenkeel.Move{From: "north", To: "east"}, noon.Add(-30*time.Minute), noon.Add(-29*time.Minute), evenkeel.CauseTemplate, "moved from north to east within 1m0s"),
		over("chat-3-1", "north", nil, noon, noon, evenkeel.CauseTaint, "not about east"),
		{ObjectMeta: metav1.ObjectMeta{Name: "not over"}, Status: evenkeel.ReplicaPlacementStatus{Assignment: &evenkeel.Assignment{ClusterName: "east"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "pending"}},
	}
}

func TestHistoryPrinter(t *testing.T) {
	for _, format := range []string{"table", "wide", "json", "yaml"} {
		t.Run(format, func(t *testing.T) {
			streams, _, out, _ := genericiooptions.NewTestIOStreams()
			o := &history{Factory: cli.NewFactory(cli.Evenkeel, streams), output: format, now: func() time.Time { return noon }}
			require.NoError(t, o.print("east", movesOf(placementsForHistory(), "east")))
			golden.Equal(t, "history-"+format, out.String())
		})
	}
}

func row(name, step, to, reason, waits string) *follow.Row {
	return &follow.Row{Replica: types.NamespacedName{Namespace: "ml", Name: name}, Step: step, To: to, Reason: reason, WaitingFor: waits}
}

// TestConclude is what a drain says at its end, and how it exits.
func TestConclude(t *testing.T) {
	left := []*follow.Row{
		row("chat-1", evenkeel.StepServing, "west", "", ""),
		row("chat-2", evenkeel.StepWaiting, "", evenkeel.LeavingPaused, "DisruptionPolicy kubectl-evenkeel-pause to be lifted"),
		row("chat-3", evenkeel.StepUnplaceable, "", evenkeel.LeavingUnplaceable, "room: 0/3 clusters are available"),
	}
	reported := &metav1.Condition{Status: metav1.ConditionFalse, Message: "1 replica must still leave"}
	for name, tc := range map[string]struct {
		result follow.Result
		code   int
	}{
		"drained": {follow.Result{End: follow.EndDrained, Took: 90 * time.Second, Drained: reported, Rows: []*follow.Row{
			row("chat-1", evenkeel.StepServing, "west", "", ""), row("chat-2", evenkeel.StepLoading, "west", "", "chat-9 to serve"),
			row("chat-3", evenkeel.StepServing, "north", "", ""), row("embed-1", follow.StepStays, "", "", ""),
			row("embed-2", follow.StepGone, "", "", ""), row("reasoner-1", follow.StepNowhere, "", "", "room"),
		}}, cli.ExitOK},
		"empty":       {follow.Result{End: follow.EndDrained, Took: time.Second, Drained: reported}, cli.ExitOK},
		"timeout":     {follow.Result{End: follow.EndTimeout, Took: time.Minute, Drained: reported, Rows: left}, cli.ExitUnfinished},
		"interrupted": {follow.Result{End: follow.EndInterrupted, Took: time.Minute, Rows: left}, cli.ExitUnfinished},
		"behind":      {follow.Result{End: follow.EndTimeout, Took: time.Minute, Drained: reported, Rows: left[:1]}, cli.ExitUnfinished},
		"lifted":      {follow.Result{End: follow.EndLifted, Took: time.Minute, Rows: left}, cli.ExitUnfinished},
		"deleted":     {follow.Result{End: follow.EndDeleted}, cli.ExitError},
	} {
		t.Run(name, func(t *testing.T) {
			streams, _, out, _ := genericiooptions.NewTestIOStreams()
			d := &drainAction{change: change{Factory: cli.NewFactory(cli.Evenkeel, streams), taintKey: "other"}}
			err := d.conclude("east", &tc.result)
			errOut := &bytes.Buffer{}
			assert.Equal(t, tc.code, cli.Report(errOut, err))
			golden.Equal(t, "conclude-"+name, out.String()+errOut.String())
		})
	}
}

func TestListed(t *testing.T) {
	assert.Equal(t, "0 replicas stay", listed(nil, "replica stays", "replicas stay"))
	assert.Equal(t, "1 replica stays (a)", listed([]string{"a"}, "replica stays", "replicas stay"))
	assert.Equal(t, "7 replicas stay (a, b, c, d, e and 2 more)", listed([]string{"g", "f", "e", "d", "c", "b", "a"}, "replica stays", "replicas stay"))
}

// TestFlags are refused before anything is asked of a hub.
func TestFlags(t *testing.T) {
	for name, args := range map[string][]string{
		"--dry-run must be":         {"drain", "east", "--dry-run=maybe"},
		"--field-manager must not":  {"cordon", "east", "--field-manager="},
		"--taint-key must not":      {"uncordon", "east", "--taint-key="},
		"--timeout must not":        {"drain", "east", "--timeout=-1s"},
		"takes the name of one":     {"drain"},
		"exclude each other":        {"pause", "-A", "--cluster=east"},
		"is it --cluster east":      {"pause", "east"},
		"no key of a taint":         {"cordon", "east", "--taint-key=a/b/c"},
		"is it drain?":              {"undo", "drian"},
		"unsupported output format": {"history", "east", "-o", "xml"},
	} {
		t.Run(name, func(t *testing.T) {
			streams, _, _, _ := genericiooptions.NewTestIOStreams()
			f := cli.NewFactory(cli.Evenkeel, streams)
			root := newTestRoot(f)
			root.SetArgs(args)
			assert.ErrorContains(t, root.ExecuteContext(t.Context()), name)
		})
	}
}

func TestConfirmWithoutTerminal(t *testing.T) {
	streams, in, _, errOut := genericiooptions.NewTestIOStreams()
	in.WriteString("yes\n")
	err := cli.NewFactory(cli.Evenkeel, streams).Confirm(t.Context(), "Drain east?")
	said := &cli.Error{}
	require.True(t, errors.As(err, &said))
	assert.Contains(t, said.Message, "--yes")
	assert.Empty(t, errOut.String())
}

func newTestRoot(f *cli.Factory) *cobra.Command {
	root := &cobra.Command{Use: "evenkeel", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(NewDrain(f), NewCordon(f), NewUncordon(f), NewPause(f), NewResume(f), NewHistory(f), NewUndo(f))
	return root
}
