//go:build integration

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
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/controllers/modeldeployment"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/fleet"
	"github.com/evenkeel-io/evenkeel/internal/simulation"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

const (
	fleets   = 20
	taintKey = "modelplane.ai/maintenance"
)

// TestPlanIsWhatHappens plans the drain of one cluster in each of several fleets, drains them all, and finds every replica
// where the plan said.
func TestPlanIsWhatHappens(t *testing.T) {
	config := startPrograms(t)
	var small []*smallFleet
	for i := range fleets {
		f := &smallFleet{name: fmt.Sprintf("fleet-%02d", i), random: rand.New(rand.NewPCG(uint64(i), 3))}
		f.create(t)
		small = append(small, f)
	}
	eventually(t, allServe)
	for _, f := range small {
		f.grow(t)
	}
	foretold := foretell(t, small)
	tellsTheSame(t, small[0], config)
	for _, f := range small {
		patch(t, &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{Name: f.cluster(0)}}, false, map[string]any{"spec": map[string]any{
			"taints": []any{map[string]any{"key": taintKey, "effect": "NoExecute"}},
		}})
	}
	eventually(t, func(ctx context.Context) string {
		if said := atRest(ctx); said != "" {
			return said
		}
		return cmp.Diff(foretold, outcomes(t))
	})
}

// foretell gives where each replica is to be once the first cluster of every fleet is drained, by slot, "" for nowhere.
func foretell(t *testing.T, small []*smallFleet) map[string]string {
	t.Helper()
	client, err := cli.NewClient(hub.Config())
	require.NoError(t, err)
	snapshot, err := fleet.Read(t.Context(), client)
	require.NoError(t, err)
	manager, err := configapi.DecodeHubManagerConfiguration(nil)
	require.NoError(t, err)
	options, err := simulation.DefaultOptions()
	require.NoError(t, err)
	options.Controller = modeldeployment.OptionsFrom(&manager.ModelDeployments)
	options.Controller.MaxParallelMoves = 1

	foretold := map[string]string{}
	counts := map[simulation.Outcome]int{}
	for _, f := range small {
		plan, err := simulation.Run(t.Context(), snapshot, simulation.Drain(taintKey, f.cluster(0)), options)
		require.NoError(t, err)
		for _, r := range plan.Replicas {
			counts[r.Outcome]++
			key := fmt.Sprintf("%s/%s-%d", r.Namespace, r.Deployment, r.Slot)
			foretold[key] = ""
			if r.To != nil {
				foretold[key] = fmt.Sprintf("%s/%d", r.To.Cluster, r.To.Index)
			}
		}
	}
	for _, outcome := range []simulation.Outcome{simulation.OutcomeMoves, simulation.OutcomeDeleted, simulation.OutcomeHeld} {
		require.Positive(t, counts[outcome], "the fleets are too dull: %v", counts)
	}
	return foretold
}

// tellsTheSame checks that the command says so too, to a user who may only look.
func tellsTheSame(t *testing.T, f *smallFleet, config string) {
	t.Helper()
	run := func(args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), filepath.Join(hubtest.Root, "bin", "kubectl-evenkeel"), append(args, "--kubeconfig="+viewerKubeconfig, "--manager-config="+config)...)
		out, err := cmd.Output()
		require.NoError(t, err, "%s", err)
		return out
	}
	plan := &simulation.Plan{}
	require.NoError(t, json.Unmarshal(run("plan", "drain", f.cluster(0), "-o", "json"), plan))
	assert.NotEmpty(t, plan.Replicas)
	for _, r := range plan.Replicas {
		assert.Equal(t, f.name, r.Namespace)
	}
	t.Logf("plan drain:\n%s", run("plan", "drain", f.cluster(0)))
	reasons := string(run("why", "chat", "-n", f.name))
	t.Logf("why:\n%s", reasons)
	assert.Contains(t, reasons, "is on "+f.cluster(0))
}

// outcomes gives where each replica is, by slot.
func outcomes(t *testing.T) map[string]string {
	t.Helper()
	list := &evenkeel.ReplicaPlacementList{}
	require.NoError(t, hub.Client.List(t.Context(), list))
	out := map[string]string{}
	for i := range list.Items {
		p := &list.Items[i]
		if meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionMoved) {
			continue
		}
		key := fmt.Sprintf("%s/%s-%d", p.Namespace, p.Spec.DeploymentName, p.Spec.Slot)
		if a := p.Status.Assignment; a != nil {
			out[key] = fmt.Sprintf("%s/%d", a.ClusterName, a.Index)
		} else if out[key] == "" {
			out[key] = ""
		}
	}
	return out
}

// allServe says which deployment does not have all its replicas yet.
func allServe(ctx context.Context) string {
	list := &modelplane.ModelDeploymentList{}
	if err := hub.Client.List(ctx, list); err != nil {
		return err.Error()
	}
	for i := range list.Items {
		d := &list.Items[i]
		if d.Status.Replicas == nil || d.Status.Replicas.Ready != d.Spec.Replicas {
			return fmt.Sprintf("%s has %+v of %d", d.Namespace, d.Status.Replicas, d.Spec.Replicas)
		}
	}
	return ""
}

// atRest says what is still to be done: placements without a verdict, or replicas that are not ready.
func atRest(ctx context.Context) string {
	placements, replicas := &evenkeel.ReplicaPlacementList{}, &modelplane.ModelReplicaList{}
	if err := hub.Client.List(ctx, placements); err != nil {
		return err.Error()
	}
	if err := hub.Client.List(ctx, replicas); err != nil {
		return err.Error()
	}
	if len(placements.Items) < fleets {
		return fmt.Sprintf("there are %d placements", len(placements.Items))
	}
	for i := range placements.Items {
		p := &placements.Items[i]
		scheduled := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionScheduled)
		if scheduled == nil || p.Status.Assignment != nil && meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionReady) == nil {
			return fmt.Sprintf("placement %s/%s is not settled", p.Namespace, p.Name)
		}
	}
	for i := range replicas.Items {
		r := &replicas.Items[i]
		if r.DeletionTimestamp != nil || !meta.IsStatusConditionTrue(r.Status.Conditions, modelplane.ConditionReady) {
			return fmt.Sprintf("replica %s/%s is not ready", r.Namespace, r.Name)
		}
	}
	return ""
}

func eventually(t *testing.T, check func(context.Context) string) {
	t.Helper()
	hubtest.Eventually(t, func() string { return check(t.Context()) })
}

func patch(t *testing.T, o client.Object, status bool, content map[string]any) {
	t.Helper()
	body, err := json.Marshal(content)
	require.NoError(t, err)
	merge := client.RawPatch(types.MergePatchType, body)
	if status {
		require.NoError(t, hub.Client.Status().Patch(t.Context(), o, merge))
		return
	}
	require.NoError(t, hub.Client.Patch(t.Context(), o, merge))
}
