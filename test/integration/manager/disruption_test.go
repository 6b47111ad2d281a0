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
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/standin"
)

func (w *world) policy(name string, settings evenkeel.DisruptionSettings) *evenkeel.DisruptionPolicy {
	w.t.Helper()
	p := &evenkeel.DisruptionPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec:       evenkeel.DisruptionPolicySpec{Selector: &metav1.LabelSelector{}, DisruptionSettings: settings},
	}
	require.NoError(w.t, hub.Client.Create(w.ctx, p))
	return p
}

// serving counts the replicas of the namespace that are ready and not on their way out.
func (w *world) serving() int {
	w.t.Helper()
	list := &modelplane.ModelReplicaList{}
	require.NoError(w.t, hub.Client.List(w.ctx, list, client.InNamespace(w.namespace)))
	n := 0
	for i := range list.Items {
		r := &list.Items[i]
		if r.DeletionTimestamp == nil && meta.IsStatusConditionTrue(r.Status.Conditions, modelplane.ConditionReady) {
			n++
		}
	}
	return n
}

func (w *world) placement(name string) *evenkeel.ReplicaPlacement {
	w.t.Helper()
	p := &evenkeel.ReplicaPlacement{}
	require.NoError(w.t, hub.Client.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, p))
	return p
}

// expectMove waits until a placement's move is at a step for a reason.
func (w *world) expectMove(name, step, reason string) {
	w.t.Helper()
	w.eventually(func() string {
		m := w.placement(name).Status.Move
		if m == nil || m.Step != step || m.Reason != reason {
			return fmt.Sprintf("the move of %s is %+v", name, m)
		}
		return ""
	})
}

func (w *world) expectServing(deployment, cluster string, n int) {
	w.t.Helper()
	w.eventually(func() string {
		list := &modelplane.ModelReplicaList{}
		require.NoError(w.t, hub.Client.List(w.ctx, list, client.InNamespace(w.namespace), client.MatchingLabels{modelplane.LabelDeployment: deployment}))
		serving := 0
		for i := range list.Items {
			r := &list.Items[i]
			if r.Spec.ClusterName != cluster {
				return "replica " + r.Name + " is on " + r.Spec.ClusterName
			}
			if meta.IsStatusConditionTrue(r.Status.Conditions, modelplane.ConditionReady) {
				serving++
			}
		}
		if serving != n {
			return fmt.Sprintf("%d replicas serve on %s", serving, cluster)
		}
		return ""
	})
}

// TestDisruptionPolicies are moves under policies, end to end.
func TestDisruptionPolicies(t *testing.T) {
	w := newIdleWorld(t)
	w.startStandIn(standin.Options{LoadTime: 500 * time.Millisecond})
	w.scheduler = hub.RunScheduler(t)
	port, err := controlplane.FreePort()
	require.NoError(t, err)
	metrics := fmt.Sprintf("127.0.0.1:%d", port)
	w.manager = startManagerWith(t, alone+"\nmetricsBindAddress: "+metrics, quick, "  disruption: {readyTimeout: 2m}\n  stepEvents: true\n")

	w.run("MakeBeforeBreak never has fewer replicas than are wanted", func(w *world) {
		w.cluster("east", 2)
		w.policy("careful", evenkeel.DisruptionSettings{Strategy: evenkeel.StrategyMakeBeforeBreak})
		w.deploy("chat", 2)
		w.expectServing("chat", "east", 2)
		w.cluster("west", 2)
		w.setTaints("east", retire)
		fewest := 2
		w.eventually(func() string {
			fewest = min(fewest, w.serving())
			if got := w.replicas(); len(got) != 2 || got[0] != "chat@west/0(h)" || got[1] != "chat@west/1(h)" {
				return fmt.Sprint(got)
			}
			return ""
		})
		assert.Equal(t, 2, fewest, "replicas that served at the worst moment")
		w.expectEvent("chat", "ReplicaLeaving", "; at most 1 at a time")
		w.expectEvent("chat", "ReplicaMoved", "moved from east: UntoleratedTaint (asked for by")
		w.expectPlacementEvent("chat-0-1", "StepPlacing", "from east: UntoleratedTaint (asked for by")
		w.expectPlacementEvent("chat-0-1", "StepLoading", "from east to west: UntoleratedTaint")
		w.expectPlacementEvent("chat-1-1", "StepWaiting", "waits for other replicas of the deployment to serve")
		w.expectPlacementEvent("chat-0-1", "StepDeleting", "waits for the ModelReplica")
		w.expectPlacementEvent("chat-0-1", "StepMoved", "from east to west")
		w.expectPlacementEvent("chat-0-2", "StepServing", "from east to west")
		w.eventually(func() string {
			p := w.placement("chat-0-1")
			c := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionMoved)
			if c == nil || p.Status.Move == nil || p.Status.Move.Actor == "" || p.Status.Move.To != "west" {
				return "no history"
			}
			return ""
		})
	})

	w.run("paused, then resumed", func(w *world) {
		w.cluster("east", 1)
		policy := w.policy("stop", evenkeel.DisruptionSettings{Paused: ptr.To(true)})
		w.deploy("chat", 1)
		w.expectServing("chat", "east", 1)
		w.cluster("west", 1)
		w.setTaints("east", retire)
		w.expectMove("chat-0-1", evenkeel.StepWaiting, evenkeel.LeavingPaused)
		w.stays("chat@east/0(h)")
		update(w, policy, func(p *evenkeel.DisruptionPolicy) { p.Spec.Paused = nil })
		w.expectServing("chat", "west", 1)
	})

	w.run("a budget of none is a budget, and more of it counts at once", func(w *world) {
		w.cluster("east", 1)
		policy := w.policy("stop", evenkeel.DisruptionSettings{MaxUnavailable: ptr.To(intstr.FromString("0%"))})
		w.deploy("chat", 1)
		w.expectServing("chat", "east", 1)
		w.cluster("west", 1)
		w.setTaints("east", retire)
		w.expectMove("chat-0-1", evenkeel.StepWaiting, evenkeel.LeavingBudget)
		w.stays("chat@east/0(h)")
		update(w, policy, func(p *evenkeel.DisruptionPolicy) { p.Spec.MaxUnavailable = ptr.To(intstr.FromString("1%")) })
		w.expectServing("chat", "west", 1)
	})

	w.run("Hold keeps what has nowhere to go, and says so", func(w *world) {
		w.cluster("east", 1)
		w.policy("hold", evenkeel.DisruptionSettings{WhenUnplaceable: evenkeel.WhenUnplaceableHold})
		w.deploy("chat", 1)
		w.expectServing("chat", "east", 1)
		w.setTaints("east", retire)
		w.expectMove("chat-0-1", evenkeel.StepUnplaceable, evenkeel.LeavingUnplaceable)
		assert.Contains(t, w.placement("chat-0-1").Status.Move.WaitingFor, "0/1 clusters are available")
		w.expectEvent("chat", "ReplicaHeld", "must leave east and is held there: it waits for a destination: 0/1 clusters are available")
		w.expectPlacementEvent("chat-0-1", "ReplicaHeld", "is held there")
		w.expectMetrics(metrics, `evenkeel_replicas_leaving{cluster="east"} 1`, fmt.Sprintf(`evenkeel_replicas_unplaceable{namespace=%q} 1`, w.namespace))
		w.stays("chat@east/0(h)")
		w.cluster("west", 1)
		w.expectServing("chat", "west", 1)
	})

	w.run("a replacement that does not serve is taken back", func(w *world) {
		w.cluster("east", 1)
		policy := w.policy("careful", evenkeel.DisruptionSettings{
			Strategy: evenkeel.StrategyMakeBeforeBreak, ReadyTimeout: &metav1.Duration{Duration: 2 * time.Second},
		})
		w.deploy("chat", 1)
		w.expectServing("chat", "east", 1)
		w.cluster("west", 1, failing)
		w.setTaints("east", retire)
		w.expectMove("chat-0-1", evenkeel.StepWaiting, evenkeel.LeavingNotServing)
		w.eventually(func() string {
			if got := w.replicas(); len(got) != 1 || got[0] != "chat@east/0(h)" {
				return fmt.Sprint(got)
			}
			return ""
		})
		w.expectEvent("chat", "ReplacementRolledBack", "does not serve on west after 2s (readyTimeout)")
		require.NoError(t, hub.Client.Delete(w.ctx, policy))
	})

	w.run("a taint that is tolerated for a time", func(w *world) {
		w.cluster("east", 1)
		w.deploy("chat", 1, tolerations(modelplane.Toleration{
			Key: retire.Key, Operator: modelplane.TolerationOpExists, TolerationSeconds: ptr.To[int64](3600),
		}))
		w.expectServing("chat", "east", 1)
		w.cluster("west", 1)
		w.setTaints("east", retire)
		w.eventually(func() string {
			c := meta.FindStatusCondition(w.placement("chat-0-1").Status.Conditions, evenkeel.ConditionDisruptionTarget)
			if c == nil || c.Status != metav1.ConditionUnknown || c.Reason != evenkeel.CauseTolerating {
				return fmt.Sprintf("DisruptionTarget is %+v", c)
			}
			return ""
		})
		w.stays("chat@east/0(h)")
		w.edit("chat", func(d *modelplane.ModelDeployment) {
			d.Spec.Template.Spec.Tolerations[0].TolerationSeconds = ptr.To[int64](1)
		})
		w.expectServing("chat", "west", 1)
		// The taint is still there, and so is the toleration: nothing goes back.
		w.scale("chat", 2)
		w.stays("chat@west/0(h)")
	})

	w.expectMetrics(metrics,
		`evenkeel_replica_moves_total{cause="UntoleratedTaint",result="moved"} `, `evenkeel_replica_moves_total{cause="ReplacementNotServing",result="rolled_back"} `,
		`evenkeel_move_waits_total{reason="Paused"} `, `evenkeel_move_waits_total{reason="WaitingForBudget"} `,
		`evenkeel_move_waits_total{reason="NothingFits"} `, `evenkeel_move_waits_total{reason="FailingToServe"} `,
		`evenkeel_move_step_duration_seconds_count{step="Waiting"} `, `evenkeel_move_step_duration_seconds_count{step="Loading"} `)
}

// expectMetrics waits until a manager serves lines that begin so.
func (w *world) expectMetrics(address string, lines ...string) {
	w.t.Helper()
	w.eventually(func() string {
		response, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			return err.Error()
		}
		defer func() { _ = response.Body.Close() }()
		content, err := io.ReadAll(response.Body)
		if err != nil {
			return err.Error()
		}
		for _, line := range lines {
			if !strings.Contains(string(content), "\n"+line) {
				return "no metric " + line
			}
		}
		return ""
	})
}

// TestDisruptionPolicyValidation is what the API server refuses.
func TestDisruptionPolicyValidation(t *testing.T) {
	w := newIdleWorld(t)
	for name, tc := range map[string]struct {
		change func(*evenkeel.DisruptionPolicySpec)
		want   string
	}{
		"nothing said":      {change: func(*evenkeel.DisruptionPolicySpec) {}},
		"a number":          {change: func(s *evenkeel.DisruptionPolicySpec) { s.MaxUnavailable = ptr.To(intstr.FromInt32(0)) }},
		"a percentage":      {change: func(s *evenkeel.DisruptionPolicySpec) { s.MaxUnavailable = ptr.To(intstr.FromString("100%")) }},
		"less than none":    {func(s *evenkeel.DisruptionPolicySpec) { s.MaxUnavailable = ptr.To(intstr.FromInt32(-1)) }, "maxUnavailable must be"},
		"more than all":     {func(s *evenkeel.DisruptionPolicySpec) { s.MaxUnavailable = ptr.To(intstr.FromString("101%")) }, "maxUnavailable must be"},
		"no percentage":     {func(s *evenkeel.DisruptionPolicySpec) { s.MaxUnavailable = ptr.To(intstr.FromString("some")) }, "maxUnavailable must be"},
		"another strategy":  {func(s *evenkeel.DisruptionPolicySpec) { s.Strategy = "Surge" }, "Unsupported value"},
		"another way out":   {func(s *evenkeel.DisruptionPolicySpec) { s.WhenUnplaceable = "Wait" }, "Unsupported value"},
		"less than no time": {func(s *evenkeel.DisruptionPolicySpec) { s.ReadyTimeout = &metav1.Duration{Duration: -time.Second} }, "readyTimeout"},
		"a selector of sets": {change: func(s *evenkeel.DisruptionPolicySpec) {
			s.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "In", Values: []string{"b"}}}
		}},
		"another operator": {func(s *evenkeel.DisruptionPolicySpec) {
			s.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}
		}, "an expression is"},
		"In without values": {func(s *evenkeel.DisruptionPolicySpec) {
			s.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "In"}}
		}, "an expression is"},
		"no selector": {func(s *evenkeel.DisruptionPolicySpec) { s.Selector = nil }, "selector"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &evenkeel.DisruptionPolicy{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "p-"},
				Spec:       evenkeel.DisruptionPolicySpec{Selector: &metav1.LabelSelector{}},
			}
			tc.change(&p.Spec)
			err := hub.Client.Create(w.ctx, p)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
			assert.True(t, apierrors.IsInvalid(err) || apierrors.IsBadRequest(err), "%v", err)
		})
	}
}
