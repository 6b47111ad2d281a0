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

package manager

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/standin"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

// urgentClass is a priority above that of deployments that name none.
const urgentClass = "preemption-test-urgent"

// startPreemptingScheduler runs the hub scheduler with the shipped profile that preempts, as the user whom the shipped
// roles were made for.
func startPreemptingScheduler(t *testing.T) *hubtest.Program {
	t.Helper()
	kubeconfig, err := hub.Kubeconfig(t.Context(), hubtest.SchedulerUser, "hub/scheduler/base/rbac.yaml", "hub/scheduler/preemption/rbac.yaml")
	require.NoError(t, err)
	shipped, err := os.ReadFile(hubtest.Manifest("hub", "scheduler", "preemption", "config.yaml"))
	require.NoError(t, err)
	config := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(shipped, "clientConnection:\n  kubeconfig: %s\n", kubeconfig), 0o600))
	return hubtest.Run(t, "hub-scheduler", "--config="+config, "--leader-elect=false", "--secure-port=0", "--authentication-skip-lookup=true", "--v=2")
}

func urgent(d *modelplane.ModelDeployment) {
	d.Spec.Template.Spec.PriorityClassName = urgentClass
}

// TestPreemption is about deployments of a high priority on hubs that are full.
func TestPreemption(t *testing.T) {
	w := newIdleWorld(t)
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: urgentClass}, Value: 1000}
	require.NoError(t, hub.Client.Create(w.ctx, class))
	t.Cleanup(func() { assert.NoError(t, hub.Client.Delete(context.Background(), class)) })
	w.startStandIn(standin.Options{})
	w.scheduler = startPreemptingScheduler(t)
	w.manager = startManager(t, "")

	w.run("the lower leaves for the higher", func(w *world) {
		w.cluster("east", 1)
		w.deploy("batch", 1)
		w.expect("batch@east/0(h)")
		w.deploy("chat", 1, urgent)
		w.stays("chat@east/0(h)")
		w.eventually(func() string {
			victim := w.placementNamed("batch-0-1")
			moved := meta.FindStatusCondition(victim.Status.Conditions, evenkeel.ConditionMoved)
			if moved == nil || moved.Reason != evenkeel.CausePreempted {
				return "batch-0-1 does not say that it was preempted"
			}
			if cause := meta.FindStatusCondition(victim.Status.Conditions, evenkeel.ConditionDisruptionTarget); cause == nil || !strings.Contains(cause.Message, w.namespace+"/chat-0-1") {
				return "batch-0-1 does not name its preemptor"
			}
			if nominated := w.placementNamed("chat-0-1").Status.NominatedCluster; nominated != "" {
				return "chat-0-1 is still nominated"
			}
			return ""
		})
		w.expectCondition("batch", replicasScheduled, metav1.ConditionFalse, "InsufficientCapacity",
			"0 of 1 replicas scheduled (checked 1 clusters): 0/1 clusters are available: 1 cluster(s) had too few free nodes in the pools that match. "+
				"Best: east/h needs 1 node, has 0 free (engine main). "+
				"Preemption does not help: no cluster would have room without its replicas of lower priority.")
	})

	w.run("it moves where there is room, and serves all the time", func(w *world) {
		w.policy("careful", evenkeel.DisruptionSettings{Strategy: evenkeel.StrategyMakeBeforeBreak})
		w.cluster("east", 1, labels(map[string]string{"zone": "1"}))
		w.deploy("batch", 1)
		w.expectCondition("batch", replicasReady, metav1.ConditionTrue, "AllReplicasReady", "1 of 1 ready")
		w.cluster("west", 1)
		w.deploy("chat", 1, urgent, selector(map[string]string{"zone": "1"}))
		w.eventually(func() string {
			if ready := w.deployment("batch").Status.Replicas; ready == nil || ready.Ready < 1 {
				w.t.Fatalf("batch does not serve meanwhile\n%s", w.describe())
			}
			if chat := w.deployment("chat").Status.Replicas; chat == nil || chat.Ready != 1 {
				return "chat does not serve yet"
			}
			return ""
		})
		w.stays("batch@west/0(h)", "chat@east/0(h)")
	})

	w.run("it lapses with the preemptor", func(w *world) {
		w.policy("careful", evenkeel.DisruptionSettings{Paused: ptr.To(true)})
		w.cluster("east", 1)
		w.deploy("batch", 1)
		w.expectCondition("batch", replicasReady, metav1.ConditionTrue, "AllReplicasReady", "1 of 1 ready")
		d := w.deploy("chat", 1, urgent)
		w.eventually(func() string {
			c := meta.FindStatusCondition(w.placementNamed("batch-0-1").Status.Conditions, evenkeel.ConditionDisruptionTarget)
			if c == nil || c.Reason != evenkeel.CausePreempted || c.Status != metav1.ConditionTrue {
				return "batch-0-1 is not preempted"
			}
			if chat := w.placementNamed("chat-0-1"); chat.Status.NominatedCluster != "east" {
				return "chat-0-1 is not nominated to east"
			}
			return ""
		})
		require.NoError(w.t, hub.Client.Delete(w.ctx, d))
		w.eventually(func() string {
			batch := w.placementNamed("batch-0-1")
			if batch.Status.PreemptedBy != nil || meta.FindStatusCondition(batch.Status.Conditions, evenkeel.ConditionDisruptionTarget) != nil {
				return "batch-0-1 is still preempted"
			}
			return ""
		})
		w.stays("batch@east/0(h)")
	})
	assert.NotContains(t, w.scheduler.Output(), "forbidden", "the shipped roles are enough")
}

func (w *world) placementNamed(name string) *evenkeel.ReplicaPlacement {
	w.t.Helper()
	for _, p := range w.placements() {
		if p.Name == name {
			return &p
		}
	}
	return &evenkeel.ReplicaPlacement{}
}
