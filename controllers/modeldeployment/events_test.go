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

package modeldeployment

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// TestEventsAreToldAndCounted has each event of a decision told and the end of a move counted, the steps of moves only where
// they are wanted, and what stays as it is told once.
func TestEventsAreToldAndCounted(t *testing.T) {
	recorder := events.NewFakeRecorder(100)
	r := &Reconciler{Recorder: recorder, gauges: &gauges{
		moves: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "moves"}, []string{"cause", "result"}),
	}}
	said := func() []string {
		var all []string
		for len(recorder.Events) > 0 {
			all = append(all, <-recorder.Events)
		}
		return all
	}
	d := deployment(nil)
	p := placementWith("chat-0-1", "p", "1")
	unreadable := replicas.Event{Warning: true, Reason: replicas.EventInvalidTolerationSeconds, Message: "no JSON"}
	decided := []replicas.Event{
		{Reason: replicas.EventMoved, Message: "it moved", Cause: evenkeel.CauseTaint},
		{Warning: true, Reason: replicas.EventUnplaceable, Message: "it left", Cause: evenkeel.CausePool},
		{Warning: true, Reason: replicas.EventUnplaceable, Message: "it left", Cause: evenkeel.CausePool, Placement: p},
		unreadable,
	}
	r.emit(d, decided)
	assert.Equal(t, []string{
		"Normal ReplicaMoved it moved", "Warning ReplicaUnplaceable it left", "Warning ReplicaUnplaceable it left", "Warning InvalidTolerationSeconds no JSON",
	}, said())
	assert.InDelta(t, 1, testutil.ToFloat64(r.gauges.moves.WithLabelValues(evenkeel.CauseTaint, "moved")), 0)
	assert.InDelta(t, 1, testutil.ToFloat64(r.gauges.moves.WithLabelValues(evenkeel.CausePool, "unplaceable")), 0)

	r.emit(d, []replicas.Event{unreadable})
	assert.Empty(t, said(), "nobody has changed it")
	unreadable.Message = "no object"
	r.emit(d, []replicas.Event{unreadable})
	assert.Len(t, said(), 1)
	d.UID = "another"
	r.emit(d, []replicas.Event{unreadable})
	assert.Len(t, said(), 1)

	steps := []replicas.Step{{UID: "p", Placement: "chat-0-1", Name: evenkeel.StepPlacing, From: "east", Cause: evenkeel.CauseTaint}}
	r.emitSteps(d, steps)
	assert.Empty(t, said())
	r.StepEvents = true
	r.emitSteps(d, steps)
	assert.Equal(t, []string{"Normal StepPlacing from east: UntoleratedTaint"}, said())
}

// TestAPolicyThatCannotBeReadIsTold once, until it says something else; a policy of another namespace or one that can be read
// is not.
func TestAPolicyThatCannotBeReadIsTold(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, evenkeel.AddToScheme(scheme))
	policy := func(namespace, value string) *evenkeel.DisruptionPolicy {
		p := &evenkeel.DisruptionPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "careful"}}
		p.Spec.Selector = &metav1.LabelSelector{}
		p.Spec.MaxUnavailable = ptr.To(intstr.FromString(value))
		return p
	}
	recorder := events.NewFakeRecorder(100)
	bad := policy("team", "some")
	r := &Reconciler{Recorder: recorder, Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(bad, policy("other", "none")).Build()}
	look := func() {
		t.Helper()
		_, err := r.policy(t.Context(), deployment(nil))
		require.NoError(t, err)
	}
	look()
	require.Len(t, recorder.Events, 1)
	said := <-recorder.Events
	assert.Contains(t, said, "Warning InvalidDisruptionPolicy DisruptionPolicy careful: ")
	assert.Contains(t, said, ". It does not count until it is corrected")
	look()
	assert.Empty(t, recorder.Events, "told once")
	bad.Spec.MaxUnavailable = ptr.To(intstr.FromString("few"))
	require.NoError(t, r.Client.Update(t.Context(), bad))
	look()
	require.Len(t, recorder.Events, 1)
	<-recorder.Events
	bad.Spec.MaxUnavailable = ptr.To(intstr.FromString("50%"))
	require.NoError(t, r.Client.Update(t.Context(), bad))
	look()
	assert.Empty(t, recorder.Events)
}
