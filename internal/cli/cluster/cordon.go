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

	"github.com/spf13/cobra"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/cluster/taints"
)

// NewCordon makes `kubectl evenkeel cordon`.
func NewCordon(f *cli.Factory) *cobra.Command {
	c := &change{Factory: f}
	var reason string
	cmd := &cobra.Command{
		Use:   "cordon CLUSTER",
		Short: "Keep new replicas off a cluster, and leave those that run",
		Long: `cordon gives a cluster a NoSchedule taint, which keeps new replicas off it. What runs there stays. Deployments that
tolerate the taint may still land there.`,
		Example: fmt.Sprintf(`  # Nothing new lands on gpu-us-east
  %[1]s cordon gpu-us-east --reason "network maintenance"`, f.Program),
		Args: oneCluster(f),
		RunE: func(cmd *cobra.Command, args []string) error { return c.cordon(cmd.Context(), args[0], reason) },
	}
	c.addFlags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, kept in the annotation evenkeel.io/drain-reason for others to read")
	return cmd
}

func (c *change) cordon(ctx context.Context, name, reason string) error {
	if err := c.validateTaint(); err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	cluster, err := read(ctx, c.Factory, client, name)
	if err != nil {
		return err
	}
	taint := c.taint(modelplane.TaintEffectNoSchedule)
	if _, has := taints.Find(cluster, taint.Key, taint.Effect); has && reason == "" {
		return c.say(cluster, "already cordoned")
	}
	if err := c.warnOfOwners(cluster, taints.OthersWriting(cluster, c.manager)); err != nil {
		return err
	}
	if _, err := c.add(ctx, client, cluster, taint, reason); err != nil {
		return err
	}
	return c.say(cluster, "cordoned")
}

// NewUncordon makes `kubectl evenkeel uncordon`.
func NewUncordon(f *cli.Factory) *cobra.Command {
	c := &change{Factory: f}
	cmd := &cobra.Command{
		Use:   "uncordon CLUSTER",
		Short: "Let new replicas land on a cluster again",
		Long: `uncordon takes the NoSchedule taint away that cordon gave a cluster, whoever put it there. It does not end a drain:
that is what undo drain does.`,
		Example: fmt.Sprintf(`  %[1]s uncordon gpu-us-east`, f.Program),
		Args:    oneCluster(f),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.uncordon(cmd.Context(), args[0]) },
	}
	c.addFlags(cmd)
	return cmd
}

func (c *change) uncordon(ctx context.Context, name string) error {
	lifted, err := c.lift(ctx, name, modelplane.TaintEffectNoSchedule, func(modelplane.Taint) string { return "already uncordoned" })
	if err != nil || lifted == nil {
		return err
	}
	if err := c.say(lifted.before, "uncordoned"); err != nil {
		return err
	}
	return c.tellOtherTaints(lifted.after)
}
