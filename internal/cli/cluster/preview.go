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

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/fleet"
	"github.com/evenkeel-io/evenkeel/internal/cli/plan/view"
	"github.com/evenkeel-io/evenkeel/internal/simulation"
)

// preview shows the plan of the drain, and refuses one that deletes replicas with nowhere to go unless
// that was accepted.
func (d *drainAction) preview(ctx context.Context, client *cli.Client, cluster *modelplane.InferenceCluster, simulated simulation.Options) error {
	snapshot, err := fleet.Read(ctx, client)
	if err != nil {
		return fmt.Errorf("read the fleet for the plan: %w", err)
	}
	plan, err := simulation.Run(ctx, snapshot, simulation.Drain(d.taintKey, cluster.Name), simulated)
	if err != nil {
		return fmt.Errorf("make the plan: %w", err)
	}
	if err := view.Print(d.Out, cli.FormatTable, plan); err != nil {
		return err
	}
	if plan.Shortfall() == 0 || d.acceptShortfall {
		return nil
	}
	return &cli.Error{Message: fmt.Sprintf("refused: %s would be deleted with nowhere to go: %s. Make room for them, "+
		"keep them by a DisruptionPolicy with whenUnplaceable: Hold, or say --accept-shortfall",
		count(plan.Shortfall(), "replica", "replicas"), strings.Join(shortfallOf(plan), ", "))}
}

// shortfallOf names the deployments of the replicas that would be deleted with nowhere to go.
func shortfallOf(plan *simulation.Plan) []string {
	counts := map[string]int{}
	var names []string
	for i := range plan.Replicas {
		r := &plan.Replicas[i]
		if r.Outcome != simulation.OutcomeDeleted {
			continue
		}
		name := r.Namespace + "/" + r.Deployment
		if counts[name] == 0 {
			names = append(names, name)
		}
		counts[name]++
	}
	said := make([]string, 0, len(names))
	for _, name := range names {
		said = append(said, fmt.Sprintf("%d of %s", counts[name], name))
	}
	return said
}
