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

package placement

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func TestTolerates(t *testing.T) {
	const (
		noSchedule = modelplane.TaintEffectNoSchedule
		noExecute  = modelplane.TaintEffectNoExecute
		equal      = modelplane.TolerationOpEqual
		exists     = modelplane.TolerationOpExists
	)
	type toleration = modelplane.Toleration
	for _, c := range []struct {
		name       string
		toleration toleration
		taint      modelplane.Taint
		want       bool
	}{
		{"equal", toleration{Key: "k", Operator: equal, Value: "v"}, taint("k", "v", noSchedule), true},
		{"operator omitted", toleration{Key: "k", Value: "v"}, taint("k", "v", noSchedule), true},
		{"other value", toleration{Key: "k", Operator: equal, Value: "w"}, taint("k", "v", noSchedule), false},
		{"other key", toleration{Key: "l", Operator: equal, Value: "v"}, taint("k", "v", noSchedule), false},
		{"missing value is the empty one", toleration{Key: "k", Operator: equal}, taint("k", "", noSchedule), true},
		{"missing value is not any value", toleration{Key: "k", Operator: equal}, taint("k", "v", noSchedule), false},
		{"exists", toleration{Key: "k", Operator: exists}, taint("k", "v", noExecute), true},
		{"exists, other key", toleration{Key: "l", Operator: exists}, taint("k", "v", noExecute), false},
		{"exists without key", toleration{Operator: exists}, taint("k", "v", noExecute), true},
		{"exists does not look at its value", toleration{Key: "k", Operator: exists, Value: "w"}, taint("k", "v", noSchedule), true},
		{"equal without key matches nothing", toleration{Operator: equal}, taint("k", "", noSchedule), false},
		{"equal without key matches no empty key either", toleration{Operator: equal}, taint("", "", noSchedule), false},
		{"same effect", toleration{Key: "k", Operator: exists, Effect: noExecute}, taint("k", "", noExecute), true},
		{"other effect", toleration{Key: "k", Operator: exists, Effect: noSchedule}, taint("k", "", noExecute), false},
		{"unknown operator", toleration{Key: "k", Operator: "Gt", Value: "v"}, taint("k", "v", noSchedule), false},
		{"a key that no Node could hold", toleration{Key: "not/a/label key", Value: "ü"}, taint("not/a/label key", "ü", noSchedule), true},
		{"for a time", toleration{Key: "k", Operator: exists, TolerationSeconds: ptr.To[int64](300)}, taint("k", "", noExecute), true},
		{"for no time", toleration{Key: "k", Operator: exists, TolerationSeconds: ptr.To[int64](0)}, taint("k", "", noExecute), false},
		{"seconds are about NoExecute", toleration{Key: "k", Operator: exists, TolerationSeconds: ptr.To[int64](-1)}, taint("k", "", noSchedule), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, Tolerates(c.toleration, c.taint))
		})
	}
}

func TestUntolerated(t *testing.T) {
	a := taint("a", "", modelplane.TaintEffectNoSchedule)
	b := taint("b", "1", modelplane.TaintEffectNoSchedule)
	b2 := taint("b", "2", modelplane.TaintEffectNoExecute)
	ignored := taint("0", "", "PreferNoSchedule")
	all := []modelplane.Taint{b2, ignored, b, a}

	assert.Equal(t, []modelplane.Taint{a, b, b2}, Untolerated(nil, all))
	assert.Equal(t, []modelplane.Taint{b2}, Untolerated(nil, all, modelplane.TaintEffectNoExecute))
	assert.Equal(t, []modelplane.Taint{a, b}, Untolerated(nil, all, modelplane.TaintEffectNoSchedule))
	assert.Empty(t, Untolerated(nil, all, "PreferNoSchedule"), "no rule knows it")
	assert.Equal(t, []modelplane.Taint{a}, Untolerated([]modelplane.Toleration{exists("b")}, all))
	assert.Empty(t, Untolerated([]modelplane.Toleration{exists("")}, all))
	assert.Empty(t, Untolerated(nil, nil))
	assert.Equal(t, []modelplane.Taint{b2, ignored, b, a}, all, "the input is not sorted in place")
}

func TestTaintString(t *testing.T) {
	assert.Equal(t, "acme.test/maint=soon:NoSchedule", TaintString(maintenance))
	assert.Equal(t, "acme.test/retire:NoExecute", TaintString(retirement))
}

// TestStay also turns each list of tolerations around: the longest stay wins wherever it stands.
func TestStay(t *testing.T) {
	limited := func(key string, seconds int64) modelplane.Toleration {
		return modelplane.Toleration{Key: key, Operator: modelplane.TolerationOpExists, TolerationSeconds: &seconds}
	}
	forever := modelplane.Toleration{Key: "k", Operator: modelplane.TolerationOpExists}
	noExecute := modelplane.Taint{Key: "k", Effect: modelplane.TaintEffectNoExecute}
	noSchedule := modelplane.Taint{Key: "k", Effect: modelplane.TaintEffectNoSchedule}
	for _, tc := range []struct {
		name        string
		tolerations []modelplane.Toleration
		taint       modelplane.Taint
		stay        time.Duration
		limited     bool
		tolerated   bool
		repelled    bool
	}{
		{name: "nothing tolerates it", tolerations: []modelplane.Toleration{limited("other", 60)}, taint: noExecute, repelled: true},
		{name: "for ever", tolerations: []modelplane.Toleration{forever}, taint: noExecute, tolerated: true},
		{name: "for a time", tolerations: []modelplane.Toleration{limited("k", 60)}, taint: noExecute, stay: time.Minute, limited: true, tolerated: true, repelled: true},
		{name: "the longest wins", tolerations: []modelplane.Toleration{limited("k", 60), limited("k", 90), limited("", 30)}, taint: noExecute, stay: 90 * time.Second, limited: true, tolerated: true, repelled: true},
		{name: "for ever is longest", tolerations: []modelplane.Toleration{limited("k", 60), forever}, taint: noExecute, tolerated: true},
		{name: "zero is not at all", tolerations: []modelplane.Toleration{limited("k", 0)}, taint: noExecute, repelled: true},
		{name: "less than zero too", tolerations: []modelplane.Toleration{limited("k", -5)}, taint: noExecute, repelled: true},
		{name: "zero takes nothing from another", tolerations: []modelplane.Toleration{limited("k", 0), limited("k", 60)}, taint: noExecute, stay: time.Minute, limited: true, tolerated: true, repelled: true},
		{name: "more than a duration holds is for ever", tolerations: []modelplane.Toleration{limited("k", math.MaxInt64)}, taint: noExecute, tolerated: true},
		{name: "seconds are not about NoSchedule", tolerations: []modelplane.Toleration{limited("k", 60)}, taint: noSchedule, tolerated: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 2 {
				stay, limited, tolerated := Stay(tc.tolerations, &tc.taint)
				assert.Equal(t, tc.stay, stay)
				assert.Equal(t, tc.limited, limited)
				assert.Equal(t, tc.tolerated, tolerated)
				assert.Equal(t, tc.repelled, len(Repelling(tc.tolerations, []modelplane.Taint{tc.taint})) == 1)
				slices.Reverse(tc.tolerations)
			}
		})
	}
}
