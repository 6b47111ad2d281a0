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

	"github.com/stretchr/testify/assert"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

func TestPreview(t *testing.T) {
	both := []Home{home("a", 1, 1), home("b", 1, 1)}
	for _, tc := range []struct {
		name     string
		homes    []Home
		policy   v1beta1.AllFailedPolicy
		old, new trafficdrain.Drains
		want     Effect
		blackout bool
	}{
		{"drain one of two", both, "", nil, drain("m", "a"), Effect{Moves: []string{"a"}}, false},
		{"drain the other too", both, "", drain("m", "a"), drain("m", "a", "n", "b"), Effect{Moves: []string{"b"}}, true},
		{"drain both at once", both, "", nil, drain("m", "a", "n", "b"), Effect{Moves: []string{"a", "b"}}, true},
		{"drain the only one", both[:1], "", nil, drain("m", "a"), Effect{Moves: []string{"a"}}, true},
		{"swap", both, "", drain("m", "a"), drain("n", "b"), Effect{Moves: []string{"b"}, Returns: []string{"a"}}, false},
		{"undrain", both, "", drain("m", "a"), nil, Effect{Returns: []string{"a"}}, false},
		{"undrain one of a blackout", both, "", drain("m", "a", "n", "b"), drain("n", "b"), Effect{Returns: []string{"a"}}, false},
		{"one of two drains of a cluster", both, "", drain("m", "a", "n", "a"), drain("m", "a"), Effect{}, false},
		{"second drain of a cluster", both, "", drain("m", "a"), drain("m", "a", "n", "a"), Effect{Idle: []string{"a"}}, false},
		{"pending", both, "", nil, drain("m", "c"), Effect{Pending: []string{"c"}}, false},
		{"pending without homes", nil, "", nil, drain("m", "c"), Effect{Pending: []string{"c"}}, false},
		{"pending was pending before", both, "", drain("m", "c"), drain("m", "c", "n", "a"), Effect{Moves: []string{"a"}}, false},
		{"unready one, the other serves", []Home{home("a", 1, 0), home("b", 1, 1)}, "", nil, drain("m", "a"), Effect{Idle: []string{"a"}}, false},
		{"the one that serves, the other is unready", []Home{home("a", 1, 0), home("b", 1, 1)}, "", nil, drain("m", "b"), Effect{Moves: []string{"b"}}, true},
		{"the one that serves, the other is gated", []Home{home("a", 1, 1, gated), home("b", 1, 1)}, "", nil, drain("m", "b"), Effect{Moves: []string{"b"}}, true},
		{"dark already, one of two held", []Home{home("a", 1, 0), home("b", 1, 0)}, "", nil, drain("m", "a"), Effect{Idle: []string{"a"}}, false},
		{"dark already, the last held", []Home{home("a", 1, 0), home("b", 1, 0)}, "", drain("m", "a"), drain("m", "a", "n", "b"), Effect{Idle: []string{"b"}}, true},
		{"all held already, one more drain", both, "", drain("m", "a", "n", "b"), drain("m", "a", "n", "b", "o", "b"), Effect{Idle: []string{"b"}}, false},
		{"all gated and preserved, one drained", []Home{home("a", 1, 1, gated), home("b", 1, 1, gated)}, v1beta1.PreserveTraffic, nil, drain("m", "a"), Effect{Moves: []string{"a"}}, false},
		{"all gated and dark by policy, one drained", []Home{home("a", 1, 1, gated), home("b", 1, 1, gated)}, v1beta1.DrainTraffic, nil, drain("m", "a"), Effect{Idle: []string{"a"}}, false},
		{"retargeted", both, "", drain("m", "a"), drain("m", "b"), Effect{Moves: []string{"b"}, Returns: []string{"a"}}, false},
		{"nothing", both, "", nil, nil, Effect{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Preview(Input{Placed: true, Homes: tc.homes, AllFailed: tc.policy, Drains: drain("ignored", "a")}, tc.old, tc.new)
			assert.Equal(t, tc.blackout, got.Blackout())
			assert.Equal(t, Compute(Input{Placed: true, Homes: tc.homes, AllFailed: tc.policy, Drains: tc.old}), got.Before)
			assert.Equal(t, Compute(Input{Placed: true, Homes: tc.homes, AllFailed: tc.policy, Drains: tc.new}), got.After)
			got.Before, got.After = Table{}, Table{}
			assert.Equal(t, tc.want, got)
		})
	}
}
