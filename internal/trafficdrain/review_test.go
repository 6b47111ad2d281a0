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

package trafficdrain

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func present(raw string) Value { return Value{Raw: raw, Present: true} }

func TestCompare(t *testing.T) {
	old := Drains{{"a", "x", "r"}, {"b", "x", "r"}, {"c", "x", "r"}, {"d", "x", "r"}}
	new := Drains{{"a", "x", "r"}, {"b", "y", "s"}, {"c", "x", "s"}, {"e", "z", "r"}}
	assert.Equal(t, Diff{
		Added:      []Drain{{"e", "z", "r"}},
		Removed:    []Drain{{"d", "x", "r"}},
		Retargeted: []Pair{{Old: Drain{"b", "x", "r"}, New: Drain{"b", "y", "s"}}},
		Reworded:   []Pair{{Old: Drain{"c", "x", "r"}, New: Drain{"c", "x", "s"}}},
	}, Compare(old, new))
	assert.Equal(t, Diff{}, Compare(old, old))
}

func TestReleased(t *testing.T) {
	old := Drains{{"a", "x", "r"}, {"b", "x", "r"}, {"c", "y", "r"}, {"d", "z", "r"}}
	assert.Equal(t, []string{"y", "z"}, Released(old, Drains{{"a", "x", "r"}}), "x stays held by another drain")
	assert.Equal(t, []string{"x", "y", "z"}, Released(old, nil))
	assert.Empty(t, Released(nil, old))
}

func TestReviewEdit(t *testing.T) {
	const (
		a    = `"a":{"cluster":"worker-a","reason":"r"}`
		a2   = `"a":{"cluster":"worker-a","reason":"other"}`
		aToB = `"a":{"cluster":"worker-b","reason":"r"}`
		b    = `"b":{"cluster":"worker-b","reason":"r"}`
		odd  = `"BAD ID":{"cluster":"X Y","reason":"..."}`
	)
	many := numbered(MaxDrains + 2)
	for _, tc := range []struct {
		name     string
		old, new Value
		kind     Kind
		fault    string
		added    int
		removed  int
	}{
		{"nothing to nothing", Value{}, Value{}, EditNone, "", 0, 0},
		{"same value", present(`{` + a + `}`), present(`{` + a + `}`), EditNone, "", 0, 0},
		{"same bad value", present(`[]`), present(`[]`), EditNone, "", 0, 0},
		{"created with a drain", Value{}, present(`{` + a + `}`), EditChange, "", 1, 0},
		{"created with a bad value", Value{}, present(`{`), EditChange, "close top-level object: EOF", 0, 0},
		{"created empty", Value{}, present(``), EditChange, "decode top-level object: EOF", 0, 0},
		{"created with an odd ID", Value{}, present(`{` + odd + `}`), EditChange, textID, 0, 0},
		{"created with an empty object", Value{}, present(`{}`), EditChange, "", 0, 0},

		{"removed", present(`{` + a + `,` + b + `}`), Value{}, EditRemove, "", 0, 2},
		{"bad value removed", present(`[`), Value{}, EditRemove, "", 0, 0},
		{"oversized value removed", present(padded(MaxBytes * 2)), Value{}, EditRemove, "", 0, 1},

		{"one of two taken away", present(`{` + a + `,` + b + `}`), present(`{` + a + `}`), EditSubset, "", 0, 1},
		{"all taken away", present(`{` + a + `,` + b + `}`), present(`{}`), EditSubset, "", 0, 2},
		{"laid out differently", present(`{` + a + `,` + b + `}`), present(` {` + b + `, ` + a + ` } `), EditSubset, "", 0, 0},
		{"good one taken away, odd one stays", present(`{` + a + `,` + odd + `}`), present(`{` + odd + `}`), EditSubset, "", 0, 1},
		{"odd one taken away", present(`{` + a + `,` + odd + `}`), present(`{` + a + `}`), EditSubset, "", 0, 1},
		{"66 drains to 65", many.Value(), many[1:].Value(), EditSubset, "", 0, 1},
		{"oversized value shrinks and stays oversized", present(padded(MaxBytes + 9)), present(padded(MaxBytes + 5)), EditSubset, "", 0, 0},
		{"a subset may not outgrow the limit", present(`{` + a + `}`), present(padded(MaxBytes + 1)), EditChange, MessageBounds, 0, 0},
		{"an oversized value may not grow", present(padded(MaxBytes + 5)), present(padded(MaxBytes + 9)), EditChange, MessageBounds, 0, 0},

		{"added", present(`{` + a + `}`), present(`{` + a + `,` + b + `}`), EditChange, "", 1, 0},
		{"swapped", present(`{` + a + `}`), present(`{` + b + `}`), EditChange, "", 1, 1},
		{"reworded", present(`{` + a + `}`), present(`{` + a2 + `}`), EditChange, "", 0, 0},
		{"added beside an odd one", present(`{` + odd + `}`), present(`{` + odd + `,` + a + `}`), EditChange, textID, 0, 0},
		{"added to 64", numbered(64).Value(), numbered(65).Value(), EditChange, MessageBounds, 0, 0},
		{"bad value repaired", present(`{` + a + `,}`), present(`{` + a + `}`), EditChange, "", 1, 0},
		{"bad value to no drains is no subset of what nobody knows", present(`{` + a + `,}`), present(`{}`), EditChange, "", 0, 0},
		{"bad value to another bad one", present(`[]`), present(`{`), EditChange, "close top-level object: EOF", 0, 0},
		{"good value broken", present(`{` + a + `}`), present(`{` + a), EditChange, "close top-level object: EOF", 0, 0},
		{"emptied but not removed", present(`{` + a + `}`), present(``), EditChange, "decode top-level object: EOF", 0, 0},
		{"retargeted", present(`{` + a + `}`), present(`{` + aToB + `}`), EditChange, `drain "a" cannot move to another cluster`, 0, 0},
		{"retargeted while another goes", present(`{` + a + `,` + b + `}`), present(`{` + aToB + `}`), EditChange, `drain "a" cannot move to another cluster`, 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			review, err := ReviewEdit(tc.old, tc.new)
			assert.Equal(t, tc.kind, review.Kind)
			if tc.fault == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.fault)
			}
			assert.Len(t, review.Diff.Added, tc.added)
			assert.Len(t, review.Diff.Removed, tc.removed)
			_, oldErr := tc.old.Parse()
			assert.Equal(t, oldErr, review.OldFault)
		})
	}
}

func TestReviewEditExplainsRetargeting(t *testing.T) {
	_, err := ReviewEdit(
		present(`{"a":{"cluster":"worker-a","reason":"r"}}`),
		present(`{"a":{"cluster":"worker-b","reason":"r"}}`))
	var refusal *Refusal
	require.True(t, errors.As(err, &refusal))
	assert.Equal(t, RuleRetargeted, refusal.Rule)
	assert.Equal(t, `drain "a" cannot move to another cluster: it holds cluster "worker-a" and the edit makes it hold "worker-b" instead, `+
		`which would give "worker-a" its traffic back. Add a drain with an ID of its own for cluster "worker-b", `+
		`then remove drain "a" when cluster "worker-a" may serve again`, refusal.Explain())
}

func TestNearMissKey(t *testing.T) {
	for key, want := range map[string]bool{
		"ome.io/traffic-drain":            false,
		"ome.io/traffic-drains":           true,
		"ome.io/traffic-drained":          true,
		"ome.io/traffic-drain-worker-a":   true,
		"ome.io/Traffic-Drain":            true,
		"ome.io/Traffic-Drain-worker-a":   true,
		"ome.io/TRAFFIC-DRAIN":            true,
		"ome.io/traffic_drain":            true,
		"ome.io/trafic-drain":             true,
		"ome.io/traffic-drian":            true,
		"ome.io/trafficdrain":             true,
		"omi.io/traffic-drain":            true,
		"ome.io/traffic-dr":               false,
		"ome.io/traffic-policy":           false,
		"ome.io/traffic":                  false,
		"evenkeel.io/allow-blackout":      false,
		"kubectl.kubernetes.io/restarted": false,
		"":                                false,
	} {
		assert.Equal(t, want, NearMissKey(key), "%q", key)
	}
}

func TestCheckKeys(t *testing.T) {
	near := map[string]string{"ome.io/traffic-drains": "{}", "x": "y"}
	changed := map[string]string{"ome.io/traffic-drains": "{ }"}
	fine := map[string]string{"ome.io/traffic-drain": "{}", "x": "y"}

	assert.NoError(t, CheckKeys(nil, nil))
	assert.NoError(t, CheckKeys(nil, fine))
	assert.NoError(t, CheckKeys(near, near), "one that is there may stay")
	assert.NoError(t, CheckKeys(near, fine), "and may go")
	for _, old := range []map[string]string{nil, fine, changed} {
		err := CheckKeys(old, near)
		assert.EqualError(t, err, `unknown traffic annotation "ome.io/traffic-drains". Did you mean "ome.io/traffic-drain"? (UnknownTrafficAnnotation)`)
		var refusal *Refusal
		require.True(t, errors.As(err, &refusal))
		assert.Equal(t, RuleNearMissKey, refusal.Rule)
		assert.Contains(t, refusal.Explain(), "Put all drains into the one annotation ome.io/traffic-drain")
	}
}

func TestIsDerivedCopy(t *testing.T) {
	set := func(k string) map[string]string { return map[string]string{k: ""} }
	assert.False(t, IsDerivedCopy(nil, nil))
	assert.True(t, IsDerivedCopy(set("ome.io/placement-origin"), nil))
	assert.True(t, IsDerivedCopy(set("ome.io/placement-control-plane"), nil))
	assert.True(t, IsDerivedCopy(nil, set("ome.io/placement-origin-uid")))
	assert.False(t, IsDerivedCopy(set("ome.io/placement-origin-uid"), set("ome.io/placement-origin")), "each mark counts in its place only")
}

func TestStandingOf(t *testing.T) {
	serving, registered := []string{"worker-a", "gone"}, []string{"worker-a", "worker-b"}
	assert.Equal(t, StandingServing, StandingOf("worker-a", serving, registered))
	assert.Equal(t, StandingServing, StandingOf("gone", serving, registered))
	assert.Equal(t, StandingPending, StandingOf("worker-b", serving, registered))
	assert.Equal(t, StandingUnknown, StandingOf("Worker-a", serving, registered))
	assert.Equal(t, StandingUnknown, StandingOf("worker-a", nil, nil))
}

func TestNearest(t *testing.T) {
	known := []string{"worker-b", "worker-a", "worker-aa", "gpu-us-east", "gpu-us-west", "worker-a", "x"}
	for _, tc := range []struct {
		name string
		want []string
	}{
		{"worker-a", []string{"worker-a", "worker-aa", "worker-b"}},
		{"Worker-A", []string{"worker-a", "worker-aa", "worker-b"}},
		{"wroker-a", []string{"worker-a"}},
		{"worker", []string{"worker-a", "worker-b"}},
		{"worker-", []string{"worker-a", "worker-b", "worker-aa"}},
		{"gpu-us-eats", []string{"gpu-us-east", "gpu-us-west"}},
		{"production", nil},
		{"yz", []string{"x"}},
		{strings.Repeat("a", 253), nil},
	} {
		assert.Equal(t, tc.want, Nearest(tc.name, known, 3), tc.name)
	}
	assert.Equal(t, []string{"worker-a"}, Nearest("worker-a", known, 1))
	assert.Nil(t, Nearest("worker-a", nil, 3))
}

func TestUnknownCluster(t *testing.T) {
	d := Drain{"m", "wroker-a", "r"}
	explain := func(serving, registered []string) string { return UnknownCluster(d, serving, registered).Explain() }
	const head = `drain "m" names the unknown cluster "wroker-a": it is neither an entry of the service's TrafficMap nor a WorkloadCluster, so the drain would hold nothing. `
	assert.Equal(t, head+`Did you mean "worker-a"?`, explain([]string{"worker-a"}, []string{"far-away"}))
	assert.Equal(t, head+`Did you mean "wroker-b" or "worker-a"?`, explain(nil, []string{"worker-a", "wroker-b", "worker-a"}))
	assert.Equal(t, head+`The service is served by "a1", "b2"`, explain([]string{"b2", "a1"}, nil))
	assert.Equal(t, head+`The service is served by "a", "b", "c", "d", "e" and 2 more`, explain([]string{"g", "f", "e", "d", "c", "b", "a"}, nil))
	assert.Equal(t, head+`Register the WorkloadCluster first, or use the name of one that exists`, explain(nil, nil))
}
