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

package traffic

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/guarded"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

func newDrain(f *cli.Factory) *cobra.Command {
	a, cmd := drainAction(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), args) }
	return cmd
}

func newUndrain(f *cli.Factory) *cobra.Command {
	a, cmd := undrainAction(f)
	_ = cmd.RegisterFlagCompletionFunc("id", completeID(f, &scope{}))
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), args) }
	return cmd
}

// drainAction makes the command drain, all but what it runs.
func drainAction(f *cli.Factory) (*action, *cobra.Command) {
	a := &action{Factory: f, name: actionDrain}
	cmd := &cobra.Command{
		Use:   "drain INFERENCESERVICE --workload-cluster CLUSTER --id ID --reason REASON",
		Short: "Hold one workload cluster at weight 0 (alpha)",
		Long: `drain adds one entry to the annotation ome.io/traffic-drain of an InferenceService. The routing controller then
holds the named workload cluster at weight 0 in the service's TrafficMap, until undrain removes the entry. Replicas go on
running there, and the other clusters share the traffic in the same ratio as before.`,
		Example: fmt.Sprintf(`  # See what would happen, and whether the API server would take it
  %[1]s traffic drain chat -n prod --workload-cluster worker-a --id maintenance-a --reason "planned maintenance" --dry-run=server

  # Drain, without being asked
  %[1]s traffic drain chat -n prod --workload-cluster worker-a --id maintenance-a --reason "planned maintenance" --yes`, f.Program),
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeService(f, routedService),
	}
	a.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&a.drain.Cluster, "workload-cluster", "", "WorkloadCluster to drain (required). Not --cluster, which selects the API server")
	_ = cmd.RegisterFlagCompletionFunc("workload-cluster", completeCluster(f))
	flags.StringVar(&a.drain.Reason, "reason", "", "why, in at most 256 bytes without secrets (required)")
	a.validate = func() error {
		if a.drain.Cluster == "" {
			return &cli.Error{Message: "traffic drain requires --workload-cluster; --cluster selects the Kubernetes API cluster"}
		}
		return guarded.Refusal(a.drain.Validate())
	}
	a.plan = func(s *guarded.Service) (*guarded.Plan, error) {
		p, err := guarded.PlanDrain(s, a.drain)
		if err == nil {
			p.AllowBlackout = a.allowBlackout
		}
		return p, err
	}
	return a, cmd
}

// undrainAction makes the command undrain, all but what it runs.
func undrainAction(f *cli.Factory) (*action, *cobra.Command) {
	a := &action{Factory: f, name: actionUndrain}
	cmd := &cobra.Command{
		Use:   "undrain INFERENCESERVICE --id ID",
		Short: "Remove one drain by its ID (alpha)",
		Long: `undrain removes one entry from the annotation ome.io/traffic-drain of an InferenceService. The cluster gets its
weight back when no other drain names it.`,
		Example: fmt.Sprintf(`  %s traffic undrain chat -n prod --id maintenance-a`, f.Program),
		Args:    cobra.ArbitraryArgs,

		ValidArgsFunction: completeService(f, drainedService),
	}
	a.addFlags(cmd)
	a.validate = func() error { return guarded.Refusal(trafficdrain.ValidateID(a.drain.ID)) }
	a.plan = func(s *guarded.Service) (*guarded.Plan, error) { return guarded.PlanUndrain(s, a.drain.ID) }
	return a, cmd
}
