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

package plan

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/complete"
	"github.com/evenkeel-io/evenkeel/internal/cli/fleet"
	"github.com/evenkeel-io/evenkeel/internal/cli/plan/view"
	"github.com/evenkeel-io/evenkeel/internal/simulation"
)

// failOnUnplaceable is the only value of --fail-on.
const failOnUnplaceable = "unplaceable"

// options are what all kinds of plan share.
type options struct {
	*cli.Factory
	settings fleet.Settings
	output   string
	failOn   string
}

// NewCommand makes `kubectl evenkeel plan`.
func NewCommand(f *cli.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what a change would lead to, without making it",
		Long: `plan reads the fleet and runs the hub scheduler and hub-manager's decisions on it in memory: the same plugins, the same
ledger of nodes, the same policies. It shows where each replica would go and in which order, which ones have nowhere to go
and what each cluster lacks for them, and how many replicas of each deployment would be without service at the worst time.
Loading and ending take no time in it, so that it says nothing about how long a change takes. It changes nothing, and
needs no more than to list what it reads.

With --fail-on unplaceable it ends with exit code 0 if every replica has somewhere to go, with 1 if one has not, and with
more than 1 if the plan could not be made.`,
		Args: cli.Subcommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	flags := cmd.PersistentFlags()
	flags.StringVarP(&o.output, "output", "o", cli.FormatTable, "table, wide, json, yaml or jsonpath=TEMPLATE")
	flags.StringVar(&o.failOn, "fail-on", "", "unplaceable: end with exit code 1 if a replica has nowhere to go, with more than 1 if there is no plan")
	o.settings.AddFlags(flags)
	complete.Flag(cmd, "fail-on", complete.Values(failOnUnplaceable))
	complete.Flag(cmd, "output", complete.Values(append(cli.Formats(), cli.FormatJSONPath)...))
	cmd.AddCommand(newDrain(o), newScale(o), newApply(o))
	return cmd
}

func (o *options) validate() error {
	if err := cli.ValidateOutput(o.output, cli.Formats()...); err != nil {
		return err
	}
	if o.failOn != "" && o.failOn != failOnUnplaceable {
		return fmt.Errorf("--fail-on must be %s, not %q", failOnUnplaceable, o.failOn)
	}
	return nil
}

// changeFor gives the change to plan for a fleet.
type changeFor func(client *cli.Client, snapshot *simulation.Snapshot) (simulation.Change, error)

// always is a change that does not depend on the fleet.
func always(change simulation.Change) changeFor {
	return func(*cli.Client, *simulation.Snapshot) (simulation.Change, error) { return change, nil }
}

// run makes the plan and prints it.
func (o *options) run(ctx context.Context, changes changeFor) error {
	if err := o.validate(); err != nil {
		return err
	}
	simulated, err := o.settings.Load()
	if err != nil {
		return err
	}
	client, err := o.Client()
	if err != nil {
		return err
	}
	snapshot, err := fleet.Read(ctx, client)
	if err != nil {
		return err
	}
	change, err := changes(client, snapshot)
	if err != nil {
		return err
	}
	plan, err := simulation.Run(ctx, snapshot, change, simulated)
	if err != nil {
		return err
	}
	if err := view.Print(o.Out, o.output, plan); err != nil {
		return err
	}
	if n := plan.Unplaceable(); n > 0 && o.failOn == failOnUnplaceable {
		return &cli.Error{Message: fmt.Sprintf("%s nowhere to go", view.Count(n, "replica has", "replicas have")), Code: cli.ExitError}
	}
	return nil
}
