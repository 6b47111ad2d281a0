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
	"slices"
	"time"

	"github.com/spf13/cobra"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/cluster/taints"
	"github.com/evenkeel-io/evenkeel/internal/cli/fleet"
	"github.com/evenkeel-io/evenkeel/internal/drain"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/simulation"
)

// drainAction is `kubectl evenkeel drain`.
type drainAction struct {
	change
	settings        fleet.Settings
	reason          string
	yes             bool
	acceptShortfall bool
	wait            bool
	timeout         time.Duration
}

// NewDrain makes `kubectl evenkeel drain`.
func NewDrain(f *cli.Factory) *cobra.Command {
	d := &drainAction{change: change{Factory: f}}
	cmd := &cobra.Command{
		Use:   "drain CLUSTER",
		Short: "Move all replicas off a cluster, after showing where each would go",
		Long: `drain shows what would become of each replica on a cluster, asks, gives the cluster a NoExecute taint, and follows the
drain to its end. Deployments that tolerate the taint keep their replicas there. Nothing moves faster, or with less care,
than DisruptionPolicies say.

What is shown is plan drain's plan. If hub-manager or hub-scheduler run with configuration files, give them, or it is made
with their defaults.

A drain that would delete replicas with nowhere to go is refused unless you accept the shortfall. Ctrl-C ends the watching
only: the drain goes on. Run the command again to watch it further, or undo drain to call it off.

It ends with exit code 0 when the cluster is drained, 1 when something was wrong or refused, 2 when the drain is not
finished, and 3 when somebody else changed the cluster meanwhile and nothing was written.`,
		Example: fmt.Sprintf(`  # See the plan, be asked, and watch
  %[1]s drain gpu-us-east --reason "firmware update"

  # In a script: without a question, for at most half an hour
  %[1]s drain gpu-us-east --yes --timeout=30m

  # Show the plan only
  %[1]s drain gpu-us-east --dry-run

  # Begin the drain and do not watch it
  %[1]s drain gpu-us-east --yes --wait=false`, f.Program),
		Args: oneCluster(f),
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), args[0]) },
	}
	d.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&d.reason, "reason", "", "why, kept in the annotation evenkeel.io/drain-reason for others to read")
	flags.BoolVar(&d.yes, "yes", false, "do not ask")
	flags.BoolVar(&d.acceptShortfall, "accept-shortfall", false, "drain although replicas would be deleted with nowhere to go")
	flags.BoolVar(&d.wait, "wait", true, "follow the drain to its end")
	d.settings.AddFlags(flags)
	flags.DurationVar(&d.timeout, "timeout", 0, "follow the drain for at most this long; 0 is without an end")
	return cmd
}

func (d *drainAction) run(ctx context.Context, name string) error {
	if err := d.validateTaint(); err != nil {
		return err
	}
	if d.timeout < 0 {
		return fmt.Errorf("--timeout must not be negative")
	}
	simulated, err := d.settings.Load()
	if err != nil {
		return err
	}
	client, err := d.Client()
	if err != nil {
		return err
	}
	cluster, err := read(ctx, d.Factory, client, name)
	if err != nil {
		return err
	}
	taint := d.taint(modelplane.TaintEffectNoExecute)
	if _, has := taints.Find(cluster, taint.Key, taint.Effect); has {
		if err := d.say(cluster, "is being drained already"); err != nil {
			return err
		}
	} else if err := d.begin(ctx, client, cluster, taint, simulated); err != nil {
		return err
	}
	if !d.wait || d.dryRun != dryRunNone {
		return nil
	}
	return d.follow(ctx, client, name)
}

// begin shows the plan, asks, and writes the taint.
func (d *drainAction) begin(ctx context.Context, client *cli.Client, cluster *modelplane.InferenceCluster, taint modelplane.Taint, simulated simulation.Options) error {
	if err := d.preview(ctx, client, cluster, simulated); err != nil {
		return err
	}
	if warning := drain.DeletionWarning(cluster); warning != "" {
		if _, err := fmt.Fprintf(d.ErrOut, "Warning: %s\n", warning); err != nil {
			return err
		}
	}
	if err := d.warnOfOwners(cluster, taints.OthersWriting(cluster, d.manager)); err != nil {
		return err
	}
	if d.dryRun == dryRunNone && !d.yes {
		if err := d.Confirm(ctx, fmt.Sprintf("Drain %s?", cluster.Name)); err != nil {
			return err
		}
		if err := d.unchanged(ctx, client, cluster); err != nil {
			return err
		}
	}
	if _, err := d.add(ctx, client, cluster, taint, d.reason); err != nil {
		return err
	}
	return d.say(cluster, "draining with taint "+placement.TaintString(taint))
}

// unchanged refuses to go on where the cluster is not any more what the plan was made for.
func (d *drainAction) unchanged(ctx context.Context, client *cli.Client, planned *modelplane.InferenceCluster) error {
	now, err := read(ctx, d.Factory, client, planned.Name)
	if err != nil {
		return err
	}
	if now.UID == planned.UID && slices.Equal(taintStrings(now), taintStrings(planned)) {
		return nil
	}
	return &cli.Error{
		Message: fmt.Sprintf("InferenceCluster %s has changed since the plan was shown; nothing was written. Its taints are now %v. Run the command again", planned.Name, taintStrings(now)),
		Code:    cli.ExitConflict,
	}
}

func taintStrings(cluster *modelplane.InferenceCluster) []string {
	said := []string{}
	for _, t := range cluster.Spec.Taints {
		said = append(said, placement.TaintString(t))
	}
	slices.Sort(said)
	return said
}
