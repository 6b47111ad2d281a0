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
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// Policy says how to probe.
type Policy struct {
	Path, Method                       string
	AcceptStatuses, GateStatuses       []int32
	Period, Timeout                    time.Duration
	FailureThreshold, SuccessThreshold int32
	AllFailed                          v1beta1.AllFailedPolicy
}

// minPeriod keeps a service from having its endpoints flooded.
const minPeriod = time.Second

// Resolve gives the policy of a service: its own as a whole if it has one, else that of the
// installation; nil if nothing is to be probed. The error, which begins as OME's does, says
// which rule the service's own policy breaks.
func Resolve(installation *Policy, own *v1beta1.RoutingProbe) (*Policy, error) {
	if own == nil {
		return installation, nil
	}
	if own.Disabled {
		return nil, nil
	}
	p := &Policy{
		Path: own.Path, Method: own.Method,
		AcceptStatuses: own.AcceptStatuses, GateStatuses: own.GateStatuses,
		FailureThreshold: own.FailureThreshold, SuccessThreshold: own.SuccessThreshold,
		AllFailed: own.AllFailedPolicy,
	}
	if own.Period != nil {
		p.Period = own.Period.Duration
	}
	if own.Timeout != nil {
		p.Timeout = own.Timeout.Duration
	}
	if fault := p.fault(); fault != "" {
		return nil, fmt.Errorf("resolve probe policy: spec.routing.probe.%s", fault)
	}
	return p, nil
}

// fault names the first rule that the policy breaks. The schema has the same rules, but a
// hub may have another version of it.
func (p *Policy) fault() string {
	switch {
	case !strings.HasPrefix(p.Path, "/"):
		return fmt.Sprintf("path must begin with \"/\", got %q", p.Path)
	case !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost}, p.Method):
		return fmt.Sprintf("method must be GET, HEAD or POST, got %q", p.Method)
	case len(p.AcceptStatuses) == 0 || len(p.GateStatuses) == 0:
		return "acceptStatuses and gateStatuses must each name a status"
	case slices.ContainsFunc(p.GateStatuses, func(s int32) bool { return slices.Contains(p.AcceptStatuses, s) }):
		return "acceptStatuses and gateStatuses must have no status in common"
	case slices.ContainsFunc(p.GateStatuses, func(s int32) bool { return slices.Contains([]int32{401, 403, 429}, s) }):
		return "gateStatuses must not name 401, 403 or 429, which say nothing about health"
	case p.Period < minPeriod:
		return fmt.Sprintf("period must be at least %s, got %s", minPeriod, p.Period)
	case p.Timeout <= 0 || p.Timeout >= p.Period:
		return fmt.Sprintf("timeout must be positive and shorter than period, which is %s, got %s", p.Period, p.Timeout)
	case p.FailureThreshold < 1 || p.SuccessThreshold < 1:
		return fmt.Sprintf("failureThreshold and successThreshold must be at least 1, got %d and %d", p.FailureThreshold, p.SuccessThreshold)
	case p.AllFailed != v1beta1.PreserveTraffic && p.AllFailed != v1beta1.DrainTraffic:
		return fmt.Sprintf("allFailedPolicy must be PreserveTraffic or Drain, got %q", p.AllFailed)
	}
	return ""
}

// Digest tells policies apart: what was found out under one says nothing under another.
func (p *Policy) Digest() string {
	content, _ := json.Marshal(p) // strings and numbers cannot fail to encode
	return fmt.Sprintf("sha256:%x", sha256.Sum256(content))
}

// judge says what an answer means.
func (p *Policy) judge(status int) (v1beta1.ProbeResult, string) {
	switch {
	case slices.Contains(p.AcceptStatuses, int32(status)):
		return v1beta1.ProbePassing, fmt.Sprintf("HTTP %d", status)
	case slices.Contains(p.GateStatuses, int32(status)):
		return v1beta1.ProbeFailing, fmt.Sprintf("HTTP %d", status)
	default:
		return v1beta1.ProbeUnknown, fmt.Sprintf("HTTP %d (not in accept or gate list)", status)
	}
}
