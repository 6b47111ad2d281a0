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

package operator

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

const (
	maintenance = "modelplane.ai/maintenance:NoExecute"
	cordoned    = "modelplane.ai/maintenance:NoSchedule"
	gits        = "team.example/gpu:NoSchedule"
)

// applyTaint is what a GitOps controller does with a cluster: server-side apply of a taint of its own.
func applyTaint(t *testing.T, cluster, manager string) {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": modelplane.GroupVersion.String(), "kind": "InferenceCluster",
		"metadata": map[string]any{"name": cluster},
		"spec":     map[string]any{"taints": []any{map[string]any{"key": "team.example/gpu", "effect": "NoSchedule"}}},
	}}
	_, err := hub.dynamic.Resource(modelplane.GroupVersion.WithResource("inferenceclusters")).Apply(t.Context(), cluster, u, metav1.ApplyOptions{FieldManager: manager})
	require.NoError(t, err)
}

// TestDrain takes a cluster out of service and gives it back, with nothing but the shipped roles.
func TestDrain(t *testing.T) {
	newFleet(t)
	applyTaint(t, east, "git")
	as(t, "operator", "cordon", east).exits(0).says("Warning: git also keeps the taints of InferenceCluster " + east)
	as(t, "operator", "cordon", east).exits(0).says("already cordoned")

	as(t, "operator", "drain", east, "--yes").exits(1).says("--accept-shortfall", "reasoner")
	assert.Equal(t, []string{cordoned, gits}, taintsOf(t, east), "a refused drain writes nothing")
	as(t, "operator", "drain", east, "--yes", "--accept-shortfall", "--dry-run").exits(0).says("(dry run)")
	as(t, "operator", "drain", east, "--yes", "--accept-shortfall", "--dry-run=server").exits(0).says("(server dry run)")
	assert.Equal(t, []string{cordoned, gits}, taintsOf(t, east), "a dry run writes nothing")

	as(t, "operator", "drain", east, "--yes", "--accept-shortfall", "--reason=new firmware", "--timeout="+hubtest.Patience.String()).exits(0).says(
		"draining with taint "+maintenance, east+" is drained, after",
		"1 replica has left and has nowhere to go yet (ml-team/reasoner-",
		"1 replica stays, as its deployment tolerates the taints (ml-team/embed-",
	)
	assert.Equal(t, []string{maintenance, cordoned, gits}, taintsOf(t, east), "a taint was lost")
	assert.True(t, isDrained(t, east))
	assert.Equal(t, "new firmware", clusterNamed(t, east).Annotations[evenkeel.AnnotationDrainReason])

	list := struct {
		Items []struct {
			Name, Drained, Reason string
			Status                []string
		}
	}{}
	require.NoError(t, json.Unmarshal([]byte(as(t, "viewer", "get", "clusters", east, "-o", "json").exits(0).stdout.String()), &list))
	require.Len(t, list.Items, 1)
	assert.Equal(t, []string{"Ready", "Drained"}, list.Items[0].Status)
	assert.Equal(t, "new firmware", list.Items[0].Reason)
	hubtest.Eventually(t, func() string { // the history of a move is written after its end
		history := as(t, "viewer", "history", east).exits(0).stdout.String()
		if words := strings.Join(strings.Fields(history), " "); !strings.Contains(words, "UntoleratedTaint kubectl-evenkeel "+east+" <none>") {
			return history
		}
		return ""
	})

	as(t, "operator", "undo", "drain", east).exits(0).says("drain called off", "1 replica stays on "+east,
		"Taint "+cordoned+" of "+east+" still keeps new replicas off it; to lift it: kubectl evenkeel uncordon "+east)
	as(t, "operator", "undo", "drain", east).exits(0).says("is not being drained")
	as(t, "operator", "uncordon", east).exits(0).says("uncordoned", "Taint "+gits)
	assert.Equal(t, []string{gits}, taintsOf(t, east))
	assert.NotContains(t, clusterNamed(t, east).Annotations, evenkeel.AnnotationDrainReason)
	as(t, "operator", "uncordon", east, "--taint-key=team.example/gpu").exits(0).says("Warning: git also keeps")
	awaitServing(t)
}

// TestQuestion is a drain that asks, on a terminal.
func TestQuestion(t *testing.T) {
	newFleet(t)
	no := as(t, "operator", "drain", west)
	typed(t, no.onTerminal(false), "\n")
	no.exits(1).says("Drain "+west+"? [y/N]", "not confirmed; nothing was changed")
	assert.Empty(t, taintsOf(t, west))

	late := as(t, "operator", "drain", west)
	terminal := late.onTerminal(false)
	late.await("[y/N]")
	applyTaint(t, west, "git")
	typed(t, terminal, "y\n")
	late.exits(3).says("has changed since the plan was shown", gits)
	assert.Equal(t, []string{gits}, taintsOf(t, west))

	gone := as(t, "operator", "drain", west)
	gone.onTerminal(false)
	gone.await("[y/N]")
	require.NoError(t, gone.Process.Signal(syscall.SIGINT))
	gone.exits(1).says("not confirmed; nothing was changed")

	yes := as(t, "operator", "drain", west, "--timeout="+hubtest.Patience.String())
	terminal = yes.onTerminal(true)
	yes.await("[y/N]")
	typed(t, terminal, "y\n")
	yes.exits(0)
	yes.await("is drained, after")
	assert.Contains(t, yes.stdout.String(), "\x1b[J", "the view on a terminal is drawn anew")
	assert.NotContains(t, as(t, "operator", "drain", west).exits(0).says("is being drained already").stdout.String(), "\x1b", "lines elsewhere")
}

// TestUnfinished is a drain that does not end: it says what is left and why, and goes on when it can.
func TestUnfinished(t *testing.T) {
	newFleet(t)
	as(t, "operator", "pause", "-n", team).exits(1).says("namespace "+team+": you may not patch disruptionpolicies.evenkeel.io", "ClusterRole evenkeel-pauser", "forbidden")
	as(t, "pauser", "pause", "--cluster", west).exits(0).says("namespace/" + team + " moves paused")
	as(t, "operator", "drain", west, "--yes", "--timeout=1s", "--taint-key=other").exits(2).says(
		"must still leave "+west, west+" is not drained after ", "; the drain goes on",
		"kubectl evenkeel undo drain "+west+" --taint-key=other")
	awaitSaid(t, west, []string{"(Paused)"}, "--taint-key=other")
	watching := as(t, "viewer", "drain", west, "--taint-key=other")
	require.NoError(t, watching.Start())
	watching.await("ml-team/embed-")
	require.NoError(t, watching.Process.Signal(syscall.SIGINT))
	watching.exits(2).says("the drain goes on", "kubectl evenkeel undo drain "+west)
	assert.Equal(t, []string{"other:NoExecute"}, taintsOf(t, west), "Ctrl-C must not stop the drain")

	as(t, "pauser", "resume", "-A").exits(0).says("namespace/" + team + " moves go on")
	as(t, "pauser", "resume", "-n", team).exits(0).says("was not paused by this command")
	as(t, "viewer", "drain", west, "--taint-key=other", "--timeout="+hubtest.Patience.String()).exits(0).says(west + " is drained, after")
}

// TestLifted is a drain that somebody calls off while it is watched.
func TestLifted(t *testing.T) {
	newFleet(t)
	as(t, "pauser", "pause", "-n", team).exits(0)
	watching := as(t, "operator", "drain", west, "--yes")
	require.NoError(t, watching.Start())
	watching.await("ml-team/chat-")
	as(t, "operator", "undo", "drain", west).exits(0).says("2 replicas stay on " + west)
	watching.exits(2).says("somebody has lifted the taint of " + west)
}

func TestRefused(t *testing.T) {
	newFleet(t)
	as(t, "viewer", "cordon", east).exits(1).says("you may not change the taints", "patch on inferenceclusters.modelplane.ai")
	as(t, "viewer", "drain", west, "--yes").exits(1).says("you may not change the taints")
	as(t, "nobody", "drain", west, "--yes").exits(1).says("you may not get inferenceclusters.modelplane.ai; ClusterRole evenkeel-viewer", "forbidden")
	as(t, "nobody", "get", "clusters").exits(1).says("you may not list ", "ClusterRole evenkeel-viewer")
	as(t, "nobody", "plan", "drain", west).exits(2).says("you may not list ", "ClusterRole evenkeel-viewer")
	as(t, "nobody", "system-nodes", "check").exits(2).says("you may not list ", "ask whoever keeps the cluster")
	as(t, "viewer", "plan", "drain", "gpu-mars").exits(2).says("gpu-mars")
	as(t, "viewer", "traffic", "drains").exits(1).says("list inferenceservices failed", "you may not list inferenceservices.ome.io")
	as(t, "viewer", "get", "clusters", west, "--server=https://127.0.0.1:1").exits(1).says("the API server at 127.0.0.1:1 cannot be reached")
	as(t, "viewer", "get", "clusters", "--context=mars").exits(1).says(`context "mars" does not exist`, "kubectl config view")
	as(t, "operator", "drain", west).exits(1).says("--yes")
	as(t, "operator", "drain", "gpu-mars").exits(1).says(`no InferenceCluster is called "gpu-mars"`)
	assert.Empty(t, taintsOf(t, west))
	policies := &evenkeel.DisruptionPolicyList{}
	require.NoError(t, hub.Client.List(t.Context(), policies, client.InNamespace(team)))
	assert.Empty(t, policies.Items)
}

// TestSettings is a drain whose plan is made as hub-manager and hub-scheduler would decide with their files.
func TestSettings(t *testing.T) {
	newFleet(t)
	write := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	hold := write("manager.yaml", "apiVersion: config.evenkeel.io/v1alpha1\nkind: HubManagerConfiguration\nmodelDeployments: {disruption: {whenUnplaceable: Hold}}\n")
	as(t, "operator", "drain", east, "--dry-run").exits(1).says("refused: 1 replica would be deleted with nowhere to go")
	as(t, "operator", "drain", east, "--dry-run", "--manager-config="+hold).exits(0).says("reasoner 0 Held", "(dry run)")
	as(t, "operator", "plan", "drain", east, "--manager-config="+hold).exits(0).says("reasoner 0 Held")
	others := write("scheduler.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: another}]\n")
	as(t, "operator", "drain", west, "--dry-run", "--scheduler-config="+others).exits(0).says("1 replica stays although it must leave", `waits for the scheduler "evenkeel"`)
	for file, said := range map[string]string{
		"gone.yaml": "gone.yaml: no such file", write("bad.yaml", "kind: HubManager\n"): "bad.yaml: ",
	} {
		as(t, "operator", "drain", west, "--yes", "--manager-config="+file).exits(1).says(said)
		as(t, "operator", "drain", west, "--yes", "--scheduler-config="+file).exits(1).says(said)
	}
	assert.Empty(t, taintsOf(t, west))
}

// TestPlanApply plans with files as kubectl apply takes them.
func TestPlanApply(t *testing.T) {
	newFleet(t)
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	example := func(name string) string {
		content, err := os.ReadFile(hubtest.Root + "/manifests/examples/" + name)
		require.NoError(t, err)
		return string(content)
	}
	const another = `apiVersion: modelplane.ai/v1alpha1
kind: InferenceCluster
metadata: {name: gpu-us-new}
spec:
  cluster: {source: Existing, existing: {secretRef: {name: new}}}
  nodePools: [{name: h200, className: CLASS, nodeCount: 2}]
`
	two := write("reasoner.yaml", strings.Replace(example("reasoner.yaml"), "replicas: 1", "replicas: 2", 1))
	class := clusterNamed(t, east).Spec.NodePools[0].ClassName
	write("cluster.yaml", strings.Replace(another, "CLASS", class, 1))

	as(t, "viewer", "plan", "apply", "-f", two, "--fail-on", "unplaceable").exits(1).says("reasoner 1 Waits", "1 replica has nowhere to go")
	as(t, "viewer", "plan", "apply", "-f", folder).exits(0).says("reasoner 1 Waits",
		"Warning: InferenceCluster gpu-us-new is new and reports no node pools yet, so that nothing lands there in this plan.")
	as(t, "viewer", "plan", "apply", "-f", folder, "--assume-ready", "--fail-on", "unplaceable").exits(0).says("reasoner 1 Lands - gpu-us-new/0")
	larger := as(t, "viewer", "plan", "apply", "-f", two, "-f", "-", "--assume-ready")
	larger.Stdin = strings.NewReader(strings.Replace(example("inference-clusters.yaml"), "nodeCount: 1", "nodeCount: 2", 1))
	larger.exits(0).says("reasoner 1 Lands - " + west + "/")
	edited := as(t, "viewer", "plan", "apply", "-f", two, "-f", "-")
	edited.Stdin = strings.NewReader(strings.Replace(example("inference-clusters.yaml"), "nodeCount: 1", "nodeCount: 2", 1))
	edited.exits(0).says("Warning: InferenceCluster " + west + " gets other node pools, and this plan counts those that it reports now")

	as(t, "viewer", "plan", "apply", "-k", hubtest.Root+"/manifests/examples").exits(0).says("leaves out: ", `Namespace "ml-team"`, "no replica would go, come or wait")
	write("unknown.yaml", strings.Replace(another, "CLASS", "b1000", 1))
	as(t, "viewer", "plan", "apply", "-f", filepath.Join(folder, "unknown.yaml"), "--assume-ready").exits(2).says("InferenceCluster gpu-us-new", "have InferenceClass b1000")
	as(t, "viewer", "plan", "apply").exits(2).says("name files or folders with -f")
	as(t, "viewer", "plan", "apply", "-f", filepath.Join(folder, "gone.yaml")).exits(2).says("gone.yaml\" does not exist")
	as(t, "viewer", "plan", "apply", "-n", "web", "-f", two).exits(2).says(`is in namespace "ml-team", not in "web"`)
	as(t, "viewer", "plan", "apply", "-f", write("bad.yaml", "a: [")).exits(2).says("bad.yaml")
	assert.Empty(t, clusterNamed(t, west).Spec.Taints)
}
