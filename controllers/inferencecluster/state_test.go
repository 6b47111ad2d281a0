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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/drain"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestOwnWritesCountUntilTheCacheHasThem(t *testing.T) {
	cached := &metav1.Condition{Message: "old"}
	s := &state{}
	assert.Same(t, cached, s.current(cached, noon))
	s.told, s.toldAt = &metav1.Condition{Message: "new"}, noon
	assert.Same(t, s.told, s.current(cached, noon.Add(catchUp-1)))
	assert.Same(t, cached, s.current(cached, noon.Add(catchUp)), "somebody may have changed it since")
	assert.Nil(t, s.current(nil, noon.Add(catchUp)))
}

func TestProgress(t *testing.T) {
	s := &state{}
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	assert.Equal(t, at(-3), s.progress(5, at(0), at(-3)), "what was known when the process began")
	assert.Equal(t, at(-3), s.progress(5, at(9), at(9)))
	s.complained = at(10)
	assert.Equal(t, at(10), s.progress(5, at(19), at(19)), "the next complaint is due as long after the last")
	assert.Equal(t, at(21), s.progress(4, at(21), at(21)), "one has left")
	assert.Equal(t, at(21), s.progress(4, at(22), at(22)))
	assert.Equal(t, at(23), s.progress(5, at(23), at(23)), "one more has come")
}

// TestARestartDoesNotHideThatADrainStandsStill has a process look at a drain that another one has begun.
func TestARestartDoesNotHideThatADrainStandsStill(t *testing.T) {
	moved := func(name, cluster string, at time.Time) *evenkeel.ReplicaPlacement {
		return &evenkeel.ReplicaPlacement{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name},
			Status: evenkeel.ReplicaPlacementStatus{
				Assignment: &evenkeel.Assignment{ClusterName: cluster},
				Conditions: []metav1.Condition{{Type: evenkeel.ConditionMoved, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}},
			},
		}
	}
	scheme := runtime.NewScheme()
	require.NoError(t, evenkeel.AddToScheme(scheme))
	report := &drain.Report{Left: 1, Kinds: []drain.Kind{{Reason: evenkeel.LeavingUnplaceable, Count: 1}}}
	for name, tc := range map[string]struct {
		begun      time.Time
		placements []client.Object
		wantDue    time.Duration
		wantEvent  bool
	}{
		"a drain that begins":          {wantDue: 10 * time.Minute},
		"begun a while ago":            {begun: noon.Add(-4 * time.Minute), wantDue: 6 * time.Minute},
		"begun too long ago":           {begun: noon.Add(-time.Hour), wantDue: 10 * time.Minute, wantEvent: true},
		"one has left since":           {begun: noon.Add(-time.Hour), placements: []client.Object{moved("a", "east", noon.Add(-30*time.Minute)), moved("b", "east", noon.Add(-7*time.Minute))}, wantDue: 3 * time.Minute},
		"one has left another cluster": {begun: noon.Add(-time.Hour), placements: []client.Object{moved("a", "west", noon.Add(-time.Minute))}, wantDue: 10 * time.Minute, wantEvent: true},
		"one had left before":          {begun: noon.Add(-2 * time.Minute), placements: []client.Object{moved("a", "east", noon.Add(-time.Hour))}, wantDue: 8 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(1)
			r := &Reconciler{
				Options:  Options{StuckAfter: 10 * time.Minute},
				Client:   fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.placements...).Build(),
				Recorder: recorder,
				Clock:    testingclock.NewFakePassiveClock(noon),
			}
			cluster := &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{Name: "east"}}
			if !tc.begun.IsZero() {
				cluster.Status.Conditions = []metav1.Condition{{Type: evenkeel.ConditionDrained, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(tc.begun)}}
			}
			due, err := r.watchProgress(t.Context(), cluster, &state{}, report)
			require.NoError(t, err)
			assert.Equal(t, tc.wantDue, due)
			assert.Equal(t, tc.wantEvent, len(recorder.Events) == 1)
		})
	}
}

func TestStateIsOfOneCluster(t *testing.T) {
	r := &Reconciler{drains: map[types.NamespacedName]*state{}, gauges: &gauges{drains: map[string]map[string]int{}}}
	c := &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{Name: "east", UID: "1"}}
	s := r.stateOf(c)
	s.left, s.deletion = 3, "warned"
	assert.Same(t, s, r.stateOf(c))
	s.end()
	assert.Equal(t, state{uid: "1", deletion: "warned"}, *s)
	c.UID = "2"
	assert.Equal(t, state{uid: "2"}, *r.stateOf(c), "another cluster of the name")
	r.forget(types.NamespacedName{Name: "east"})
	assert.Empty(t, r.drains)
}

func TestShortest(t *testing.T) {
	assert.Equal(t, 2*time.Second, shortest(0, 3*time.Second, 2*time.Second))
	assert.Zero(t, shortest(0, 0))
}
