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
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/complete"
	"github.com/evenkeel-io/evenkeel/internal/simulation"
)

const (
	// defaultTaintKey is the key of the taint that drain writes.
	defaultTaintKey = "modelplane.ai/maintenance"
	// maxReplicas is what Modelplane's schema allows a deployment to want.
	maxReplicas = 10
)

func newDrain(o *options) *cobra.Command {
	var taintKey string
	cmd := &cobra.Command{
		Use:   "drain CLUSTER...",
		Short: "Show where the replicas of clusters would go if these were drained",
		Long: `plan drain shows what a NoExecute taint on one or more clusters would lead to. Several clusters are tainted at once, as
when a whole zone has to be emptied.`,
		Example: fmt.Sprintf(`  # What a drain would do
  %[1]s plan drain gpu-us-east

  # In a script: may two clusters be drained at the same time?
  %[1]s plan drain gpu-us-east gpu-us-west --fail-on unplaceable -o json`, o.Program),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%s takes the names of one or more clusters; `%s get clusters` lists them", cmd.CommandPath(), o.Program)
			}
			return nil
		},
		ValidArgsFunction: complete.Names(o.Factory, complete.Clusters),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.ValidateTaintKey(taintKey); err != nil {
				return err
			}
			return o.run(cmd.Context(), always(simulation.Drain(taintKey, args...)))
		},
	}
	cmd.Flags().StringVar(&taintKey, "taint-key", defaultTaintKey, "key of the taint, which deployments may tolerate")
	cli.Answers(cmd)
	return cmd
}

func newScale(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scale DEPLOYMENT REPLICAS",
		Short: "Show where the replicas of a deployment would go, or which would leave, if it wanted another number",
		Example: fmt.Sprintf(`  %[1]s plan scale chat 6 -n ml-team
  %[1]s plan scale chat 6 -n ml-team --fail-on unplaceable`, o.Program),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("%s takes the name of a ModelDeployment and a number of replicas", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: complete.First(complete.Names(o.Factory, complete.Deployments)),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[1], 10, 32)
			if err != nil || n < 1 || n > maxReplicas {
				return fmt.Errorf("%q is not a number of replicas: a ModelDeployment takes 1 to %d", args[1], maxReplicas)
			}
			namespace, err := o.Namespace()
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), always(simulation.Scale(namespace, args[0], int32(n))))
		},
	}
	cli.Answers(cmd)
	return cmd
}
