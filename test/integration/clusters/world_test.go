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

package clusters

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

// world is a cluster of a test's own, and a manager that reports about it.
type world struct {
	t       *testing.T
	name    string
	metrics string
}

// newWorld makes a cluster and starts the manager. Nothing else runs: what would move replicas is played by the test.
func newWorld(t *testing.T, stuckAfter time.Duration) *world {
	w := &world{t: t, name: strings.ToLower(strings.ReplaceAll(t.Name(), "_", "-"))}
	w.create(&modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{Name: w.name},
		Spec: modelplane.InferenceClusterSpec{Cluster: modelplane.ClusterSpec{
			Source:   modelplane.ClusterSourceExisting,
			Existing: &modelplane.ExistingCluster{SecretRef: modelplane.SecretKeyReference{Name: w.name}},
		}},
	})
	// Somebody else's condition, as Modelplane would write it.
	status := w.cluster()
	meta.SetStatusCondition(&status.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Available"})
	require.NoError(t, hub.Client.Status().Update(t.Context(), status))
	port, err := controlplane.FreePort()
	require.NoError(t, err)
	w.metrics = fmt.Sprintf("127.0.0.1:%d", port)
	hub.RunManager(t, managerKubeconfig, fmt.Sprintf("metricsBindAddress: %q\ninferenceClusters: {stuckAfter: %s}\n", w.metrics, stuckAfter))
	return w
}

// create makes an object that goes at the end of the test.
func (w *world) create(o client.Object) {
	w.t.Helper()
	require.NoError(w.t, hub.Client.Create(w.t.Context(), o))
	w.t.Cleanup(func() {
		assert.NoError(w.t, client.IgnoreNotFound(hub.Client.Delete(context.Background(), o)))
	})
}

func (w *world) cluster() *modelplane.InferenceCluster {
	w.t.Helper()
	c := &modelplane.InferenceCluster{}
	require.NoError(w.t, hub.Client.Get(w.t.Context(), client.ObjectKey{Name: w.name}, c))
	return c
}

// patch changes the cluster by a merge patch.
func (w *world) patch(patch string) {
	w.t.Helper()
	require.NoError(w.t, hub.Client.Patch(w.t.Context(), w.cluster(), client.RawPatch("application/merge-patch+json", []byte(patch))))
}

func (w *world) drain() {
	w.t.Helper()
	w.patch(`{"spec":{"taints":[{"key":"maintenance","effect":"NoExecute"}]}}`)
}

// replica makes one on the cluster, for which no placement stands.
func (w *world) replica(deployment string, index int32) *modelplane.ModelReplica {
	w.t.Helper()
	r := &modelplane.ModelReplica{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: placement.ReplicaName(deployment, w.name, index),
			Labels: map[string]string{modelplane.LabelDeployment: deployment, modelplane.LabelCluster: w.name},
		},
		Spec: modelplane.ModelReplicaSpec{
			ClusterName: w.name,
			Engines: []modelplane.ReplicaEngine{{Name: "main", Members: []modelplane.ReplicaMember{{
				NodePoolName:   "a",
				DeviceRequests: []modelplane.ReplicaDeviceRequest{{Name: "gpu", DeviceClassName: "gpu.test"}},
			}}}},
		},
	}
	w.create(r)
	return r
}

// placement makes one that stands for a replica. There is no such deployment, so that the manager leaves it alone.
func (w *world) placement(deployment string, index int32, tolerations ...modelplane.Toleration) *evenkeel.ReplicaPlacement {
	w.t.Helper()
	p := &evenkeel.ReplicaPlacement{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%s-%d-1", deployment, w.name, index)},
		Spec: evenkeel.ReplicaPlacementSpec{
			DeploymentName: deployment, Slot: index, Attempt: 1, SchedulerName: "nobody", Tolerations: tolerations,
			Engines: []evenkeel.EngineRequirements{{Name: "main", Copies: 1, Members: []evenkeel.MemberRequirements{{Nodes: 1}}}},
		},
	}
	w.create(p)
	p.Status.Assignment = &evenkeel.Assignment{ClusterName: w.name, Index: index, Engines: []evenkeel.EngineAssignment{}}
	meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{Type: evenkeel.ConditionReady, Status: metav1.ConditionTrue, Reason: "ReplicaReady"})
	require.NoError(w.t, hub.Client.Status().Update(w.t.Context(), p))
	return p
}

// leaves has a placement say why its replica is still there.
func (w *world) leaves(p *evenkeel.ReplicaPlacement, reason, waitingFor string) {
	w.t.Helper()
	w.eventually(func() string {
		if err := hub.Client.Get(w.t.Context(), client.ObjectKeyFromObject(p), p); err != nil {
			return err.Error()
		}
		meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{
			Type: evenkeel.ConditionDisruptionTarget, Status: metav1.ConditionTrue, Reason: evenkeel.CauseTaint,
		})
		p.Status.Move = &evenkeel.Move{Reason: reason, WaitingFor: waitingFor}
		if err := hub.Client.Status().Update(w.t.Context(), p); err != nil {
			return err.Error()
		}
		return ""
	})
}

func (w *world) delete(o client.Object) {
	w.t.Helper()
	require.NoError(w.t, hub.Client.Delete(w.t.Context(), o))
}

// drained gives the condition as "status reason: message", or nothing.
func (w *world) drained() string {
	w.t.Helper()
	c := meta.FindStatusCondition(w.cluster().Status.Conditions, evenkeel.ConditionDrained)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func (w *world) awaitDrained(want string) {
	w.t.Helper()
	w.eventually(func() string {
		if got := w.drained(); got != want {
			return fmt.Sprintf("the condition is %q, not %q", got, want)
		}
		return ""
	})
}

// eventually waits until problem finds none.
func (w *world) eventually(problem func() string) {
	w.t.Helper()
	hubtest.Eventually(w.t, problem)
}

// events counts what was told of the cluster by reason, and gives the last note of each.
func (w *world) events() (counts map[string]int, notes map[string]string) {
	w.t.Helper()
	list := &eventsv1.EventList{}
	require.NoError(w.t, hub.Client.List(w.t.Context(), list))
	uid := w.cluster().UID
	counts, notes = map[string]int{}, map[string]string{}
	for i := range list.Items {
		e := &list.Items[i]
		if e.Regarding.UID == uid {
			counts[e.Reason] += int(ptr.Deref(e.Series, eventsv1.EventSeries{Count: 1}).Count)
			notes[e.Reason] = e.Note
		}
	}
	return counts, notes
}

func (w *world) awaitEvent(reason string) (note string) {
	w.t.Helper()
	w.eventually(func() string {
		counts, notes := w.events()
		note = notes[reason]
		if counts[reason] == 0 {
			return fmt.Sprintf("no event %s among %v", reason, counts)
		}
		return ""
	})
	return note
}

// metric gives the lines about the cluster of what the manager serves.
func (w *world) metric() (lines []string, err error) {
	response, err := http.Get("http://" + w.metrics + "/metrics")
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "evenkeel_drain_replicas_left") && strings.Contains(line, w.name) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines, err
}
