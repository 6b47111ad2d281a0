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
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

const never = time.Hour

// TestDrain follows a drain from its beginning to after its end.
func TestDrain(t *testing.T) {
	w := newWorld(t, never)
	moving, budget := w.replica("a", 0), w.replica("b", 0)
	movingPlacement, budgetPlacement := w.placement("a", 0), w.placement("b", 0)
	w.replica("kept", 0)
	w.placement("kept", 0, modelplane.Toleration{Key: "maintenance", Operator: modelplane.TolerationOpExists})
	foreign := w.replica("foreign", 0)
	assert.Empty(t, w.drained(), "a cluster that is not drained")

	w.drain()
	w.leaves(budgetPlacement, evenkeel.LeavingBudget, "another move to end")
	const stays = "; 1 replica stays, as its deployment tolerates the taints"
	w.awaitDrained(fmt.Sprintf("False ReplicasLeft: 3 replicas must still leave: "+
		"1 that Evenkeel does not move (default/%s, which waits for whoever keeps the replicas of ModelDeployment foreign), "+
		"1 waiting for other moves to end (default/%s, which waits for another move to end), "+
		"1 on the move (default/%s, which waits for its move to begin)"+stays, foreign.Name, budget.Name, moving.Name))
	assert.Contains(t, w.awaitEvent("DrainBegun"), "must still leave")
	first := meta.FindStatusCondition(w.cluster().Status.Conditions, evenkeel.ConditionDrained)
	assert.Equal(t, w.cluster().Generation, first.ObservedGeneration)
	w.eventually(func() string {
		lines, err := w.metric()
		if err != nil {
			return err.Error()
		}
		for _, want := range []string{
			`evenkeel_drain_replicas_left{cluster="testdrain",reason="WaitingForBudget"} 1`,
			`evenkeel_drain_replicas_left{cluster="testdrain",reason="Unmanaged"} 1`,
			`evenkeel_drain_replicas_left{cluster="testdrain",reason="NothingFits"} 0`,
		} {
			if !slices.Contains(lines, want) {
				return fmt.Sprintf("no %s in %q", want, lines)
			}
		}
		return ""
	})

	w.delete(moving)
	w.delete(movingPlacement)
	w.delete(foreign)
	w.leaves(budgetPlacement, evenkeel.LeavingUnplaceable, "room")
	w.awaitDrained(fmt.Sprintf("False ReplicasLeft: 1 replica must still leave: 1 with nowhere to go (default/%s, which waits for room)"+stays, budget.Name))
	later := meta.FindStatusCondition(w.cluster().Status.Conditions, evenkeel.ConditionDrained)
	assert.Equal(t, first.LastTransitionTime, later.LastTransitionTime, "it has been False all the time")

	w.delete(budget)
	w.awaitDrained("True Drained: no replica that must leave is left" + stays)
	assert.Contains(t, w.awaitEvent("Drained"), "no replica that must leave is left")

	w.patch(`{"spec":{"taints":null}}`)
	w.awaitDrained("")
	assert.True(t, meta.IsStatusConditionTrue(w.cluster().Status.Conditions, "Ready"), "somebody else's condition was lost")
	w.eventually(func() string {
		if lines, err := w.metric(); err != nil || len(lines) > 0 {
			return fmt.Sprintf("still %q, %v", lines, err)
		}
		return ""
	})
	counts, _ := w.events()
	assert.Equal(t, map[string]int{"DrainBegun": 1, "Drained": 1}, counts)
}

// TestEmptyCluster is one that nothing is on: it is drained at once.
func TestEmptyCluster(t *testing.T) {
	w := newWorld(t, never)
	w.drain()
	w.awaitDrained("True Drained: no replica that must leave is left")
	w.awaitEvent("Drained")
	w.replica("late", 0)
	w.eventually(func() string {
		if !meta.IsStatusConditionFalse(w.cluster().Status.Conditions, evenkeel.ConditionDrained) {
			return "a replica has come and the cluster still calls itself drained"
		}
		return ""
	})
}

// TestTolerations are those of a deployment that is not Evenkeel's, and change while the cluster is drained.
func TestTolerations(t *testing.T) {
	w := newWorld(t, never)
	d := &modelplane.ModelDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "modelplanes"},
		Spec: modelplane.ModelDeploymentSpec{Replicas: 1, Template: modelplane.ModelDeploymentTemplate{Spec: modelplane.ModelDeploymentTemplateSpec{
			Tolerations: []modelplane.Toleration{{Key: "maintenance", Operator: modelplane.TolerationOpExists, TolerationSeconds: ptr.To[int64](3600)}},
			Engines: []modelplane.Engine{{Name: "main", Members: []modelplane.Member{{
				NodeSelector: &modelplane.NodeSelector{Devices: []modelplane.DeviceRequest{{
					Name: "gpu", Selectors: []modelplane.DeviceSelector{{CEL: "true"}},
				}}},
				Template: &modelplane.MemberTemplate{Spec: &modelplane.MemberPodSpec{Containers: []modelplane.Container{{Name: "engine", Image: "x"}}}},
			}}}},
		}}},
	}
	w.create(d)
	r := w.replica(d.Name, 0)
	w.drain()
	w.awaitDrained(fmt.Sprintf("False ReplicasLeft: 1 replica must still leave: 1 tolerating the taint for a time (default/%s, which waits for its tolerationSeconds to pass)", r.Name))

	w.eventually(func() string { // the manager may write it too
		if err := hub.Client.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			return err.Error()
		}
		d.Spec.Template.Spec.Tolerations[0].TolerationSeconds = nil
		if err := hub.Client.Update(t.Context(), d); err != nil {
			return err.Error()
		}
		return ""
	})
	w.eventually(func() string {
		// The controller looks again when the cluster changes, or after a minute.
		w.patch(fmt.Sprintf(`{"metadata":{"labels":{"look":"%d"}}}`, time.Now().UnixNano()))
		if got := w.drained(); got != "True Drained: no replica that must leave is left; 1 replica stays, as its deployment tolerates the taints" {
			return got
		}
		return ""
	})
}

// TestStuck is a drain that stands still: people are told again and again, but not often.
func TestStuck(t *testing.T) {
	w := newWorld(t, time.Second)
	r := w.replica("a", 0)
	p := w.placement("a", 0)
	w.leaves(p, evenkeel.LeavingPaused, "a policy to be lifted")
	w.drain()
	note := w.awaitEvent("DrainStuck")
	assert.Regexp(t, `^no replica has left for \d+s: 1 replica must still leave: 1 whose move is paused`, note)
	w.eventually(func() string {
		if counts, _ := w.events(); counts["DrainStuck"] < 2 {
			return "it was told only once"
		}
		return ""
	})
	w.delete(r)
	w.awaitEvent("Drained")
}

// TestRecordedDeletion is a cluster that Crossplane will delete once it is empty.
func TestRecordedDeletion(t *testing.T) {
	w := newWorld(t, never)
	w.replica("a", 0)
	w.patch(fmt.Sprintf(`{"metadata":{"annotations":{%q:"background"}}}`, modelplane.AnnotationDeletionAttempt))
	note := w.awaitEvent("DeletionRecorded")
	assert.Contains(t, note, "Crossplane repeats it as soon as the last one has left")
	assert.Contains(t, note, "kubectl annotate inferencecluster testrecordeddeletion usage.crossplane.io/deletion-attempt-with-policy-")
	assert.Empty(t, w.drained(), "it is told before anything is drained")
	w.drain()
	w.eventually(func() string {
		c := meta.FindStatusCondition(w.cluster().Status.Conditions, evenkeel.ConditionDrained)
		if c == nil || !strings.HasSuffix(c.Message, note) {
			return fmt.Sprintf("the condition does not warn: %v", c)
		}
		return ""
	})
}
