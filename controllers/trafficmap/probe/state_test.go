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

package probe

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

func policy() *Policy {
	return &Policy{
		Path: "/health", Method: "GET", AcceptStatuses: []int32{200}, GateStatuses: []int32{500, 503},
		Period: time.Second, Timeout: 500 * time.Millisecond, FailureThreshold: 3, SuccessThreshold: 2, AllFailed: v1beta1.PreserveTraffic,
	}
}

// TestGate follows an endpoint: F fails, P passes, U is no verdict; # is a closed gate after
// the verdict, . an open one.
func TestGate(t *testing.T) {
	results := map[rune]v1beta1.ProbeResult{'F': v1beta1.ProbeFailing, 'P': v1beta1.ProbePassing, 'U': v1beta1.ProbeUnknown}
	for name, tc := range map[string]struct{ verdicts, want string }{
		"closes after three in a row":              {"FFF", "..#"},
		"a pass starts anew":                       {"FFPFFF", ".....#"},
		"no verdict resets nothing":                {"FUFUF", "....#"},
		"opens after two in a row":                 {"FFFPP", "..##."},
		"a failure starts the passes anew":         {"FFFPFPP", "..####."},
		"no verdict keeps the passes":              {"FFFPUP", "..###."},
		"passes of an open gate are not saved":     {"PPPPFFFP", "......##"},
		"once open, three in a row are asked anew": {"FFFPPFF", "..##..."},
		"never a verdict, never closed":            {"UUUUU", "....."},
	} {
		t.Run(name, func(t *testing.T) {
			var s State
			var got strings.Builder
			for _, v := range tc.verdicts {
				s = s.Next(policy(), results[v], "", time.Time{})
				if s.Gated {
					got.WriteByte('#')
				} else {
					got.WriteByte('.')
				}
				assert.Equal(t, results[v], s.Result)
			}
			assert.Equal(t, tc.want, got.String())
		})
	}
}

func TestRestored(t *testing.T) {
	s := State{Gated: true, Failures: 7, Result: v1beta1.ProbeFailing, Message: "HTTP 503", Time: time.Unix(1000, 0)}
	again := restored(s.entry("sha256:0"))
	again.Time = again.Time.UTC()
	s.Time = s.Time.UTC()
	assert.Equal(t, s, again)
}

func TestSettled(t *testing.T) {
	p := policy()
	digest := p.Digest()
	at := func(gated bool, failures int32, message string, second int64) *v1beta1.TrafficMapProbe {
		return State{Gated: gated, Failures: failures, Result: v1beta1.ProbeFailing, Message: message, Time: time.Unix(second, 0)}.entry(digest)
	}
	for name, tc := range map[string]struct {
		written, observed *v1beta1.TrafficMapProbe
		told              bool
	}{
		"only time":                  {at(true, 5, "m", 1), at(true, 5, "m", 9), false},
		"one more failure when out":  {at(true, 3, "m", 1), at(true, 9, "m", 9), false},
		"one more failure while in":  {at(false, 1, "m", 1), at(false, 2, "m", 9), true},
		"the gate":                   {at(false, 2, "m", 1), at(true, 3, "m", 9), true},
		"another message":            {at(true, 3, "m", 1), at(true, 3, "n", 9), true},
		"nothing was written before": {nil, at(false, 0, "m", 9), true},
	} {
		t.Run(name, func(t *testing.T) {
			want := tc.written
			if tc.told {
				want = tc.observed
			}
			assert.Same(t, want, Settled(p, tc.written, tc.observed))
		})
	}
	other := at(true, 5, "m", 9)
	other.PolicyDigest = "sha256:1"
	assert.Same(t, other, Settled(p, at(true, 5, "m", 1), other), "another policy's findings say nothing")
}
