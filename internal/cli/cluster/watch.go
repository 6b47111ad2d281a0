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
	"context"
	"fmt"
	"strings"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/cluster/follow"
)

// follow watches a drain to its end and says how it ended.
func (d *drainAction) follow(ctx context.Context, client *cli.Client, name string) error {
	view := follow.NewLines(d.Out)
	if terminal, ok := cli.Terminal(d.Out); ok {
		view = follow.NewScreen(terminal)
	}
	result, err := follow.Run(ctx, client, name, d.timeout, view)
	if err != nil {
		return &cli.Error{Message: fmt.Sprintf("the drain of %s goes on, but cannot be followed", name), Cause: err.Error(), Code: cli.ExitUnfinished}
	}
	return d.conclude(name, result)
}

// conclude says how a drain ended, or what is left of it.
func (d *drainAction) conclude(name string, result *follow.Result) error {
	switch result.End {
	case follow.EndDrained:
		_, err := fmt.Fprint(d.Out, drainedSummary(name, result))
		return err
	case follow.EndDeleted:
		return &cli.Error{Message: fmt.Sprintf("InferenceCluster %s was deleted while it was being drained", name)}
	case follow.EndLifted:
		return &cli.Error{
			Message: fmt.Sprintf("somebody has lifted the taint of %s: the drain is called off after %s. What has moved stays where it went", name, result.Took),
			Code:    cli.ExitUnfinished,
		}
	}
	if _, err := fmt.Fprint(d.Out, leftSummary(name, result)); err != nil {
		return err
	}
	message := fmt.Sprintf("%s is not drained after %s; the drain goes on", name, result.Took)
	return &cli.Error{Message: message + "\n" + d.hints(name), Code: cli.ExitUnfinished}
}

// hints say how to look at a drain that goes on, and how to stop it.
func (d *drainAction) hints(name string) string {
	key := ""
	if d.taintKey != defaultTaintKey {
		key = " --taint-key=" + d.taintKey
	}
	return fmt.Sprintf(`  watch it:    %[1]s drain %[2]s%[3]s
  look at it:  %[1]s get clusters %[2]s -o wide
  hold it:     %[1]s pause --cluster %[2]s
  stop it:     %[1]s undo drain %[2]s%[3]s`, d.Program, name, key)
}

// drainedSummary tells how the drain has ended for the replicas.
func drainedSummary(name string, result *follow.Result) string {
	by := map[string][]string{}
	for _, row := range result.Rows {
		by[row.Step] = append(by[row.Step], row.Replica.String())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s is drained, after %s.\n", name, result.Took)
	for _, kind := range []struct{ step, one, many string }{
		{evenkeel.StepServing, "replica has moved and serves", "replicas have moved and serve"},
		{evenkeel.StepLoading, "replica has moved and still loads", "replicas have moved and still load"},
		{follow.StepNowhere, "replica has left and has nowhere to go yet", "replicas have left and have nowhere to go yet"},
		{follow.StepGone, "replica has left and is not replaced", "replicas have left and are not replaced"},
		{follow.StepStays, "replica stays, as its deployment tolerates the taints", "replicas stay, as their deployments tolerate the taints"},
	} {
		if names := by[kind.step]; len(names) > 0 {
			fmt.Fprintf(&b, "  %s\n", listed(names, kind.one, kind.many))
		}
	}
	return b.String()
}

// leftSummary tells of each replica that must still leave why it is still there.
func leftSummary(name string, result *follow.Result) string {
	var b strings.Builder
	left := follow.LeftOf(result.Rows)
	if left > 0 {
		fmt.Fprintf(&b, "%s must still leave %s:\n", count(left, "replica", "replicas"), name)
	}
	for _, row := range result.Rows {
		if row.Left() {
			fmt.Fprintf(&b, "  %s (%s)\n", row, row.Reason)
		}
	}
	switch {
	case result.Drained == nil:
		b.WriteString("hub-manager has said nothing about this drain; does it run?\n")
	case left == 0:
		fmt.Fprintf(&b, "No replica that must leave is seen there any more, but hub-manager says: %s\n", result.Drained.Message)
	}
	return b.String()
}
