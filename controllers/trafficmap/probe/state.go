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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// State is what is known of one endpoint.
type State struct {
	Gated            bool
	Failures, Passes int32
	Result           v1beta1.ProbeResult
	Message          string
	Time             time.Time
}

// Next takes in one verdict. A failure starts the count of passes anew and closes the gate
// once there are enough in a row; a pass starts the count of failures anew and opens a closed
// gate once there are enough in a row. No verdict moves neither count nor gate.
func (s State) Next(p *Policy, result v1beta1.ProbeResult, message string, now time.Time) State {
	s.Result, s.Message, s.Time = result, message, now
	switch result {
	case v1beta1.ProbeFailing:
		s.Passes = 0
		s.Failures++
		if s.Failures >= p.FailureThreshold {
			s.Gated = true
		}
	case v1beta1.ProbePassing:
		s.Failures = 0
		if !s.Gated {
			break
		}
		if s.Passes++; s.Passes >= p.SuccessThreshold {
			s.Gated, s.Passes = false, 0
		}
	}
	return s
}

// entry is the state in the form of a TrafficMap entry.
func (s State) entry(digest string) *v1beta1.TrafficMapProbe {
	at := metav1.NewTime(s.Time.Truncate(time.Second))
	return &v1beta1.TrafficMapProbe{
		PolicyDigest:        digest,
		Result:              s.Result,
		Gated:               s.Gated,
		LastProbeTime:       &at,
		ConsecutiveFailures: s.Failures,
		Message:             s.Message,
	}
}

// restored takes up what a TrafficMap entry says, after a restart. Passes are not in it, so
// an endpoint that was coming back starts to count anew.
func restored(e *v1beta1.TrafficMapProbe) State {
	s := State{Gated: e.Gated, Failures: e.ConsecutiveFailures, Result: e.Result, Message: e.Message}
	if e.LastProbeTime != nil {
		s.Time = e.LastProbeTime.Time
	}
	return s
}

// Settled is what to write where written is there and observed is known: what is there, unless
// the difference is worth telling.
func Settled(p *Policy, written, observed *v1beta1.TrafficMapProbe) *v1beta1.TrafficMapProbe {
	if p == nil || written == nil || observed == nil || written.PolicyDigest != observed.PolicyDigest {
		return observed
	}
	if worthTelling(p, restored(written), restored(observed)) {
		return observed
	}
	return written
}

// worthTelling tells whether a change matters to anybody: who serves, or why not. That time
// has passed, or that an endpoint which is out has failed once more, does not, and would have
// every map written with every probe.
func worthTelling(p *Policy, before, after State) bool {
	return before.Gated != after.Gated || before.Result != after.Result || before.Message != after.Message ||
		min(before.Failures, p.FailureThreshold) != min(after.Failures, p.FailureThreshold)
}
