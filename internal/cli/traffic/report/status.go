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

package report

import (
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// Status is what `traffic status` says, in the form of its JSON.
type Status struct {
	State       Value    `json:"state"`
	Translator  Value    `json:"translator"`
	Algorithm   Value    `json:"algorithm"`
	PolicyReady Value    `json:"policyReady"`
	Unsupported Value    `json:"unsupported"`
	Policy      *Value   `json:"policy,omitempty"`
	Routes      []string `json:"routes"`
	Endpoints   []string `json:"endpoints"`
	Weights     []Weight `json:"weights"`
	Conditions  []Value  `json:"conditions"`
	Issues      []Issue  `json:"issues"`
	// Routing is what OME's report does not have.
	Routing Routing `json:"routing"`

	evidence *evidence
}

// NewStatus reports on a service and its TrafficMap, which may be nil.
func NewStatus(service *unstructured.Unstructured, tm *v1beta1.TrafficMap) *Status {
	e := gather(service)
	s := &Status{
		// A list without anything in it is an empty list in JSON, not null.
		Routes: append([]string{}, e.routes...), Endpoints: append([]string{}, e.endpoints...),
		Weights: append([]Weight{}, e.weights...), Issues: append([]Issue{}, e.issues...), Conditions: []Value{},
		Routing:  newRouting(service, tm),
		evidence: e,
	}
	s.summarise()
	s.State = Value{s.state(), computedUnverifiable}
	return s
}

func (s *Status) summarise() {
	e := s.evidence
	s.Translator = Value{"Unavailable", unavailable}
	s.Algorithm = Value{"Unknown", unavailable}
	s.PolicyReady = Value{"Unknown/NotReported", unavailable}
	s.Unsupported = Value{"Unknown", unavailable}
	if e.traffic == nil {
		return
	}
	fresh := e.freshness(e.ready)
	s.Translator.Source = computed(fresh)
	if ref := e.traffic.BackendPolicyResource; ref != nil {
		if translator := translatorOf(ref.Kind); translator != "" {
			s.Translator.Value = translator
		}
		if printableName(ref.Name) {
			s.Policy = &Value{strings.Join([]string{printable(ref.APIVersion), printable(ref.Kind), e.namespace, ref.Name}, "/"), reported(fresh)}
		}
	}
	if !e.invalid("AlgorithmInvalid") {
		s.Algorithm.Value = e.traffic.Algorithm
	}
	s.Algorithm.Source = reported(fresh)
	if e.ready != nil {
		s.PolicyReady = Value{string(e.ready.Status) + "/" + printable(e.ready.Reason), reported(fresh)}
	}
	s.Unsupported = e.unsupportedValue()
	for i := range e.traffic.Conditions {
		c := &e.traffic.Conditions[i]
		s.Conditions = append(s.Conditions, Value{printable(conditionText(c)), reported(e.freshness(c))})
	}
}

func (e *evidence) unsupportedValue() Value {
	switch {
	case e.unsupported != nil && e.unsupported.Status == metav1.ConditionTrue:
		return Value{"Present", reported(e.freshness(e.unsupported))}
	case e.unsupported == nil && e.freshness(e.ready) == current && e.ready.Reason != "NoTranslatorAvailable":
		return Value{"None", reported(current)}
	default:
		return Value{"Unknown", reported(e.freshness(e.ready))}
	}
}

// state takes the first that applies, in OME's order.
func (s *Status) state() string {
	e := s.evidence
	switch {
	case e.invalid():
		return "Invalid"
	case e.traffic == nil || e.ready == nil:
		return "Unavailable"
	case e.freshness(e.ready) != current:
		return "Partial"
	case e.ready.Status == metav1.ConditionFalse:
		return "Degraded"
	case s.Unsupported.Value == "Present" || e.truncated || e.stale():
		return "Partial"
	case e.ready.Status == metav1.ConditionUnknown:
		return "Pending"
	default:
		return "Reported"
	}
}

func (e *evidence) stale() bool {
	if e.traffic == nil {
		return false
	}
	for i := range e.traffic.Conditions {
		if e.freshness(&e.traffic.Conditions[i]) == stale {
			return true
		}
	}
	return false
}

// Warnings are those that the JSON lists.
func (s *Status) Warnings() []string {
	warnings := []string{}
	if s.evidence.invalid() || s.State.Value == "Partial" || s.State.Value == "Unavailable" {
		warnings = append(warnings, "PartialData")
	}
	if s.evidence.stale() {
		warnings = append(warnings, "StaleEvidence")
	}
	if s.evidence.truncated {
		warnings = append(warnings, "Truncated")
	}
	return warnings
}

// Rows are those of the table, wide or not.
func (s *Status) Rows(wide bool) []Row {
	rows := []Row{
		{"STATE", "", s.State.Value, s.State.Source},
		{"TRANSLATOR", "", s.Translator.Value, s.Translator.Source},
		{"ALGORITHM", "", s.Algorithm.Value, s.Algorithm.Source},
		{"POLICY-READY", "", s.PolicyReady.Value, s.PolicyReady.Source},
		{"UNSUPPORTED", "", s.Unsupported.Value, s.Unsupported.Source},
	}
	if wide {
		rows = append(rows, s.wideRows()...)
	} else {
		rows = append(rows, s.countRows()...)
	}
	for _, i := range s.Issues {
		rows = append(rows, Row{"ISSUE", i.Component, i.Code, computedUnverifiable})
	}
	return append(rows, s.Routing.rows()...)
}

func (s *Status) routeSource() Source {
	if s.evidence.traffic == nil {
		return unavailable
	}
	return reported(s.evidence.freshness(s.evidence.ready))
}

func (s *Status) countRows() []Row {
	rows := []Row{
		{"ROUTES", "", strconv.Itoa(len(s.Routes)), s.routeSource()},
		{"ENDPOINTS", "", strconv.Itoa(len(s.Endpoints)), reportedUnverifiable},
	}
	for _, w := range s.Weights {
		hash := w.Revision[strings.LastIndexByte(w.Revision, '-')+1:]
		rows = append(rows, Row{"WEIGHT", w.Component, fmt.Sprintf("%s:%s=%d%%", w.Role, hash, w.Percent), reportedUnverifiable})
	}
	return rows
}

func (s *Status) wideRows() []Row {
	var rows []Row
	if s.Policy != nil {
		rows = append(rows, Row{"POLICY", "", s.Policy.Value, s.Policy.Source})
	}
	for _, r := range s.Routes {
		rows = append(rows, Row{"ROUTE", "", r, s.routeSource()})
	}
	for _, e := range s.Endpoints {
		rows = append(rows, Row{"ENDPOINT", "", e, reportedUnverifiable})
	}
	for _, w := range s.Weights {
		rows = append(rows, Row{"TARGET", w.Component, fmt.Sprintf("%s:%s=%d%%", w.Role, w.Revision, w.Percent), reportedUnverifiable})
	}
	for _, c := range s.Conditions {
		rows = append(rows, Row{"CONDITION", "", c.Value, c.Source})
	}
	return rows
}

func printableName(s string) bool {
	return len(validation.IsDNS1123Subdomain(s)) == 0 && trafficdrain.SafeScalar(s)
}

// printable makes foreign text fit for one cell.
func printable(s string) string {
	return strings.Trim(fmt.Sprintf("%q", trafficdrain.Printable(s)), `"`)
}
