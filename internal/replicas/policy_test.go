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

package replicas

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

func testPolicy(name string, settings evenkeel.DisruptionSettings) *evenkeel.DisruptionPolicy {
	return &evenkeel.DisruptionPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name},
		Spec:       evenkeel.DisruptionPolicySpec{Selector: &metav1.LabelSelector{}, DisruptionSettings: settings},
	}
}

func number(n int) *intstr.IntOrString       { return ptr.To(intstr.FromInt(n)) }
func percent(s string) *intstr.IntOrString   { return ptr.To(intstr.FromString(s)) }
func after(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// TestMaxUnavailable rounds as the disruption controller does for PodDisruptionBudgets: up.
func TestMaxUnavailable(t *testing.T) {
	for _, tc := range []struct {
		value    *intstr.IntOrString
		replicas int32
		want     int
	}{
		{number(0), 3, 0},
		{number(2), 3, 2},
		{number(5), 3, 5},
		{percent("0%"), 10, 0},
		{percent("1%"), 1, 1},
		{percent("1%"), 10, 1},
		{percent("25%"), 4, 1},
		{percent("26%"), 4, 2},
		{percent("50%"), 1, 1},
		{percent("50%"), 3, 2},
		{percent("100%"), 3, 3},
		{percent("100%"), 0, 0},
	} {
		p, err := PolicyFor(testDeployment("chat", tc.replicas), []*evenkeel.DisruptionPolicy{testPolicy("a", evenkeel.DisruptionSettings{MaxUnavailable: tc.value})}, nil)
		require.NoError(t, err)
		assert.Equal(t, tc.want, p.MaxUnavailable, "%s of %d", tc.value, tc.replicas)
	}
}

func TestPolicyFor(t *testing.T) {
	chat := testDeployment("chat", 4)
	chat.Labels = map[string]string{"tier": "gold"}
	elsewhere := testPolicy("elsewhere", evenkeel.DisruptionSettings{Paused: ptr.To(true)})
	elsewhere.Namespace = "other"
	silver := testPolicy("silver", evenkeel.DisruptionSettings{Paused: ptr.To(true)})
	silver.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "silver"}}
	gold := testPolicy("gold", evenkeel.DisruptionSettings{Strategy: evenkeel.StrategyMakeBeforeBreak})
	gold.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpExists}}}
	none := testPolicy("none", evenkeel.DisruptionSettings{Paused: ptr.To(true)})
	none.Spec.Selector = nil
	broken := testPolicy("broken", evenkeel.DisruptionSettings{Paused: ptr.To(true)})
	broken.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Like"}}}

	careful := DefaultPolicy()
	careful.Strategy, careful.Names = evenkeel.StrategyMakeBeforeBreak, []string{"gold"}
	for _, tc := range []struct {
		name     string
		policies []*evenkeel.DisruptionPolicy
		defaults *evenkeel.DisruptionSettings
		want     Policy
		err      string
	}{
		{name: "without any", want: DefaultPolicy()},
		{name: "one that selects it, and others", policies: []*evenkeel.DisruptionPolicy{elsewhere, silver, gold, none}, want: careful},
		{name: "one that cannot be read", policies: []*evenkeel.DisruptionPolicy{broken, gold}, want: careful, err: "DisruptionPolicy broken: its selector cannot be read"},
		{
			name: "field by field, the most careful",
			policies: []*evenkeel.DisruptionPolicy{
				testPolicy("a", evenkeel.DisruptionSettings{MaxUnavailable: percent("50%"), Strategy: evenkeel.StrategyRecreate, WhenUnplaceable: evenkeel.WhenUnplaceableHold, ReadyTimeout: after(time.Minute), Paused: ptr.To(false)}),
				testPolicy("b", evenkeel.DisruptionSettings{MaxUnavailable: number(3), Strategy: evenkeel.StrategyMakeBeforeBreak, WhenUnplaceable: evenkeel.WhenUnplaceableEvict, ReadyTimeout: after(time.Hour), TrafficGracePeriod: after(0), Paused: ptr.To(true)}),
			},
			want: Policy{
				MaxUnavailable: 2, Strategy: evenkeel.StrategyMakeBeforeBreak, WhenUnplaceable: evenkeel.WhenUnplaceableHold,
				ReadyTimeout: time.Hour, TrafficGracePeriod: 0, RequestGracePeriod: 10 * time.Second, Paused: true, Names: []string{"a", "b"},
			},
		},
		{
			name:     "a policy may be less careful than the default",
			policies: []*evenkeel.DisruptionPolicy{testPolicy("a", evenkeel.DisruptionSettings{MaxUnavailable: number(4), Strategy: evenkeel.StrategyRecreate, ReadyTimeout: after(time.Minute), Paused: ptr.To(false)})},
			defaults: &evenkeel.DisruptionSettings{MaxUnavailable: number(1), Strategy: evenkeel.StrategyMakeBeforeBreak, WhenUnplaceable: evenkeel.WhenUnplaceableHold, ReadyTimeout: after(time.Hour), Paused: ptr.To(true)},
			want: Policy{
				MaxUnavailable: 4, Strategy: evenkeel.StrategyRecreate, WhenUnplaceable: evenkeel.WhenUnplaceableHold,
				ReadyTimeout: time.Minute, TrafficGracePeriod: 90 * time.Second, RequestGracePeriod: 10 * time.Second, Names: []string{"a"},
			},
		},
		{
			name:     "the default's percentage",
			defaults: &evenkeel.DisruptionSettings{MaxUnavailable: percent("60%")},
			want: Policy{
				MaxUnavailable: 3, Strategy: evenkeel.StrategyRecreate, WhenUnplaceable: evenkeel.WhenUnplaceableEvict,
				ReadyTimeout: 10 * time.Minute, TrafficGracePeriod: 90 * time.Second, RequestGracePeriod: 10 * time.Second,
			},
		},
		{
			name:     "a budget that is none",
			policies: []*evenkeel.DisruptionPolicy{testPolicy("a", evenkeel.DisruptionSettings{MaxUnavailable: percent("many"), Strategy: evenkeel.StrategyMakeBeforeBreak})},
			want: Policy{
				MaxUnavailable: 1, Strategy: evenkeel.StrategyMakeBeforeBreak, WhenUnplaceable: evenkeel.WhenUnplaceableEvict,
				ReadyTimeout: 10 * time.Minute, TrafficGracePeriod: 90 * time.Second, RequestGracePeriod: 10 * time.Second, Names: []string{"a"},
			},
			err: `DisruptionPolicy a: maxUnavailable "many" is neither a number nor a percentage`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := PolicyFor(chat, tc.policies, tc.defaults)
			if tc.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.err)
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestNeverMoves(t *testing.T) {
	for _, tc := range []struct {
		policy Policy
		want   bool
	}{
		{Policy{MaxUnavailable: 1, Strategy: evenkeel.StrategyRecreate}, false},
		{Policy{MaxUnavailable: 0, Strategy: evenkeel.StrategyRecreate}, true},
		{Policy{MaxUnavailable: 0, Strategy: evenkeel.StrategyMakeBeforeBreak}, false},
		{Policy{MaxUnavailable: 1, Strategy: evenkeel.StrategyMakeBeforeBreak, Paused: true}, true},
	} {
		assert.Equal(t, tc.want, tc.policy.NeverMoves(), "%+v", tc.policy)
	}
}

// TestOrderOfPoliciesDoesNotMatter also checks that adding a policy never makes moves less careful, unless it is the
// first to replace a default.
func TestOrderOfPoliciesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var policies []*evenkeel.DisruptionPolicy
		for _, name := range []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "policies")] {
			policies = append(policies, testPolicy(name, randomSettings(t)))
		}
		d := testDeployment("chat", int32(rapid.IntRange(0, 10).Draw(t, "replicas")))
		want, err := PolicyFor(d, policies, nil)
		require.NoError(t, err)
		got, err := PolicyFor(d, rapid.Permutation(policies).Draw(t, "order"), nil)
		require.NoError(t, err)
		require.Equal(t, want, got)
		for _, p := range policies {
			if budget := p.Spec.MaxUnavailable; budget != nil {
				n, err := intstr.GetScaledValueFromIntOrPercent(budget, int(d.Spec.Replicas), true)
				require.NoError(t, err)
				require.LessOrEqual(t, want.MaxUnavailable, n)
			}
			require.False(t, p.Spec.Strategy == evenkeel.StrategyMakeBeforeBreak && want.Strategy != evenkeel.StrategyMakeBeforeBreak)
			require.False(t, p.Spec.WhenUnplaceable == evenkeel.WhenUnplaceableHold && want.WhenUnplaceable != evenkeel.WhenUnplaceableHold)
			require.False(t, ptr.Deref(p.Spec.Paused, false) && !want.Paused)
			if p.Spec.ReadyTimeout != nil {
				require.GreaterOrEqual(t, want.ReadyTimeout, p.Spec.ReadyTimeout.Duration)
			}
		}
	})
}

func randomSettings(t *rapid.T) evenkeel.DisruptionSettings {
	return evenkeel.DisruptionSettings{
		MaxUnavailable:     rapid.SampledFrom([]*intstr.IntOrString{nil, number(0), number(1), number(2), percent("0%"), percent("34%"), percent("100%")}).Draw(t, "maxUnavailable"),
		Strategy:           rapid.SampledFrom([]evenkeel.DisruptionStrategy{"", evenkeel.StrategyRecreate, evenkeel.StrategyMakeBeforeBreak}).Draw(t, "strategy"),
		WhenUnplaceable:    rapid.SampledFrom([]evenkeel.UnplaceablePolicy{"", evenkeel.WhenUnplaceableEvict, evenkeel.WhenUnplaceableHold}).Draw(t, "whenUnplaceable"),
		ReadyTimeout:       rapid.SampledFrom([]*metav1.Duration{nil, after(time.Minute), after(time.Hour)}).Draw(t, "readyTimeout"),
		TrafficGracePeriod: rapid.SampledFrom([]*metav1.Duration{nil, after(0), after(time.Minute)}).Draw(t, "trafficGracePeriod"),
		RequestGracePeriod: rapid.SampledFrom([]*metav1.Duration{nil, after(0), after(time.Minute)}).Draw(t, "requestGracePeriod"),
		Paused:             rapid.SampledFrom([]*bool{nil, ptr.To(false), ptr.To(true)}).Draw(t, "paused"),
	}
}
