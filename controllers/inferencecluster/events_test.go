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

package inferencecluster

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/drain"
)

func east() *modelplane.InferenceCluster {
	return &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{Name: "east"}}
}

// saidBy gives the events that were recorded since it was last called.
func saidBy(recorder *events.FakeRecorder) []string {
	var all []string
	for len(recorder.Events) > 0 {
		all = append(all, <-recorder.Events)
	}
	return all
}

// TestTheBeginningAndTheEndOfADrainAreTold and nothing in between.
func TestTheBeginningAndTheEndOfADrainAreTold(t *testing.T) {
	condition := func(status metav1.ConditionStatus, message string) *metav1.Condition {
		return &metav1.Condition{Status: status, Message: message}
	}
	left, fewer, none := condition(metav1.ConditionFalse, "3 left"), condition(metav1.ConditionFalse, "2 left"), condition(metav1.ConditionTrue, "none left")
	for name, tc := range map[string]struct {
		before, after *metav1.Condition
		want          []string
	}{
		"it begins":                       {nil, left, []string{"Normal DrainBegun 3 left"}},
		"it begins where nothing is":      {nil, none, []string{"Normal Drained none left"}},
		"fewer are left":                  {left, fewer, nil},
		"it ends":                         {fewer, none, []string{"Normal Drained none left"}},
		"one comes back":                  {none, left, nil},
		"it has ended, in other words":    {none, condition(metav1.ConditionTrue, "still none"), nil},
		"nobody knew, and it has ended":   {condition(metav1.ConditionUnknown, ""), none, []string{"Normal Drained none left"}},
		"nobody knew, and it has not yet": {condition(metav1.ConditionUnknown, ""), left, nil},
	} {
		recorder := events.NewFakeRecorder(10)
		(&Reconciler{Recorder: recorder}).tellTransition(east(), tc.before, tc.after)
		assert.Equal(t, tc.want, saidBy(recorder), name)
	}
}

// TestADrainThatStandsStill is complained of after each stuckAfter in which none has left, and not while replicas only wait
// for their tolerations, or none is left.
func TestADrainThatStandsStill(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	clock := testingclock.NewFakePassiveClock(noon)
	r := &Reconciler{Options: Options{StuckAfter: 10 * time.Minute}, Recorder: recorder, Clock: clock}
	report := func(left int, reasons ...string) *drain.Report {
		report := &drain.Report{Left: left}
		for _, reason := range reasons {
			report.Kinds = append(report.Kinds, drain.Kind{Reason: reason, Count: 1})
		}
		return report
	}
	s := &state{}
	for _, tc := range []struct {
		after  time.Duration
		report *drain.Report
		due    time.Duration
		told   string // none: nothing
	}{
		{0, report(2, evenkeel.LeavingUnplaceable), 10 * time.Minute, ""},
		{9 * time.Minute, report(2, evenkeel.LeavingUnplaceable), time.Minute, ""},
		{time.Minute, report(2, evenkeel.LeavingUnplaceable), 10 * time.Minute, "Warning DrainStuck no replica has left for 10m0s: "},
		{9 * time.Minute, report(2, evenkeel.LeavingUnplaceable), time.Minute, ""},
		{time.Minute, report(2, evenkeel.LeavingUnplaceable), 10 * time.Minute, "Warning DrainStuck no replica has left for 20m0s: "},
		{9 * time.Minute, report(1, evenkeel.LeavingUnplaceable), 10 * time.Minute, ""},
		{9 * time.Minute, report(1, evenkeel.LeavingTolerating), 0, ""},
		{9 * time.Minute, report(1, evenkeel.LeavingTolerating, evenkeel.LeavingPaused), 10 * time.Minute, "Warning DrainStuck no replica has left for 18m0s: "},
		{time.Minute, report(0), 0, ""},
		{time.Hour, report(0), 0, ""},
	} {
		clock.SetTime(clock.Now().Add(tc.after))
		due, err := r.watchProgress(t.Context(), east(), s, tc.report)
		require.NoError(t, err)
		assert.Equal(t, tc.due, due, "%s", clock.Now())
		told := strings.Join(saidBy(recorder), "\n")
		assert.True(t, strings.HasPrefix(told, tc.told), told)
		assert.Equal(t, tc.told == "", told == "", told)
	}
}

// TestARecordedDeletionIsWarnedOf once, while replicas hold it up.
func TestARecordedDeletionIsWarnedOf(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, modelplane.AddToScheme(scheme))
	replica := &modelplane.ModelReplica{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "chat"}, Spec: modelplane.ModelReplicaSpec{ClusterName: "east"}}
	recorder := events.NewFakeRecorder(10)
	r := &Reconciler{Recorder: recorder, Client: fake.NewClientBuilder().WithScheme(scheme).
		WithIndex(&modelplane.ModelReplica{}, indexDrain, func(o client.Object) []string { return []string{o.(*modelplane.ModelReplica).Spec.ClusterName} }).Build()}
	s, cluster := &state{}, east()
	look := func() []string {
		t.Helper()
		require.NoError(t, r.warnOfDeletion(t.Context(), cluster, s))
		return saidBy(recorder)
	}
	assert.Empty(t, look(), "nothing is recorded")
	cluster.Annotations = map[string]string{modelplane.AnnotationDeletionAttempt: "Background"}
	assert.Empty(t, look(), "no replica holds it up")
	require.NoError(t, r.Client.Create(t.Context(), replica))
	told := look()
	require.Len(t, told, 1)
	assert.Contains(t, told[0], "Warning DeletionRecorded Beware: this cluster's deletion was refused")
	assert.Empty(t, look(), "told once")
	cluster.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
	assert.Empty(t, look(), "it is being deleted")
	cluster.DeletionTimestamp = nil
	cluster.Annotations = nil
	assert.Empty(t, look())
	cluster.Annotations = map[string]string{modelplane.AnnotationDeletionAttempt: "Foreground"}
	assert.Len(t, look(), 1, "once more")
}

// TestGauges have every reason of a cluster that is being drained, zero included, and nothing of others.
func TestGauges(t *testing.T) {
	g := &gauges{drains: map[string]map[string]int{}}
	g.set("east", &drain.Report{Left: 3, Kinds: []drain.Kind{{Reason: evenkeel.LeavingMoving, Count: 2}, {Reason: evenkeel.LeavingBudget, Count: 1}}})
	g.set("west", &drain.Report{Left: 1, Kinds: []drain.Kind{{Reason: evenkeel.LeavingPaused, Count: 1}}})
	g.forget("west")
	const head = `
# HELP evenkeel_drain_replicas_left Replicas that must still leave a cluster that is being drained, by what they wait for; zero for each reason once it is drained.
# TYPE evenkeel_drain_replicas_left gauge
`
	want := func(moving, budget string) string {
		return head + `evenkeel_drain_replicas_left{cluster="east",reason="FailingToServe"} 0
evenkeel_drain_replicas_left{cluster="east",reason="Moving"} ` + moving + `
evenkeel_drain_replicas_left{cluster="east",reason="NothingFits"} 0
evenkeel_drain_replicas_left{cluster="east",reason="Paused"} 0
evenkeel_drain_replicas_left{cluster="east",reason="Tolerating"} 0
evenkeel_drain_replicas_left{cluster="east",reason="Unmanaged"} 0
evenkeel_drain_replicas_left{cluster="east",reason="WaitingForBudget"} ` + budget + "\n"
	}
	require.NoError(t, testutil.CollectAndCompare(g, strings.NewReader(want("2", "1"))))
	g.set("east", &drain.Report{})
	require.NoError(t, testutil.CollectAndCompare(g, strings.NewReader(want("0", "0"))))
	g.forget("east")
	assert.Zero(t, testutil.CollectAndCount(g))
}
