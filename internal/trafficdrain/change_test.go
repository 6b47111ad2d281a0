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
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEncode(t *testing.T) {
	for _, tc := range []struct {
		name   string
		drains Drains
		want   string
	}{
		{"none", nil, `{}`},
		{"one", Drains{{"maintenance-a", "worker-a", "planned maintenance"}},
			`{"maintenance-a":{"cluster":"worker-a","reason":"planned maintenance"}}`},
		{"ordered bytewise", Drains{{"b", "x", "r"}, {"a-1", "x", "r"}, {"a", "x", "r"}},
			`{"a":{"cluster":"x","reason":"r"},"a-1":{"cluster":"x","reason":"r"},"b":{"cluster":"x","reason":"r"}}`},
		{"escaped for HTML", Drains{{"a", "x", `<b> & "c" — \`}},
			`{"a":{"cluster":"x","reason":"\u003cb\u003e \u0026 \"c\" — \\"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, tc.drains.Encode())
			assert.Equal(t, Value{Raw: tc.want, Present: true}, append(Drains{}, tc.drains...).valueOrEmptyObject())
		})
	}
}

// valueOrEmptyObject is Value, except that it shows what Value leaves out.
func (ds Drains) valueOrEmptyObject() Value {
	if v := ds.Value(); v.Present {
		return v
	}
	return Value{Raw: `{}`, Present: true}
}

func TestDrainAndUndrainOfTheGuide(t *testing.T) {
	maintenance := Drain{ID: "maintenance-a", Cluster: "worker-a", Reason: "planned maintenance"}

	drained, err := Add(Value{}, maintenance)
	require.NoError(t, err)
	assert.Equal(t, Change{
		Drain:  maintenance,
		Before: nil,
		After:  Drains{maintenance},
		Value:  Value{Raw: `{"maintenance-a":{"cluster":"worker-a","reason":"planned maintenance"}}`, Present: true},
	}, drained)

	undrained, err := Remove(drained.Value, "maintenance-a")
	require.NoError(t, err)
	assert.Equal(t, Change{Drain: maintenance, Before: Drains{maintenance}, After: Drains{}, Value: Value{}}, undrained)
}

func TestAddKeepsOthersAndNormalises(t *testing.T) {
	current := Value{Raw: "{ \"c\": {\"reason\":\"r\",\"cluster\":\"x\"},\n\"a\": {\"cluster\":\"x\",\"reason\":\"r\"} }", Present: true}
	change, err := Add(current, Drain{"b", "y", "s"})
	require.NoError(t, err)
	assert.Equal(t, `{"a":{"cluster":"x","reason":"r"},"b":{"cluster":"y","reason":"s"},"c":{"cluster":"x","reason":"r"}}`, change.Value.Raw)
	assert.Equal(t, Drains{{"a", "x", "r"}, {"c", "x", "r"}}, change.Before, "the drains before are not touched")
	assert.Equal(t, Drains{{"a", "x", "r"}, {"b", "y", "s"}, {"c", "x", "r"}}, change.After)
}

func TestRemoveFromEmptyObject(t *testing.T) {
	_, err := Remove(Value{Raw: `{}`, Present: true}, "a")
	assert.EqualError(t, err, "traffic undrain refused: override ID does not exist")
	_, err = Remove(Value{}, "a")
	assert.EqualError(t, err, "traffic undrain refused: override ID does not exist")
}

func TestChangeChecksItsArguments(t *testing.T) {
	bad := Value{Raw: "x", Present: true}
	_, err := Add(bad, Drain{"BAD", "worker-a", "r"})
	assert.EqualError(t, err, textID, "arguments are judged before the stored value")
	_, err = Remove(bad, "BAD")
	assert.EqualError(t, err, textID)
}

func TestChangeExplainsTheStoredValue(t *testing.T) {
	for _, tc := range []struct{ value, says string }{
		{`[]`, MessageUnsafe + ": top-level value must be a JSON object keyed by override ID. Write one JSON object such as "},
		{`{"BAD ID":{` + okBody + `}}`, MessageUnsafe + `: traffic override ID must be a DNS-1123 label: drain ID "BAD ID" is no DNS-1123 label. Use 1 to 63 of `},
	} {
		_, err := Add(Value{Raw: tc.value, Present: true}, Drain{"a", "worker-a", "r"})
		require.EqualError(t, err, MessageUnsafe)
		var refusal *Refusal
		require.True(t, errors.As(err, &refusal))
		assert.True(t, strings.HasPrefix(refusal.Explain(), tc.says), refusal.Explain())
		assert.False(t, refusal.Bounds())
		assert.Error(t, errors.Unwrap(err), "the cause stays reachable")
	}
}

func TestChangeBoundsItsResult(t *testing.T) {
	full := numbered(MaxDrains)
	_, err := Add(full.Value(), Drain{"new", "worker-a", "r"})
	assert.EqualError(t, err, MessageBounds)
	change, err := Remove(full.Value(), "d-000")
	require.NoError(t, err)
	assert.Len(t, change.After, MaxDrains-1)

	// Escaping makes a value that is small enough by hand too large to write back.
	var hand []string
	for i := range 40 {
		hand = append(hand, fmt.Sprintf(`"d-%02d":{"cluster":"worker-a","reason":"%s"}`, i, strings.Repeat("<", 256)))
	}
	value := Value{Raw: "{" + strings.Join(hand, ",") + "}", Present: true}
	require.LessOrEqual(t, len(value.Raw), MaxBytes)
	_, err = value.ParseStrict()
	require.NoError(t, err)
	_, err = Remove(value, "d-00")
	assert.EqualError(t, err, MessageBounds)
}

func TestDrainsLookups(t *testing.T) {
	ds := Drains{{"a", "x", "r"}, {"b", "y", "r"}, {"c", "x", "r"}}
	d, found := ds.Get("b")
	assert.True(t, found)
	assert.Equal(t, Drain{"b", "y", "r"}, d)
	_, found = ds.Get("bb")
	assert.False(t, found)
	assert.Equal(t, []string{"a", "c"}, ds.On("x"))
	assert.Nil(t, ds.On("X"), "clusters match exactly")
	assert.Equal(t, []string{"x", "y"}, ds.Clusters())
	assert.Nil(t, Drains(nil).Clusters())
}

func TestValueOf(t *testing.T) {
	assert.Equal(t, Value{}, ValueOf(nil))
	assert.Equal(t, Value{Present: true}, ValueOf(map[string]string{"ome.io/traffic-drain": ""}))
	assert.Equal(t, Value{Raw: "{}", Present: true}, ValueOf(map[string]string{"ome.io/traffic-drain": "{}", "x": "y"}))
}
