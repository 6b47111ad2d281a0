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

// why is `kubectl evenkeel why`.
type why struct {
	*cli.Factory
	settings fleet.Settings
	output   string
}

// NewWhy makes `kubectl evenkeel why`.
func NewWhy(f *cli.Factory) *cobra.Command {
	o := &why{Factory: f}
	cmd := &cobra.Command{
		Use:   "why PLACEMENT|DEPLOYMENT",
		Short: "Show why a replica is where it is, or why it is nowhere",
		Long: `why asks each filter of the hub scheduler about each cluster, on the fleet as it is now, and shows all that speaks against
a cluster, with numbers, and by what the clusters that fit are ordered. A replica that runs is judged as if its own nodes
were free for it. The judgement is of now: what decided when the replica was placed may have changed since.`,
		Example: fmt.Sprintf(`  # Where could this replica go?
  %[1]s why chat-0-1 -n ml-team

  # All replicas of a deployment, all clusters
  %[1]s why chat -n ml-team -o wide`, f.Program),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes the name of one ReplicaPlacement or ModelDeployment; `kubectl get rp` lists placements", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: complete.First(complete.Names(f, complete.Placements, complete.Deployments)),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", cli.FormatTable, "table, wide, json, yaml or jsonpath=TEMPLATE")
	o.settings.AddFlags(flags)
	complete.Flag(cmd, "output", complete.Values(append(cli.Formats(), cli.FormatJSONPath)...))
	return cmd
}

func (o *why) run(ctx context.Context, name string) error {
	if err := cli.ValidateOutput(o.output, cli.Formats()...); err != nil {
		return err
	}
	simulated, err := o.settings.Load()
	if err != nil {
		return err
	}
	namespace, err := o.Namespace()
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
	explanations, err := simulation.Why(ctx, snapshot, namespace, name, simulated)
	if err != nil {
		return err
	}
	return view.Explanations(o.Out, o.output, explanations)
}
