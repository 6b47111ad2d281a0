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
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/standin"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

// TestStuckDrains walks through the table of docs/operations.md about drains that do not end, on one fleet: each symptom is
// brought about, told in the words of the page, and cured as the page says. Each entry begins where the one before ended.
func TestStuckDrains(t *testing.T) {
	newFleet(t)
	for _, entry := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"Paused", stuckPaused},
		{"NothingFits", stuckNothingFits},
		{"FailingToServe", stuckFailingToServe},
		{"WaitingForBudget", stuckWaitingForBudget},
		{"Unmanaged", stuckUnmanaged},
		{"Tolerating", stuckTolerating},
		{"its pods to end", stuckPods},
		{"the scheduler", stuckScheduler},
		{"hub-manager says nothing", stuckManager},
		{"deletion", stuckDeletion},
	} {
		if !t.Run(entry.name, entry.run) {
			return
		}
	}
}

// quotes checks that the command says what the page says that it does.
func (c *command) quotes(parts ...string) *command {
	c.t.Helper()
	page, err := os.ReadFile(hubtest.Root + "/docs/operations.md")
	require.NoError(c.t, err)
	words := strings.Join(strings.Fields(string(page)), " ")
	for _, part := range parts {
		assert.Contains(c.t, words, part, "docs/operations.md has no such words")
	}
	return c.says(parts...)
}

// begin begins a drain that nobody follows.
func begin(t *testing.T, cluster string) {
	t.Helper()
	as(t, "operator", "drain", cluster, "--yes", "--accept-shortfall", "--wait=false").exits(0)
}

// awaitSaid follows the drain for a moment, again and again, until it says what it waits for.
func awaitSaid(t *testing.T, cluster string, parts []string, flags ...string) *command {
	t.Helper()
	var c *command
	hubtest.Eventually(t, func() string {
		c = as(t, "viewer", append([]string{"drain", cluster, "--timeout=1s"}, flags...)...).exits(2)
		all := strings.Join(strings.Fields(c.stdout.String()), " ")
		for _, part := range parts {
			if !strings.Contains(all, part) {
				return fmt.Sprintf("it does not say %q: %s", part, all)
			}
		}
		return ""
	})
	t.Logf("%s%s", c.stdout, c.stderr)
	return c.says(cluster+" is not drained after ", "; the drain goes on", "kubectl evenkeel undo drain "+cluster)
}

// awaitQuoted waits until following the drain says what the page says that it does.
func awaitQuoted(t *testing.T, cluster string, parts ...string) {
	t.Helper()
	awaitSaid(t, cluster, parts).quotes(parts...)
}

// drained follows the drain to its end.
func drained(t *testing.T, cluster string) *command {
	t.Helper()
	c := as(t, "viewer", "drain", cluster, "--timeout="+hubtest.Patience.String()).exits(0).says(cluster + " is drained, after")
	t.Logf("%s", c.stdout)
	return c
}

// restore gives the cluster back, and waits until nothing speaks of its drain any more.
func restore(t *testing.T, cluster string) {
	t.Helper()
	as(t, "operator", "undo", "drain", cluster).exits(0)
	hubtest.Eventually(t, func() string { return conditionOf(t, cluster) })
	awaitServing(t)
}

func conditionOf(t *testing.T, cluster string) string {
	t.Helper()
	c := meta.FindStatusCondition(clusterNamed(t, cluster).Status.Conditions, evenkeel.ConditionDrained)
	if c == nil {
		return ""
	}
	return c.Message
}

func mergePatch(t *testing.T, o client.Object, format string, args ...any) {
	t.Helper()
	require.NoError(t, hub.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, args...))))
}

// fail has replicas on a cluster fail, or no more.
func fail(t *testing.T, cluster string, fails bool) {
	t.Helper()
	value := "null"
	if fails {
		value = `"testing"`
	}
	mergePatch(t, &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}, `{"metadata":{"annotations":{%q:%s}}}`, standin.AnnotationFail, value)
}

func createPolicy(t *testing.T, name string, settings evenkeel.DisruptionSettings) *evenkeel.DisruptionPolicy {
	t.Helper()
	p := &evenkeel.DisruptionPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name}}
	p.Spec.Selector, p.Spec.DisruptionSettings = &metav1.LabelSelector{}, settings
	require.NoError(t, hub.Client.Create(t.Context(), p))
	return p
}

func stuckPaused(t *testing.T) {
	as(t, "pauser", "pause", "--cluster", east).exits(0)
	begin(t, east)
	awaitQuoted(t, east, "Waiting, waits for moves to be resumed (Paused)")
	hubtest.Eventually(t, func() string {
		if said := conditionOf(t, east); !strings.Contains(said, "whose move is paused (such as "+team+"/chat-") {
			return "the condition says " + said
		}
		return ""
	})
	as(t, "pauser", "resume", "--cluster", east).exits(0).quotes("namespace/ml-team moves go on")
	drained(t, east)
	restore(t, east)
}

func stuckNothingFits(t *testing.T) {
	policy := createPolicy(t, "hold", evenkeel.DisruptionSettings{WhenUnplaceable: evenkeel.WhenUnplaceableHold})
	begin(t, east)
	awaitQuoted(t, east, "Unplaceable, waits for a destination: 0/3 clusters are available: ",
		"Best: gpu-us-west/h200 needs 2 nodes, has 1 in all (engine main)", "(NothingFits)")
	as(t, "viewer", "why", "reasoner", "-n", team).exits(0).says("gpu-us-west/h200 needs 2 nodes, has 1 in all")
	require.NoError(t, hub.Client.Delete(t.Context(), policy))
	drained(t, east)
	restore(t, east)
}

func stuckWaitingForBudget(t *testing.T) {
	fail(t, east, true)
	begin(t, west)
	awaitQuoted(t, west,
		"Waiting, waits for other replicas of the deployment to serve: at most 1 of 5 may be on the move (WaitingForBudget)")
	fail(t, east, false)
	drained(t, west)
	restore(t, west)
}

func stuckFailingToServe(t *testing.T) {
	policy := createPolicy(t, "careful", evenkeel.DisruptionSettings{
		Strategy: evenkeel.StrategyMakeBeforeBreak, ReadyTimeout: &metav1.Duration{Duration: 3 * time.Second},
	})
	fail(t, east, true)
	begin(t, north)
	awaitQuoted(t, north, "1 replacements did not serve within 3s (readyTimeout) (FailingToServe)")
	assert.Len(t, replicasOn(t, north), 2, "make before break loses none")

	as(t, "operator", "cordon", east).exits(0)
	hubtest.Eventually(t, func() string {
		passMinutes(t)
		if !isDrained(t, north) {
			return conditionOf(t, north)
		}
		return ""
	})
	drained(t, north)
	fail(t, east, false)
	require.NoError(t, hub.Client.Delete(t.Context(), policy))
	as(t, "operator", "uncordon", east).exits(0)
	restore(t, north)
}

// passMinutes makes it half an hour since replacements were taken back, so that nobody needs to wait for the next try.
// What the manager writes meanwhile wins: the caller tries again.
func passMinutes(t *testing.T) {
	t.Helper()
	list := &evenkeel.ReplicaPlacementList{}
	require.NoError(t, hub.Client.List(t.Context(), list, client.InNamespace(team)))
	for i := range list.Items {
		p := &list.Items[i]
		c := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionMoved)
		if c == nil || c.Reason != evenkeel.CauseNotServing || time.Since(c.LastTransitionTime.Time) > 30*time.Minute {
			continue
		}
		c.LastTransitionTime = metav1.NewTime(c.LastTransitionTime.Add(-30 * time.Minute))
		if err := hub.Client.Status().Update(t.Context(), p); !apierrors.IsConflict(err) {
			require.NoError(t, client.IgnoreNotFound(err))
		}
	}
}

func replicasOn(t *testing.T, cluster string) []modelplane.ModelReplica {
	t.Helper()
	list := &modelplane.ModelReplicaList{}
	require.NoError(t, hub.Client.List(t.Context(), list, client.MatchingLabels{modelplane.LabelCluster: cluster}))
	return list.Items
}

func stuckUnmanaged(t *testing.T) {
	made := &modelplane.ModelReplica{ObjectMeta: metav1.ObjectMeta{
		Namespace: team, Name: "batch-1", Labels: map[string]string{modelplane.LabelCluster: west, modelplane.LabelDeployment: "batch"},
	}}
	made.Spec.ClusterName = west
	made.Spec.Engines = []modelplane.ReplicaEngine{{Name: "main", Members: []modelplane.ReplicaMember{{
		Role: modelplane.MemberRoleStandalone, NodePoolName: "l40s",
		DeviceRequests: []modelplane.ReplicaDeviceRequest{{Name: "gpu", DeviceClassName: "gpu.nvidia.com", Count: ptr.To[int64](1)}},
		Template:       &modelplane.MemberTemplate{Spec: &modelplane.MemberPodSpec{Containers: []modelplane.Container{{Name: "engine", Image: "registry.example/engine:1"}}}},
	}}}}
	require.NoError(t, hub.Client.Create(t.Context(), made))
	begin(t, west)
	awaitQuoted(t, west, "ml-team/batch-1 Waiting, waits for whoever keeps the replicas of ModelDeployment batch (Unmanaged)")
	require.NoError(t, hub.Client.Delete(t.Context(), made))
	drained(t, west)
	restore(t, west)
}

func stuckTolerating(t *testing.T) {
	chat := &modelplane.ModelDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "chat"}}
	mergePatch(t, chat, `{"spec":{"template":{"spec":{"tolerations":[{"key":"modelplane.ai/maintenance","operator":"Exists","effect":"NoExecute","tolerationSeconds":600}]}}}}`)
	begin(t, east)
	awaitQuoted(t, east, "Tolerating, waits for its tolerationSeconds to pass (Tolerating)")
	mergePatch(t, chat, `{"spec":{"template":{"spec":{"tolerations":null}}}}`)
	drained(t, east)
	restore(t, east)
}

func stuckPods(t *testing.T) {
	var held *modelplane.ModelReplica
	for _, r := range replicasOn(t, west) {
		if r.Labels[modelplane.LabelDeployment] == "chat" {
			held = &r
		}
	}
	require.NotNil(t, held)
	mergePatch(t, held, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	begin(t, west)
	hubtest.Eventually(t, func() string {
		if said := conditionOf(t, west); !strings.HasPrefix(said, "1 replica must still leave: ") {
			return said
		}
		return ""
	})
	awaitSaid(t, west, []string{held.Name, "waits for its pods to end (Moving)"}).quotes("waits for its pods to end (Moving)")
	mergePatch(t, held, `{"metadata":{"finalizers":null}}`)
	drained(t, west)
	restore(t, west)
}

// suspend stops a program as if its machine were gone, and lets it go on when the function is called.
func suspend(t *testing.T, p *hubtest.Program) (resume func()) {
	t.Helper()
	p.Signal(syscall.SIGSTOP)
	resume = func() { p.Signal(syscall.SIGCONT) }
	t.Cleanup(resume)
	return resume
}

func stuckScheduler(t *testing.T) {
	resume := suspend(t, hub.scheduler)
	begin(t, east)
	awaitQuoted(t, east, `Placing, waits for the scheduler "evenkeel" to place its replacement (Moving)`)
	resume()
	drained(t, east)
	restore(t, east)
}

func stuckManager(t *testing.T) {
	resume := suspend(t, hub.manager)
	begin(t, west)
	as(t, "viewer", "drain", west, "--timeout=1s").exits(2).quotes("hub-manager has said nothing about this drain; does it run?", "waits for its move to begin (Moving)")
	resume()
	drained(t, west)
	restore(t, west)
}

func stuckDeletion(t *testing.T) {
	c := &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{Name: east}}
	mergePatch(t, c, `{"metadata":{"annotations":{"usage.crossplane.io/deletion-attempt-with-policy":"Foreground"}}}`)
	as(t, "viewer", "drain", east, "--dry-run", "--accept-shortfall").exits(0).quotes("Warning: Beware: this cluster's deletion was refused while replicas were on it",
		"To keep the cluster: kubectl annotate inferencecluster gpu-us-east usage.crossplane.io/deletion-attempt-with-policy-")
	require.NoError(t, hub.Kubectl(t.Context(), "annotate", "inferencecluster", east, "usage.crossplane.io/deletion-attempt-with-policy-"))
	assert.NotContains(t, as(t, "viewer", "drain", east, "--dry-run", "--accept-shortfall").exits(0).stderr.String(), "Beware")
}
