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

package trafficmap

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/controllers/internal/testhub"
	"github.com/evenkeel-io/evenkeel/controllers/trafficmap/probe"
)

var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	key  = client.ObjectKey{Namespace: "prod", Name: "chat"}
)

// scene is a hub with the service chat on two clusters.
type scene struct {
	t *testing.T
	*testhub.Hub
	controller *Reconciler
}

func newScene(t *testing.T, objects ...client.Object) *scene {
	t.Helper()
	hub, err := testhub.New(nil, append(objects, newChat())...)
	require.NoError(t, err)
	return &scene{t: t, Hub: hub, controller: &Reconciler{
		Client:   hub.Client,
		Recorder: hub.Recorder,
		Clock:    testingclock.NewFakePassiveClock(noon),
		prober:   probe.NewProber(t.Context(), func(types.NamespacedName) {}),
	}}
}

func newChat() *ome.InferenceService {
	return &ome.InferenceService{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "chat", Generation: 3},
		Spec:       ome.InferenceServiceSpec{Placement: &ome.PlacementSpec{Mode: ome.PlacementAll, ClusterSelector: "accelerator=gpu"}},
		Status: ome.InferenceServiceStatus{Placement: &ome.PlacementStatus{Phase: ome.PlacementPlaced, Candidates: []ome.PlacementCandidate{
			candidate("worker-a", 4), candidate("worker-b", 2),
		}}},
	}
}

func candidate(cluster string, replicas int32) ome.PlacementCandidate {
	return ome.PlacementCandidate{
		Cluster: cluster, Phase: ome.CandidateAdmitted, Endpoint: "https://" + cluster + ".example.com",
		AdmittedReplicas: replicas, ReadyReplicas: replicas,
	}
}

func foreignMap() *ome.TrafficMap {
	return &ome.TrafficMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "foreign"}}
}

func (s *scene) service() *ome.InferenceService {
	s.t.Helper()
	isvc := &ome.InferenceService{}
	require.NoError(s.t, s.Inner.Get(s.t.Context(), key, isvc))
	return isvc
}

// change changes the service: its spec and annotations, then its status.
func (s *scene) change(change func(*ome.InferenceService)) {
	s.t.Helper()
	isvc := s.service()
	change(isvc)
	status := isvc.Status.DeepCopy()
	require.NoError(s.t, s.Inner.Update(s.t.Context(), isvc))
	isvc.Status = *status
	require.NoError(s.t, s.Inner.Status().Update(s.t.Context(), isvc))
}

// drain sets the annotation; "-" removes it.
func (s *scene) drain(value string) {
	s.t.Helper()
	s.change(func(isvc *ome.InferenceService) {
		isvc.Annotations = map[string]string{ome.TrafficDrainAnnotation: value}
		if value == "-" {
			isvc.Annotations = nil
		}
	})
}

func (s *scene) trafficMap() *ome.TrafficMap {
	s.t.Helper()
	tm := &ome.TrafficMap{}
	require.NoError(s.t, client.IgnoreNotFound(s.Inner.Get(s.t.Context(), key, tm)))
	return tm
}

func (s *scene) reconcile() (ctrl.Result, error) {
	return s.controller.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: key})
}

func (s *scene) look() {
	s.t.Helper()
	result, err := s.reconcile()
	require.NoError(s.t, err)
	require.Zero(s.t, result)
}

// lookInVain has the controller give up until something changes.
func (s *scene) lookInVain(why string) {
	s.t.Helper()
	_, err := s.reconcile()
	require.ErrorContains(s.t, err, why)
	require.ErrorIs(s.t, err, reconcile.TerminalError(nil), "it is not tried again before something changes")
}

func byRouting(status, override string) string {
	return "status of prod/chat by ome-trafficmap-routing:  Routable=" + status + " CapacityFallback=False/CapacityPollingDisabled OverrideActive=" + override
}

const (
	holdA  = `{"a":{"cluster":"worker-a","reason":"r"}}`
	holdAA = `{"a":{"cluster":"worker-a","reason":"r"},"a2":{"cluster":"worker-a","reason":"r"}}`
	holdAB = `{"a":{"cluster":"worker-a","reason":"r"},"b":{"cluster":"worker-b","reason":"r"}}`
)

// TestWhatIsWrittenAndTold follows one service: each change is written once and told once.
func TestWhatIsWrittenAndTold(t *testing.T) {
	s := newScene(t)
	step := func(what string, writes, told []string) {
		t.Helper()
		s.look()
		assert.Equal(t, writes, s.Took(), what)
		assert.Equal(t, told, s.Events(), what)
		s.look()
		assert.Empty(t, s.Took(), "%s: nothing is written twice", what)
		assert.Empty(t, s.Events(), "%s: nor told", what)
	}
	step("a new map", []string{"create TrafficMap prod/chat", byRouting("True/Routable", "False/NoOverrides")}, nil)
	s.drain(holdA)
	update := "update TrafficMap prod/chat"
	step("a drain", []string{update, byRouting("True/Routable", "True/OverridesApplied")},
		[]string{`Normal TrafficDrained Cluster worker-a is held at weight 0 by drain "a"`})
	s.drain(holdAA)
	step("one more of a cluster that is held", []string{update, byRouting("True/Routable", "True/OverridesApplied")}, nil)
	s.drain(holdAB)
	step("all are held", []string{update, byRouting("False/TrafficDrain", "True/OverridesApplied")}, []string{
		`Normal TrafficDrained Cluster worker-b is held at weight 0 by drain "b"`,
		"Warning NotRoutable Nobody serves: manual traffic-drain overrides set all 2 route arm(s) to zero",
	})
	s.change(func(isvc *ome.InferenceService) { isvc.Status.Placement.Candidates[1].ReadyReplicas = 1 })
	step("it stays dark", []string{update, byRouting("False/TrafficDrain", "True/OverridesApplied")}, nil)
	s.drain("-")
	step("none is held", []string{update, byRouting("True/Routable", "False/NoOverrides")}, []string{
		"Normal TrafficUndrained Cluster worker-a is not held any more and has weight 4",
		"Normal TrafficUndrained Cluster worker-b is not held any more and has weight 1",
	})
	s.change(func(isvc *ome.InferenceService) {
		for i := range isvc.Status.Placement.Candidates {
			isvc.Status.Placement.Candidates[i].ReadyReplicas = 0
		}
	})
	step("none is ready", []string{update, byRouting("False/AllHomesUnready", "False/NoOverrides")},
		[]string{"Warning NotRoutable Nobody serves: 2 home(s) addressable but none has ready replicas; all route weights are zero"})
}

// TestANewMapThatIsDark is nothing new: a service begins so.
func TestANewMapThatIsDark(t *testing.T) {
	s := newScene(t)
	s.change(func(isvc *ome.InferenceService) { isvc.Status.Placement = nil })
	s.look()
	assert.True(t, meta.IsStatusConditionFalse(s.trafficMap().Status.Conditions, ome.TrafficMapRoutable))
	assert.Empty(t, s.Events())
}

const byInput = "status of prod/chat by evenkeel-trafficmap: "

// TestAFrozenMap stays whole, says why once for each reason, and follows again.
func TestAFrozenMap(t *testing.T) {
	s := newScene(t)
	s.drain(holdA)
	s.look()
	good := s.trafficMap()
	s.Took()
	s.Events()

	s.drain("[]")
	frozen := []string{byInput + " evenkeel.io/InputValid=False/InvalidTrafficDrain"}
	s.lookInVain("parse ome.io/traffic-drain: ")
	assert.Equal(t, frozen, s.Took())
	told := s.Events()
	require.Len(t, told, 1)
	assert.Contains(t, told[0], "Warning TrafficMapFrozen The last valid map is kept: parse ome.io/traffic-drain: ")
	s.change(func(isvc *ome.InferenceService) { isvc.Status.Placement.Candidates[0].ReadyReplicas = 1 })
	s.lookInVain("parse ome.io/traffic-drain: ")
	assert.Empty(t, s.Took())
	assert.Empty(t, s.Events(), "said once")
	now := s.trafficMap()
	assert.Equal(t, good.Spec, now.Spec)
	for _, c := range good.Status.Conditions {
		assert.Equal(t, &c, meta.FindStatusCondition(now.Status.Conditions, c.Type), "conditions stay as the map does")
	}

	s.drain("{")
	s.lookInVain("parse ome.io/traffic-drain: ")
	assert.Equal(t, frozen, s.Took(), "for another reason")
	assert.Len(t, s.Events(), 1)

	s.drain(holdA)
	s.change(func(isvc *ome.InferenceService) {
		isvc.Spec.Routing = &ome.RoutingSpec{CapacityFactors: map[string]resource.Quantity{"worker-b": resource.MustParse("-1")}}
	})
	s.lookInVain("validate routing policy: ")
	assert.Equal(t, []string{byInput + " evenkeel.io/InputValid=False/InvalidRouting"}, s.Took())
	assert.Len(t, s.Events(), 1)

	s.change(func(isvc *ome.InferenceService) { isvc.Spec.Routing = nil })
	s.look()
	assert.Equal(t, []string{"update TrafficMap prod/chat", byRouting("True/Routable", "True/OverridesApplied"), byInput + " evenkeel.io/InputValid=True/Valid"}, s.Took())
	s.look()
	assert.Empty(t, s.Took())
	assert.Empty(t, s.Events())
}

// TestSecretsAreNotRepeated has neither the log nor an event nor the map show what was written into the annotation.
func TestSecretsAreNotRepeated(t *testing.T) {
	s := newScene(t)
	s.look()
	const secret = "sk-123456789012345678901234"
	s.drain(`{"a":{"cluster":"worker-a","` + secret + `":"r"}}`)
	_, err := s.reconcile()
	require.ErrorContains(t, err, "parse ome.io/traffic-drain: ")
	said := s.Events()
	require.Len(t, said, 1)
	for _, text := range append(said, err.Error(), meta.FindStatusCondition(s.trafficMap().Status.Conditions, conditionInputValid).Message) {
		assert.NotContains(t, text, secret)
	}
}

// TestAMapOfSomebodyElse is left alone, whatever the service is like.
func TestAMapOfSomebodyElse(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*ome.InferenceService)
		want   string // none: there is nothing to say
		event  string
	}{
		"all is well": {
			func(*ome.InferenceService) {}, `TrafficMap prod/chat exists but is not controlled by InferenceService UID "chat"`, "Warning TrafficMapNameTaken ",
		},
		"the drains are bad": {
			func(isvc *ome.InferenceService) { isvc.Annotations = map[string]string{ome.TrafficDrainAnnotation: ""} },
			"parse ome.io/traffic-drain: ", "Warning TrafficMapFrozen No TrafficMap is made: ",
		},
		"it opts out": {func(isvc *ome.InferenceService) { isvc.Spec.Routing = &ome.RoutingSpec{Enabled: ptr.To(false)} }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, foreignMap())
			s.change(tc.change)
			if tc.want == "" {
				s.look()
				assert.Empty(t, s.Events())
			} else {
				s.lookInVain(tc.want)
				told := s.Events()
				require.Len(t, told, 1)
				assert.Contains(t, told[0], tc.event)
			}
			assert.Empty(t, s.Took())
			assert.EqualValues(t, "foreign", s.trafficMap().UID)
		})
	}
}

// TestAMapThatGoes is not written to; the service that opts out has it go once.
func TestAMapThatGoes(t *testing.T) {
	s := newScene(t)
	s.look()
	tm := s.trafficMap()
	tm.Finalizers = []string{"ome.io/trafficmap-publisher"}
	require.NoError(t, s.Inner.Update(t.Context(), tm))
	s.Took()
	s.change(func(isvc *ome.InferenceService) { isvc.Spec.Routing = &ome.RoutingSpec{Enabled: ptr.To(false)} })
	s.look()
	assert.Equal(t, []string{"delete TrafficMap prod/chat"}, s.Took())
	s.look()
	assert.Empty(t, s.Took())
	s.change(func(isvc *ome.InferenceService) { isvc.Spec.Routing = nil })
	s.drain(holdA)
	s.look()
	assert.Empty(t, s.Took(), "its end is awaited")
	tm = s.trafficMap()
	tm.Finalizers = nil
	require.NoError(t, s.Inner.Update(t.Context(), tm))
	s.look()
	assert.Equal(t, "create TrafficMap prod/chat", s.Took()[0])
}

// TestAMapMadeAnewMeanwhile is not deleted in its predecessor's place.
func TestAMapMadeAnewMeanwhile(t *testing.T) {
	s := newScene(t)
	s.look()
	cached := s.trafficMap()
	require.NoError(t, s.Inner.Delete(t.Context(), cached.DeepCopy()))
	again := cached.DeepCopy()
	again.UID, again.ResourceVersion = "again", ""
	require.NoError(t, s.Inner.Create(t.Context(), again))
	err := s.controller.remove(t.Context(), s.service(), cached)
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	assert.EqualValues(t, "again", s.trafficMap().UID)
}

// TestTheCacheIsBehind is looked at again soon, and is nobody's fault.
func TestTheCacheIsBehind(t *testing.T) {
	for name, answer := range map[string]error{
		"somebody has changed it": apierrors.NewConflict(ome.Resource("trafficmaps"), "chat", errors.New("it has changed")),
		"it is there already":     apierrors.NewAlreadyExists(ome.Resource("trafficmaps"), "chat"),
	} {
		s := newScene(t)
		s.Before = func(string) error { return answer }
		result, err := s.reconcile()
		require.NoError(t, err, name)
		assert.Equal(t, staleRetry, result.RequeueAfter, name)
	}
	s := newScene(t)
	s.Before = func(string) error { return errors.New("down") }
	_, err := s.reconcile()
	require.ErrorContains(t, err, "down")
	require.NotErrorIs(t, err, reconcile.TerminalError(nil), "it is tried again")
	assert.Empty(t, s.Events(), "what was not written is not told")
}

// TestTwoManagersShareAStatus has the routing controller repair its own part, in one write, and leave the publisher's.
func TestTwoManagersShareAStatus(t *testing.T) {
	for name, edit := range map[string]func(*ome.TrafficMapStatus){
		"the source": func(status *ome.TrafficMapStatus) { status.SourceUID = "edited" },
		"a condition": func(status *ome.TrafficMapStatus) {
			meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: ome.TrafficMapRoutable, Status: metav1.ConditionFalse, Reason: "Edited"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.look()
			tm := s.trafficMap()
			theirs := metav1.Condition{Type: ome.TrafficMapPublished, Status: metav1.ConditionTrue, Reason: "Published", LastTransitionTime: metav1.NewTime(noon)}
			tm.Status.Published = true
			meta.SetStatusCondition(&tm.Status.Conditions, theirs)
			edit(&tm.Status)
			require.NoError(t, s.Inner.Status().Update(t.Context(), tm))
			s.Took()
			s.look()
			assert.Equal(t, []string{byRouting("True/Routable", "False/NoOverrides")}, s.Took())
			tm = s.trafficMap()
			assert.EqualValues(t, "chat", tm.Status.SourceUID)
			assert.Equal(t, "Routable", meta.FindStatusCondition(tm.Status.Conditions, ome.TrafficMapRoutable).Reason)
			assert.True(t, tm.Status.Published)
			assert.NotNil(t, meta.FindStatusCondition(tm.Status.Conditions, ome.TrafficMapPublished))
		})
	}
}

// TestCapacityIsNotPolled has the map never claim what this controller does not do.
func TestCapacityIsNotPolled(t *testing.T) {
	s := newScene(t)
	s.change(func(isvc *ome.InferenceService) {
		isvc.Spec.Routing = &ome.RoutingSpec{Capacity: &ome.RoutingCapacity{Path: "/capacity"}}
	})
	s.look()
	assert.Equal(t, "CapacityPollingDisabled", meta.FindStatusCondition(s.trafficMap().Status.Conditions, ome.TrafficMapCapacityFallback).Reason)
}
