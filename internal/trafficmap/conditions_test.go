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
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

func TestRoutableCondition(t *testing.T) {
	for _, tc := range []struct {
		name    string
		input   Input
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		{"not placed", Input{}, "False", "NotPlaced", "InferenceService is not Placed; no homes to route to yet"},
		{"placed without homes", Input{Placed: true}, "False", "NoAddressableHome", "placed, but no admitted home reports an addressable endpoint"},
		{"serving", Input{Placed: true, Homes: []Home{home("a", 1, 1), home("b", 1, 1)}}, "True", "Routable", "2 home(s) serving"},
		{"serving with one at zero", Input{Placed: true, Homes: []Home{home("a", 1, 1), home("b", 1, 0)}, Drains: drain("m", "b")}, "True", "Routable", "2 home(s) serving"},
		{"all gated, preserved", Input{Placed: true, Homes: []Home{home("a", 1, 1, gated), home("b", 1, 1, gated)}},
			"True", "AllHomesProbeFailed", "2 home(s) have conclusive probe failures; preserving traffic among homes with ready capacity"},
		{"all drained", Input{Placed: true, Homes: []Home{home("a", 1, 1), home("b", 1, 1)}, Drains: drain("m", "a", "n", "b")},
			"False", "TrafficDrain", "manual traffic-drain overrides set all 2 route arm(s) to zero"},
		{"the one that could serve drained", Input{Placed: true, Homes: []Home{home("a", 1, 1), home("b", 1, 0), home("c", 1, 1, gated)}, Drains: drain("m", "a")},
			"False", "TrafficDrain", "manual traffic-drain overrides set all 3 route arm(s) to zero"},
		{"none ready", Input{Placed: true, Homes: []Home{home("a", 1, 0), home("b", 1, 0)}},
			"False", "AllHomesUnready", "2 home(s) addressable but none has ready replicas; all route weights are zero"},
		{"none ready, all gated", Input{Placed: true, Homes: []Home{home("a", 1, 0, gated)}, AllFailed: v1beta1.DrainTraffic},
			"False", "AllHomesUnready", "1 home(s) addressable but none has ready replicas; all route weights are zero"},
		{"none ready, all drained", Input{Placed: true, Homes: []Home{home("a", 1, 0)}, Drains: drain("m", "a")},
			"False", "AllHomesUnready", "1 home(s) addressable but none has ready replicas; all route weights are zero"},
		{"ready but not admitted", Input{Placed: true, Homes: []Home{home("a", 0, 1)}},
			"False", "NoRoutableCapacity", "1 home(s) addressable but none has positive routable capacity; all route weights are zero"},
		{"ready but reported zero, all gated", Input{Placed: true, Homes: []Home{home("a", 1, 1, gated, reported(0))}},
			"False", "NoRoutableCapacity", "1 home(s) addressable but none has positive routable capacity; all route weights are zero"},
		{"ready here, admitted there", Input{Placed: true, Homes: []Home{home("a", 0, 1), home("b", 1, 0)}},
			"False", "NoRoutableCapacity", "2 home(s) addressable but none has positive routable capacity; all route weights are zero"},
		{"all gated, policy Drain", Input{Placed: true, Homes: []Home{home("a", 1, 1, gated), home("b", 1, 0, gated)}, AllFailed: v1beta1.DrainTraffic},
			"False", "AllHomesProbeFailed", "2 home(s) have conclusive probe failures; all route weights are zero"},
		{"all gated, policy Drain, and drained: zero before the drain", Input{Placed: true, Homes: []Home{home("a", 1, 1, gated)}, AllFailed: v1beta1.DrainTraffic, Drains: drain("m", "a")},
			"False", "AllHomesProbeFailed", "1 home(s) have conclusive probe failures; all route weights are zero"},
		{"one gated, the other unready", Input{Placed: true, Homes: []Home{home("a", 1, 1, gated), home("b", 1, 0)}},
			"False", "NoRoutableCapacity", "2 home(s) addressable but none has positive routable capacity; all route weights are zero"},
		{"plan drain of all", Input{Placed: true, Homes: []Home{home("a", 1, 1, planDrain)}},
			"False", "NoRoutableCapacity", "1 home(s) addressable but none has positive routable capacity; all route weights are zero"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, metav1.Condition{
				Type: "Routable", Status: tc.status, Reason: tc.reason, Message: tc.message, ObservedGeneration: 7,
			}, Compute(tc.input).Conditions(7)[0])
		})
	}
}

func TestCapacityFallbackCondition(t *testing.T) {
	for _, tc := range []struct {
		name    string
		input   Input
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		{"polling off", Input{Homes: []Home{home("a", 1, 1)}}, "False", "CapacityPollingDisabled", "endpoint capacity polling is disabled"},
		{"no homes", Input{Polling: true}, "False", "NoCapacityTargets", "no home to poll for endpoint capacity"},
		{"all report", Input{Polling: true, Homes: []Home{home("a", 1, 1, reported(1)), home("b", 1, 1, reported(1))}},
			"False", "EndpointCapacityAvailable", "endpoint capacity is available for all 2 home(s)"},
		{"one falls back", Input{Polling: true, Homes: []Home{home("a", 1, 1, fallback("Timeout")), home("b", 1, 1)}},
			"True", "EndpointCapacityUnavailable", "1 of 2 home(s) are using control-plane capacity; inspect spec.entries[].capacity.fallbackReason"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, metav1.Condition{
				Type: "CapacityFallback", Status: tc.status, Reason: tc.reason, Message: tc.message, ObservedGeneration: 7,
			}, Compute(tc.input).Conditions(7)[1])
		})
	}
}

func TestOverrideActiveCondition(t *testing.T) {
	homes := []Home{home("a", 1, 1), home("b", 1, 1)}
	for _, tc := range []struct {
		name    string
		input   Input
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		{"none", Input{Homes: homes}, "False", "NoOverrides", "no traffic-drain annotation override is configured"},
		{"pending (67)", Input{Homes: homes, Drains: drain("m", "no-such-cluster", "n", "x")},
			"False", "OverridesPending", "2 traffic-drain annotation override(s) pending; no matching routable arm"},
		{"pending without homes", Input{Drains: drain("m", "a")},
			"False", "OverridesPending", "1 traffic-drain annotation override(s) pending; no matching routable arm"},
		{"applied", Input{Homes: homes, Drains: drain("m", "a")},
			"True", "OverridesApplied", "1 of 1 traffic-drain annotation override(s) active across 1 route arm(s); inspect spec.entries[].drainRefs"},
		{"two on one, one on the other, one pending", Input{Homes: homes, Drains: drain("m", "a", "n", "a", "o", "b", "p", "c")},
			"True", "OverridesApplied", "3 of 4 traffic-drain annotation override(s) active across 2 route arm(s); inspect spec.entries[].drainRefs"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, metav1.Condition{
				Type: "OverrideActive", Status: tc.status, Reason: tc.reason, Message: tc.message, ObservedGeneration: 7,
			}, Compute(tc.input).Conditions(7)[2])
		})
	}
}

func TestPublicationConditions(t *testing.T) {
	for _, tc := range []struct {
		publication      Publication
		status, fallback metav1.ConditionStatus
		reason           string
		message          string
	}{
		{Published, "True", "False", "Published", `TrafficMap is published by publisher "gatewayapi"`},
		{Transitioning, "False", "Unknown", "Transitioning", "TrafficMap publisher is applying the current plan"},
		{Withdrawn, "False", "False", "Withdrawn", `TrafficMap publication is withdrawn by publisher "gatewayapi"`},
		{InvalidOwner, "False", "Unknown", "InvalidOwner", "TrafficMap owner identity is invalid or stale"},
		{InvalidOptions, "False", "Unknown", "InvalidOptions", "Publisher options are invalid"},
		{InvalidPlan, "False", "Unknown", "InvalidPlan", "Publisher plan is invalid"},
		{LegacyLifecycleActive, "False", "Unknown", "LegacyLifecycleActive", "Legacy endpoint publisher cleanup is incomplete"},
		{ClaimRejected, "False", "Unknown", "ClaimRejected", "Publisher claims could not be acquired"},
		{StaleTargetFailed, "False", "Unknown", "DrainFailed", "Publisher could not drain stale targets"},
		{ApplyFailed, "False", "Unknown", "ApplyFailed", "Publisher could not apply the TrafficMap"},
		{PublisherChanged, "False", "Unknown", "PublisherChanged", "Publisher journal does not match the selected publisher"},
		{Finalizing, "False", "False", "Finalizing", "TrafficMap publisher is removing external state"},
		{Unpublishing, "False", "False", "Unpublished", "TrafficMap source is deleting or has opted out of publication"},
		{Unpublished, "False", "False", "Unpublished", "TrafficMap publisher state is removed"},
	} {
		t.Run(tc.message, func(t *testing.T) {
			got := tc.publication.Conditions("gatewayapi", 7)
			require.Len(t, got, 2)
			assert.Equal(t, metav1.Condition{Type: "Published", Status: tc.status, Reason: tc.reason, Message: tc.message, ObservedGeneration: 7}, got[0])

			fallback := metav1.Condition{Type: "PublicationFallback", Status: tc.fallback, Reason: tc.reason, Message: tc.message, ObservedGeneration: 7}
			if tc.publication == Published {
				fallback.Reason, fallback.Message = "Unsupported", "The selected publisher does not retain publication plans"
			}
			assert.Equal(t, fallback, got[1])
		})
	}
	assert.Len(t, publications, 14)
}

func TestZeroCauseOf(t *testing.T) {
	for _, tc := range []struct {
		name  string
		home  Home
		held  bool
		cause ZeroCause
		text  string
	}{
		{"serving", home("a", 1, 1), false, NotZero, "not zero"},
		{"drained", home("a", 1, 1), true, ZeroByDrain, "held by a drain"},
		{"drained and unready", home("a", 1, 0), true, ZeroByDrain, "held by a drain"},
		{"unready", home("a", 1, 0), false, ZeroUnready, "no ready replica"},
		{"unready and gated", home("a", 1, 0, gated), false, ZeroUnready, "no ready replica"},
		{"reports zero", home("a", 1, 1, reported(0)), false, ZeroReported, "its endpoint reports no capacity"},
		{"not admitted", home("a", 0, 1), false, ZeroUnadmitted, "no admitted replica"},
		{"not admitted and reports zero", home("a", 0, 1, reported(0)), false, ZeroUnadmitted, "no admitted replica"},
		{"gated", home("a", 1, 1, gated), false, ZeroByProbe, "its health probe fails"},
		{"plan", home("a", 1, 1, planDrain), false, ZeroByPlan, "withdrawn by the placement plan"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			input := Input{Homes: []Home{tc.home, home("other", 1, 1)}}
			if tc.held {
				input.Drains = drain("m", "a")
			}
			cause := ZeroCauseOf(Compute(input).Entries[0])
			assert.Equal(t, tc.cause, cause)
			assert.Equal(t, tc.text, cause.String())
		})
	}
	assert.Equal(t, ZeroUnready, ZeroCauseOf(v1beta1.TrafficMapEntry{Cluster: "bare"}))
	assert.Equal(t, ZeroUnadmitted, ZeroCauseOf(v1beta1.TrafficMapEntry{Cluster: "bare", Healthy: true}), "what says that it is healthy is not unready")
}

// TestEntryFormOnTheWire: weight and healthy are there even when zero, the rest only when
// it says something.
func TestEntryFormOnTheWire(t *testing.T) {
	raw, err := json.Marshal(Compute(Input{Homes: []Home{home("a", 0, 0)}}).Entries[0])
	require.NoError(t, err)
	assert.JSONEq(t, `{"cluster":"a","endpoint":"https://a.example.com","weight":0,"healthy":false,"capacity":{"source":"ControlPlane"}}`, string(raw))
}
