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

package view

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/golden"
	"github.com/evenkeel-io/evenkeel/internal/simulation"
)

func at(cluster string, index int32, pools ...string) *simulation.Place {
	p := &simulation.Place{Cluster: cluster, Index: index}
	for _, pool := range pools {
		p.Engines = append(p.Engines, evenkeel.EngineAssignment{Name: pool, Members: []evenkeel.MemberAssignment{{NodePoolName: pool}}})
	}
	return p
}

func lacks(n int) []simulation.Verdict {
	all := []simulation.Verdict{
		{Cluster: "gpu-eu-1", Plugin: "ClusterReady", Reason: "was not ready"},
		{Cluster: "gpu-eu-2", Plugin: "TaintToleration", Reason: "had untolerated taint {maintenance: }"},
		{Cluster: "gpu-us-1", Plugin: "PoolFit", Reason: "gpu-us-1/h100 needs 4 nodes, has 1 free (engine main)"},
		{Cluster: "gpu-us-2", Plugin: "PoolFit", Reason: "gpu-us-2/h100 needs 4 nodes, has 2 in all (engine main)"},
		{Cluster: "gpu-us-3", Plugin: "NodeAffinity", Reason: "didn't match the cluster selector or are excluded"},
		{Cluster: "gpu-us-4", Plugin: "NodeAffinity", Reason: "didn't match the cluster selector or are excluded"},
	}
	return all[:n]
}

// examplePlan has every outcome.
func examplePlan() *simulation.Plan {
	return &simulation.Plan{
		Change: "drain gpu-us-east",
		Replicas: []simulation.Replica{
			{Order: 1, Namespace: "ml-team", Deployment: "chat", Slot: 0, Placement: "chat-0-2", Outcome: simulation.OutcomeMoves, From: at("gpu-us-east", 0, "h100"), To: at("gpu-us-west", 1, "h100", "l4"), Cause: "UntoleratedTaint"},
			{Order: 2, Namespace: "ml-team", Deployment: "chat", Slot: 1, Placement: "chat-1-2", Outcome: simulation.OutcomeDeleted, From: at("gpu-us-east", 1), Cause: "UntoleratedTaint", Reason: "0/6 clusters are available: 2 cluster(s) had too few free nodes.", Lacks: lacks(6)},
			{Order: 3, Namespace: "ml-team", Deployment: "code", Slot: 2, Placement: "code-2-1", Outcome: simulation.OutcomeRemoved, From: at("gpu-us-west", 0)},
			{Order: 4, Namespace: "ml-team", Deployment: "draw", Slot: 0, Placement: "draw-0-1", Outcome: simulation.OutcomeLands, To: at("gpu-us-west", 0, "h100")},
			{Namespace: "ml-team", Deployment: "draw", Slot: 1, Placement: "draw-1-1", Outcome: simulation.OutcomeWaits, Reason: "0/2 clusters are available.", Lacks: lacks(2)},
			{Namespace: "search", Deployment: "embed", Slot: 0, Placement: "embed-0-1", Outcome: simulation.OutcomeHeld, From: at("gpu-us-east", 0), To: at("gpu-us-east", 0), Cause: "UntoleratedTaint", Reason: "waits for moves to be resumed"},
		},
		Deployments: []simulation.Deployment{
			{Namespace: "ml-team", Name: "chat", Wanted: 2, ServingBefore: 2, LeastServing: 1, ServingAfter: 1, MaxUnavailable: 1},
			{Namespace: "search", Name: "embed", Wanted: 1, ServingBefore: 1, LeastServing: 1, ServingAfter: 1, Policies: []string{"careful", "paused"}},
		},
		Contended: []simulation.Contention{{Cluster: "gpu-us-west", Takes: 2, Refuses: []string{"ml-team/chat-1-2"}}},
	}
}

func TestPlans(t *testing.T) {
	for _, format := range []string{cli.FormatTable, cli.FormatWide, cli.FormatJSON, cli.FormatYAML} {
		t.Run(format, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, Print(&out, format, examplePlan()))
			golden.Equal(t, "plan-"+format, out.String())
		})
	}
	t.Run("nothing", func(t *testing.T) {
		var out bytes.Buffer
		require.NoError(t, Print(&out, cli.FormatTable, &simulation.Plan{Change: "drain gpu-us-east"}))
		golden.Equal(t, "plan-nothing", out.String())
	})
	t.Run("unfinished", func(t *testing.T) {
		var out bytes.Buffer
		plan := examplePlan()
		plan.Unfinished = "it did not come to rest within 5 steps"
		require.NoError(t, Print(&out, cli.FormatTable, plan))
		golden.Equal(t, "plan-unfinished", out.String())
	})
}

func exampleExplanations() []simulation.Explanation {
	fits := func(cluster, load, behind string) simulation.ClusterExplanation {
		return simulation.ClusterExplanation{Cluster: cluster, Fits: true, Behind: behind, Compared: []simulation.Compared{
			{Name: "fewest replicas of the deployment", Value: load}, {Name: "name", Value: cluster},
		}}
	}
	refused := []simulation.ClusterExplanation{
		{Cluster: "gpu-eu-1", Verdicts: lacks(2)},
		{Cluster: "gpu-us-1", Verdicts: lacks(3)[2:]},
	}
	placed := simulation.Explanation{
		Namespace: "ml-team", Placement: "chat-0-1", Deployment: "chat", At: at("gpu-us-west", 0, "h100"), Best: "gpu-us-east",
		Clusters: append([]simulation.ClusterExplanation{
			fits("gpu-us-east", "0", ""),
			fits("gpu-us-west", "1", "gpu-us-east before gpu-us-west: fewest replicas of the deployment (0, not 1)"),
		}, refused...),
	}
	nowhere := simulation.Explanation{Namespace: "ml-team", Placement: "chat-1-1", Deployment: "chat", Slot: 1, Clusters: refused}
	for range maxClusters {
		nowhere.Clusters = append(nowhere.Clusters, refused[1])
	}
	return []simulation.Explanation{placed, nowhere}
}

func TestExplanations(t *testing.T) {
	for _, format := range []string{cli.FormatTable, cli.FormatWide, cli.FormatJSON, cli.FormatYAML} {
		t.Run(format, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, Explanations(&out, format, exampleExplanations()))
			golden.Equal(t, "why-"+format, out.String())
		})
	}
}
