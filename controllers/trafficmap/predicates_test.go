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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/controllers/trafficmap/probe"
)

// TestServiceChanged has what a map depends on, and what would only cost.
func TestServiceChanged(t *testing.T) {
	changed := serviceChanged()
	drains := func(value string) map[string]string { return map[string]string{ome.TrafficDrainAnnotation: value} }
	for name, tc := range map[string]struct {
		before, after func(*ome.InferenceService)
		want          bool
	}{
		"nothing":            {},
		"another annotation": {after: func(s *ome.InferenceService) { s.Annotations = map[string]string{"x": "y"} }},
		"another label":      {after: func(s *ome.InferenceService) { s.Labels = map[string]string{"x": "y"} }},
		"a drain":            {after: func(s *ome.InferenceService) { s.Annotations = drains(holdA) }, want: true},
		"an empty value":     {after: func(s *ome.InferenceService) { s.Annotations = drains("") }, want: true},
		"an empty value is gone": {
			before: func(s *ome.InferenceService) { s.Annotations = drains("") },
			after:  func(s *ome.InferenceService) { s.Annotations = nil }, want: true,
		},
		"a blank in the value": {
			before: func(s *ome.InferenceService) { s.Annotations = drains("{}") },
			after:  func(s *ome.InferenceService) { s.Annotations = drains("{ }") }, want: true,
		},
		"its spec":          {after: func(s *ome.InferenceService) { s.Generation++ }, want: true},
		"where it is":       {after: func(s *ome.InferenceService) { s.Status.Placement.Candidates[0].ReadyReplicas-- }, want: true},
		"it is another one": {after: func(s *ome.InferenceService) { s.UID = "another" }, want: true},
		"it is to go":       {after: func(s *ome.InferenceService) { s.DeletionTimestamp = ptr.To(metav1.NewTime(noon)) }, want: true},
		"it becomes a copy": {after: func(s *ome.InferenceService) { s.Labels = map[string]string{ome.PlacementOriginLabel: ""} }, want: true},
		"routed by a key": {
			before: func(s *ome.InferenceService) { s.Spec.Placement = nil },
			after: func(s *ome.InferenceService) {
				s.Spec.Placement, s.Annotations = nil, map[string]string{ome.ClusterSelectorKey: "accelerator=gpu"}
			}, want: true,
		},
	} {
		before := newChat()
		if tc.before != nil {
			tc.before(before)
		}
		after := before.DeepCopy()
		if tc.after != nil {
			tc.after(after)
		}
		assert.Equal(t, tc.want, changed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}), name)
	}
}

// TestMapChanged has what this controller would put right, and what the publisher reports.
func TestMapChanged(t *testing.T) {
	changed := mapChanged()
	condition := func(kind string) func(*ome.TrafficMap) {
		return func(tm *ome.TrafficMap) {
			meta.SetStatusCondition(&tm.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Edited"})
		}
	}
	for name, tc := range map[string]struct {
		change func(*ome.TrafficMap)
		want   bool
	}{
		"nothing": {func(*ome.TrafficMap) {}, false},
		"it is published": {func(tm *ome.TrafficMap) {
			tm.Status.Published, tm.Status.GatewayRef = true, &ome.TrafficMapGatewayRef{}
		}, false},
		"Published":        {condition(ome.TrafficMapPublished), false},
		"its finalizers":   {func(tm *ome.TrafficMap) { tm.Finalizers = []string{"x"} }, false},
		"Routable":         {condition(ome.TrafficMapRoutable), true},
		"OverrideActive":   {condition(ome.TrafficMapOverrideActive), true},
		"CapacityFallback": {condition(ome.TrafficMapCapacityFallback), true},
		"InputValid":       {condition(conditionInputValid), true},
		"its spec":         {func(tm *ome.TrafficMap) { tm.Generation++ }, true},
		"its source":       {func(tm *ome.TrafficMap) { tm.Status.SourceUID = "edited" }, true},
		"its owner":        {func(tm *ome.TrafficMap) { tm.OwnerReferences = []metav1.OwnerReference{{Name: "x"}} }, true},
		"it is to go":      {func(tm *ome.TrafficMap) { tm.DeletionTimestamp = ptr.To(metav1.NewTime(noon)) }, true},
		"it is another":    {func(tm *ome.TrafficMap) { tm.UID = "another" }, true},
	} {
		before := foreignMap()
		after := before.DeepCopy()
		tc.change(after)
		assert.Equal(t, tc.want, changed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}), name)
	}
}

// TestAGateOutlivesARestart where the map speaks of exactly the target that is probed now, and else does not.
func TestAGateOutlivesARestart(t *testing.T) {
	policy := &probe.Policy{
		Path: "/health", Method: "GET", AcceptStatuses: []int32{200}, GateStatuses: []int32{503}, Period: time.Hour, Timeout: time.Second,
		FailureThreshold: 3, SuccessThreshold: 1, AllFailed: ome.DrainTraffic,
	}
	const closed = "http://127.0.0.1:1"
	for name, tc := range map[string]struct {
		change func(*ome.TrafficMap)
		want   int32
	}{
		"the same target":    {func(*ome.TrafficMap) {}, 0},
		"another policy":     {func(tm *ome.TrafficMap) { tm.Spec.Entries[0].Probe.PolicyDigest = "sha256:other" }, 2},
		"another endpoint":   {func(tm *ome.TrafficMap) { tm.Spec.Entries[0].Endpoint = "http://127.0.0.1:2" }, 2},
		"another cluster":    {func(tm *ome.TrafficMap) { tm.Spec.Entries[0].Cluster = "worker-z" }, 2},
		"of another service": {func(tm *ome.TrafficMap) { tm.Status.SourceUID = "another" }, 2},
		"no probe":           {func(tm *ome.TrafficMap) { tm.Spec.Entries[0].Probe = nil }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.change(func(isvc *ome.InferenceService) {
				for i := range isvc.Status.Placement.Candidates {
					isvc.Status.Placement.Candidates[i].Endpoint = closed
				}
			})
			s.look()
			tm := s.trafficMap()
			tm.Spec.Entries[0].Probe = &ome.TrafficMapProbe{
				PolicyDigest: policy.Digest(), Result: ome.ProbeFailing, Gated: true, ConsecutiveFailures: 7, Message: "HTTP 503",
				LastProbeTime: ptr.To(metav1.NewTime(noon)),
			}
			status := tm.Status.DeepCopy()
			tc.change(tm)
			status.SourceUID = tm.Status.SourceUID
			require.NoError(t, s.Inner.Update(t.Context(), tm))
			tm.Status = *status
			require.NoError(t, s.Inner.Status().Update(t.Context(), tm))

			s.controller.Probe = policy
			s.look()
			first := s.trafficMap().Spec.Entries[0]
			assert.Equal(t, "worker-a", first.Cluster)
			assert.Equal(t, tc.want, first.Weight)
		})
	}
}

// TestProbingEnds with the routing of the service, and with the service.
func TestProbingEnds(t *testing.T) {
	policy := &probe.Policy{Path: "/health", Method: "GET", Period: time.Hour, Timeout: time.Second, FailureThreshold: 1, SuccessThreshold: 1}
	for name, end := range map[string]func(*scene){
		"it opts out": func(s *scene) {
			s.change(func(isvc *ome.InferenceService) { isvc.Spec.Routing = &ome.RoutingSpec{Enabled: ptr.To(false)} })
		},
		"it is gone":            func(s *scene) { require.NoError(s.t, s.Inner.Delete(s.t.Context(), s.service())) },
		"probing is turned off": func(s *scene) { s.controller.Probe = nil },
		"its own probe is off": func(s *scene) {
			s.change(func(isvc *ome.InferenceService) {
				isvc.Spec.Routing = &ome.RoutingSpec{Probe: &ome.RoutingProbe{Disabled: true}}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			target := probe.Target{Owner: "chat", Cluster: "worker-a", Endpoint: "http://127.0.0.1:1", Digest: policy.Digest()}
			known := &ome.TrafficMapProbe{PolicyDigest: target.Digest, Result: ome.ProbePassing}
			s.controller.Probe = policy
			s.controller.prober.Watch(key, policy, []probe.Target{target}, func(probe.Target) *ome.TrafficMapProbe { return known })
			require.NotNil(t, s.controller.prober.Observed(key, target))
			end(s)
			_, err := s.reconcile()
			require.NoError(t, err)
			assert.Nil(t, s.controller.prober.Observed(key, target))
		})
	}
}
