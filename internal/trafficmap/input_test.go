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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

func candidate(cluster string, admitted, ready int32) v1beta1.PlacementCandidate {
	return v1beta1.PlacementCandidate{
		Cluster: cluster, Phase: v1beta1.CandidateAdmitted, Endpoint: "https://" + cluster + ".example.com",
		AdmittedReplicas: admitted, ReadyReplicas: ready,
	}
}

// chat is the service of the guide: placed on two clusters of the same capacity.
func chat() *v1beta1.InferenceService {
	return &v1beta1.InferenceService{
		ObjectMeta: metav1.ObjectMeta{Name: "chat", Namespace: "prod", Generation: 4},
		Spec: v1beta1.InferenceServiceSpec{
			Placement: &v1beta1.PlacementSpec{Mode: v1beta1.PlacementAll, Requirements: "gpu"},
		},
		Status: v1beta1.InferenceServiceStatus{
			Placement: &v1beta1.PlacementStatus{
				Phase:      v1beta1.PlacementPlaced,
				Candidates: []v1beta1.PlacementCandidate{candidate("worker-b", 2, 2), candidate("worker-a", 2, 2)},
			},
		},
	}
}

func compute(t *testing.T, isvc *v1beta1.InferenceService) Table {
	t.Helper()
	input, err := ServiceInput(isvc, nil, Defaults{})
	require.NoError(t, err)
	return Compute(input)
}

// TestGuide follows the guide: drain, look, undrain.
func TestGuide(t *testing.T) {
	isvc := chat()
	assert.Equal(t, []int32{1, 1}, weightsOf(compute(t, isvc)))

	added, err := trafficdrain.Add(trafficdrain.ValueOf(isvc.Annotations),
		trafficdrain.Drain{ID: "maintenance-a", Cluster: "worker-a", Reason: "planned maintenance"})
	require.NoError(t, err)
	isvc.Annotations = map[string]string{trafficdrain.AnnotationKey: added.Value.Raw}
	drained := compute(t, isvc)
	assert.Equal(t, []int32{0, 1}, weightsOf(drained))
	assert.Equal(t, []string{"maintenance-a"}, drained.Entries[0].DrainRefs)
	assert.Nil(t, drained.Entries[1].DrainRefs)
	spec := drained.Spec(isvc)
	assert.Equal(t, "chat", spec.Service)
	assert.Equal(t, v1beta1.PlacementAll, spec.Mode)
	assert.Equal(t, int64(4), spec.ObservedISVCGeneration)
	assert.Equal(t, drained.Entries, spec.Entries)

	isvc.Annotations = nil
	assert.Equal(t, []int32{1, 1}, weightsOf(compute(t, isvc)))
}

func TestServiceInputSelectsHomes(t *testing.T) {
	isvc := chat()
	admitting := candidate("admitting", 1, 1)
	admitting.Phase = v1beta1.CandidateAdmitting
	noEndpoint := candidate("no-endpoint", 1, 1)
	noEndpoint.Endpoint = ""
	noHost := candidate("no-host", 1, 1)
	noHost.Endpoint = "worker.example.com"
	badURL := candidate("bad-url", 1, 1)
	badURL.Endpoint = "https://%zz"
	onlyPort := candidate("only-port", 1, 1)
	onlyPort.Endpoint = "https://:8443/v1"
	leaving := candidate("leaving", 1, 1)
	leaving.Allocation = &v1beta1.CandidateAllocation{DrainRequested: true}
	isvc.Status.Placement.Candidates = append(isvc.Status.Placement.Candidates, admitting, noEndpoint, noHost, badURL, onlyPort, leaving)
	isvc.Spec.Routing = &v1beta1.RoutingSpec{CapacityFactors: map[string]resource.Quantity{
		"worker-a": resource.MustParse("2"), "absent": resource.MustParse("3"),
	}}

	probe := &v1beta1.TrafficMapProbe{Result: v1beta1.ProbePassing}
	input, err := ServiceInput(isvc, map[string]Observation{
		"worker-b": {Probe: probe, Reported: ptr.To[int32](1), FallbackReason: "why"},
		"absent":   {Reported: ptr.To[int32](9)},
	}, Defaults{})
	require.NoError(t, err)
	require.Len(t, input.Homes, 3)
	assert.Equal(t, "leaving", input.Homes[0].Cluster)
	assert.True(t, input.Homes[0].PlanDrain)
	assert.Equal(t, "worker-a", input.Homes[1].Cluster)
	assert.Equal(t, "2", input.Homes[1].Factor.String())
	assert.Equal(t, Home{
		Cluster: "worker-b", Endpoint: "https://worker-b.example.com", Admitted: 2, Ready: 2,
		Probe: probe, Reported: ptr.To[int32](1), FallbackReason: "why",
	}, input.Homes[2])
}

func TestServiceInputBeforePlacement(t *testing.T) {
	for _, phase := range []v1beta1.PlacementPhase{"", v1beta1.PlacementPending, v1beta1.PlacementAdmitting, v1beta1.PlacementRacing, v1beta1.PlacementFailed} {
		isvc := chat()
		isvc.Status.Placement.Phase = phase
		table := compute(t, isvc)
		assert.Empty(t, table.Entries, phase)
		assert.Equal(t, v1beta1.ReasonNotPlaced, table.Conditions(1)[0].Reason, phase)
	}
	isvc := chat()
	isvc.Status.Placement = nil
	assert.Equal(t, v1beta1.ReasonNotPlaced, compute(t, isvc).Conditions(1)[0].Reason)

	isvc = chat()
	isvc.Status.Placement.Candidates = nil
	assert.Equal(t, v1beta1.ReasonNoAddressableHome, compute(t, isvc).Conditions(1)[0].Reason)
}

func TestServiceInputKeepsOneOfTwoEqualClusters(t *testing.T) {
	isvc := chat()
	isvc.Status.Placement.Candidates = []v1beta1.PlacementCandidate{candidate("a", 4, 1), candidate("a", 2, 9), candidate("a", 2, 3)}
	input, err := ServiceInput(isvc, nil, Defaults{})
	require.NoError(t, err)
	require.Len(t, input.Homes, 1)
	assert.Equal(t, int32(2), input.Homes[0].Admitted)
	assert.Equal(t, int32(3), input.Homes[0].Ready)
}

func TestServiceInputRefusals(t *testing.T) {
	isvc := chat()
	isvc.Annotations = map[string]string{trafficdrain.AnnotationKey: `{"a":{"cluster":"worker-a"}}`}
	_, err := ServiceInput(isvc, nil, Defaults{})
	assert.EqualError(t, err, `parse ome.io/traffic-drain: override "a" reason must be non-empty`)
	var refusal *trafficdrain.Refusal
	assert.True(t, errors.As(err, &refusal))

	isvc.Spec.Routing = &v1beta1.RoutingSpec{CapacityFactors: map[string]resource.Quantity{"worker-b": resource.MustParse("0")}}
	_, err = ServiceInput(isvc, nil, Defaults{})
	assert.EqualError(t, err, `validate routing policy: spec.routing.capacityFactors["worker-b"] must be positive, got "0"`,
		"routing is judged before drains")
}

func TestServiceInputOverridesDefaults(t *testing.T) {
	defaults := Defaults{AllFailed: v1beta1.DrainTraffic, Polling: true}
	for _, tc := range []struct {
		name    string
		routing *v1beta1.RoutingSpec
		policy  v1beta1.AllFailedPolicy
		polling bool
	}{
		{"no routing", nil, v1beta1.DrainTraffic, true},
		{"nothing overridden", &v1beta1.RoutingSpec{}, v1beta1.DrainTraffic, true},
		{"own probe", &v1beta1.RoutingSpec{Probe: &v1beta1.RoutingProbe{AllFailedPolicy: v1beta1.PreserveTraffic}}, v1beta1.PreserveTraffic, true},
		{"no probe", &v1beta1.RoutingSpec{Probe: &v1beta1.RoutingProbe{Disabled: true}}, "", true},
		{"no polling", &v1beta1.RoutingSpec{Capacity: &v1beta1.RoutingCapacity{Disabled: true}}, v1beta1.DrainTraffic, false},
		{"own polling", &v1beta1.RoutingSpec{Capacity: &v1beta1.RoutingCapacity{Path: "/"}}, v1beta1.DrainTraffic, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			isvc := chat()
			isvc.Spec.Routing = tc.routing
			input, err := ServiceInput(isvc, nil, defaults)
			require.NoError(t, err)
			assert.Equal(t, tc.policy, input.AllFailed)
			assert.Equal(t, tc.polling, input.Polling)
		})
	}
}

func TestMapInput(t *testing.T) {
	for _, tc := range []struct {
		name   string
		input  Input
		policy v1beta1.AllFailedPolicy
	}{
		{"plain", Input{Homes: []Home{home("a", 7, 7), home("b", 3, 3, factor("2"))}}, v1beta1.PreserveTraffic},
		{"lowered by a report", Input{Homes: []Home{home("a", 7, 7, reported(2)), home("b", 3, 3)}}, v1beta1.PreserveTraffic},
		{"gated and drained", Input{Homes: []Home{home("a", 7, 7, gated), home("b", 3, 3)}, Drains: drain("m", "b")}, v1beta1.PreserveTraffic},
		{"all gated, preserved", Input{Homes: []Home{home("a", 7, 7, gated), home("b", 3, 3, gated)}, Drains: drain("m", "b")}, v1beta1.PreserveTraffic},
		{"all gated, policy Drain", Input{Homes: []Home{home("a", 7, 7, gated), home("b", 3, 3, gated)}, AllFailed: v1beta1.DrainTraffic, Drains: drain("m", "b")}, v1beta1.DrainTraffic},
		{"all gated, all drained", Input{Homes: []Home{home("a", 7, 7, gated), home("b", 3, 3, gated)}, Drains: drain("m", "a", "n", "b")}, v1beta1.PreserveTraffic},
		{"one unready", Input{Homes: []Home{home("a", 7, 0), home("b", 3, 3)}}, v1beta1.PreserveTraffic},
		{"all gated, no capacity", Input{Homes: []Home{home("a", 7, 0, gated)}, AllFailed: v1beta1.PreserveTraffic}, v1beta1.PreserveTraffic},
		{"plan drain", Input{Homes: []Home{home("a", 7, 7, planDrain), home("b", 3, 3)}}, v1beta1.PreserveTraffic},
		{"plan drain among gated homes that are preserved", Input{Homes: []Home{home("a", 7, 7, gated, planDrain), home("b", 3, 3, gated)}}, v1beta1.PreserveTraffic},
		{"plan drain of a gated home", Input{Homes: []Home{home("a", 7, 7, gated, planDrain), home("b", 3, 3)}}, v1beta1.PreserveTraffic},
		{"nothing", Input{}, v1beta1.PreserveTraffic},
	} {
		t.Run(tc.name, func(t *testing.T) {
			written := Compute(tc.input)
			got := MapInput(&v1beta1.TrafficMap{Spec: written.Spec(chat())}, nil)
			assert.Equal(t, tc.policy, got.AllFailed)
			assert.Equal(t, len(tc.input.Homes) > 0, got.Placed)
			assert.Empty(t, got.Drains)
			for i, h := range got.Homes {
				assert.True(t, !h.PlanDrain || tc.input.Homes[i].PlanDrain, "the plan is not blamed for %s", h.Cluster)
			}

			got.Drains = tc.input.Drains
			again := Compute(got)
			assert.Equal(t, weightsOf(written), weightsOf(again))
			assert.Equal(t, written.Undrained, again.Undrained)
		})
	}
}

func TestMapInputTakesTheServicesPolicy(t *testing.T) {
	isvc := chat()
	isvc.Spec.Routing = &v1beta1.RoutingSpec{Probe: &v1beta1.RoutingProbe{AllFailedPolicy: v1beta1.DrainTraffic}}
	tm := &v1beta1.TrafficMap{Spec: v1beta1.TrafficMapSpec{Entries: []v1beta1.TrafficMapEntry{{Cluster: "a", Weight: 1}}}}
	assert.Equal(t, v1beta1.DrainTraffic, MapInput(tm, isvc).AllFailed)
	assert.Equal(t, v1beta1.PreserveTraffic, MapInput(tm, chat()).AllFailed)
}

func TestSpecMode(t *testing.T) {
	isvc := chat()
	isvc.Spec.Placement.Mode = ""
	assert.Equal(t, v1beta1.PlacementSingle, Table{}.Spec(isvc).Mode)
	isvc.Spec.Placement = nil
	assert.Equal(t, v1beta1.PlacementSingle, Table{}.Spec(isvc).Mode)
}

func TestEligible(t *testing.T) {
	for _, tc := range []struct {
		name        string
		placement   *v1beta1.PlacementSpec
		annotations map[string]string
		want        bool
	}{
		{"nothing", nil, nil, false},
		{"requirements", &v1beta1.PlacementSpec{Requirements: "gpu"}, nil, true},
		{"selector", &v1beta1.PlacementSpec{ClusterSelector: "zone=a"}, nil, true},
		{"mode alone", &v1beta1.PlacementSpec{Mode: v1beta1.PlacementAll}, nil, false},
		{"legacy policy alone", &v1beta1.PlacementSpec{Policy: v1beta1.PlacementPolicyLegacy}, nil, false},
		{"newer policy", &v1beta1.PlacementSpec{Policy: v1beta1.PlacementPolicyClusterAffinity}, nil, true},
		{"affinity", &v1beta1.PlacementSpec{ClusterAffinity: make([]v1beta1.ClusterAffinityTerm, 1)}, nil, true},
		{"surge", &v1beta1.PlacementSpec{MaxSurge: ptr.To[int32](0)}, nil, true},
		{"timeout", &v1beta1.PlacementSpec{ReplacementTimeout: &metav1.Duration{Duration: time.Second}}, nil, true},
		{"split by capacity", &v1beta1.PlacementSpec{Mode: v1beta1.PlacementSplitByCapacity}, nil, true},
		{"old requirements", nil, map[string]string{"ome.io/accelerator-requirements": "gpu"}, true},
		{"old selector", nil, map[string]string{"ome.io/cluster-selector": "zone=a"}, true},
		{"old and empty", nil, map[string]string{"ome.io/cluster-selector": ""}, false},
		{"old beside a bare placement", &v1beta1.PlacementSpec{}, map[string]string{"ome.io/cluster-selector": "zone=a"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			isvc := &v1beta1.InferenceService{ObjectMeta: metav1.ObjectMeta{Annotations: tc.annotations}}
			isvc.Spec.Placement = tc.placement
			assert.Equal(t, tc.want, Eligible(isvc))
		})
	}
}

func TestOptedOut(t *testing.T) {
	isvc := chat()
	assert.False(t, OptedOut(isvc))
	isvc.Spec.Routing = &v1beta1.RoutingSpec{}
	assert.False(t, OptedOut(isvc))
	isvc.Spec.Routing.Enabled = ptr.To(true)
	assert.False(t, OptedOut(isvc))
	isvc.Spec.Routing.Enabled = ptr.To(false)
	assert.True(t, OptedOut(isvc))
}
