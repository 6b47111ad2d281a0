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
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// Explain is what `traffic explain` says, in the form of its JSON.
type Explain struct {
	Summary     Value    `json:"summary"`
	Intent      Value    `json:"intent"`
	Algorithm   string   `json:"algorithm"`
	Support     Value    `json:"support"`
	Realization Value    `json:"realization"`
	Comparisons []Check  `json:"comparisons"`
	Issues      []string `json:"issues"`
	Reported    *Status  `json:"reported"`
}

// Check compares one thing that was declared with what is reported.
type Check struct {
	Name   string `json:"name"`
	Result string `json:"result"`
}

// Results of a check.
const (
	match         = "Match"
	mismatch      = "Mismatch"
	notVerifiable = "Unverifiable"
	notApplicable = "NotApplicable"
	invalid       = "Invalid"
)

// NewExplain compares a service's declared traffic behaviour with what is reported. tm may
// be nil.
func NewExplain(service *unstructured.Unstructured, tm *v1beta1.TrafficMap) *Explain {
	x := &Explain{Reported: NewStatus(service, tm)}
	x.readIntent(service)
	x.Support = Value{x.support(), computedCurrent}
	x.readRealization()
	x.Comparisons = []Check{{"algorithm", x.checkAlgorithm()}, {"policy", x.checkPolicy()}, {"canary-weight", notApplicable}}
	x.Issues = x.issues()
	x.Summary = Value{x.summary(), computedCurrent}
	if s := x.Summary.Value; s == "Unsupported" || s == "Unavailable" {
		x.Summary.Source = computedUnavailable
	}
	return x
}

// readIntent looks at the typed part of what a service may declare.
func (x *Explain) readIntent(service *unstructured.Unstructured) {
	x.Intent, x.Algorithm = Value{"Absent", declaredCurrent}, algorithms[0]
	traffic, _, _ := unstructured.NestedMap(service.Object, "spec", "traffic")
	for _, field := range []string{"algorithm", "consistentHash", "endpointOverride"} {
		if _, set := traffic[field]; set {
			x.Intent.Value = "Declared"
		}
	}
	if algorithm, set := traffic["algorithm"].(string); set {
		x.Algorithm = printable(algorithm)
		if !slices.Contains(algorithms[1:], algorithm) {
			x.Intent.Value = invalid
		}
	}
}

func (x *Explain) support() string {
	e := x.Reported.evidence
	switch {
	case x.Intent.Value == "Absent":
		return notApplicable
	case x.Intent.Value == invalid || e.invalid("AlgorithmInvalid", "ConditionInvalid", "ConditionConflict",
		"PolicyReferenceInvalid", "PolicyKindUnsupported", "StatusCombinationInvalid"):
		return invalid
	case e.traffic == nil:
		return "Unavailable"
	case e.freshness(e.ready) != current:
		return "Partial"
	case e.ready.Status == metav1.ConditionTrue && x.Reported.Unsupported.Value == "None":
		return "Honored"
	case e.ready.Status == metav1.ConditionTrue:
		return "Partial"
	case e.ready.Status == metav1.ConditionUnknown:
		return "Pending"
	default:
		return "Rejected"
	}
}

func (x *Explain) readRealization() {
	s := x.Reported
	e := s.evidence
	switch {
	case e.invalid("RouteInvalid", "EndpointInvalid", "AllocationInvalid", "AllocationConflict", "UnknownComponentStatus"):
		x.Realization = Value{invalid, reportedUnverifiable}
	case len(s.Routes)+len(s.Endpoints)+len(s.Weights) == 0:
		x.Realization = Value{"Unavailable", unavailable}
	case e.truncated:
		x.Realization = Value{"Partial", s.routeSource()}
	default:
		x.Realization = Value{"Reported", s.routeSource()}
	}
}

func (x *Explain) checkAlgorithm() string {
	e := x.Reported.evidence
	switch {
	case x.Intent.Value == "Absent":
		return notApplicable
	case x.Intent.Value == invalid || e.invalid("AlgorithmInvalid"):
		return invalid
	case e.freshness(e.ready) != current:
		return notVerifiable
	case e.traffic.Algorithm == x.Algorithm:
		return match
	default:
		return mismatch
	}
}

func (x *Explain) checkPolicy() string {
	e := x.Reported.evidence
	switch {
	case x.Intent.Value == "Absent":
		return notApplicable
	case x.Support.Value == invalid:
		return invalid
	case e.freshness(e.ready) != current || e.ready.Status == metav1.ConditionUnknown:
		return notVerifiable
	case e.ready.Status == metav1.ConditionTrue:
		return match
	default:
		return mismatch
	}
}

// summary takes the first that applies, in OME's order.
func (x *Explain) summary() string {
	e := x.Reported.evidence
	has := func(result string) bool {
		return slices.ContainsFunc(x.Comparisons, func(c Check) bool { return c.Result == result })
	}
	noTranslator := e.ready != nil && e.ready.Reason == "NoTranslatorAvailable"
	switch {
	case x.Intent.Value == invalid || x.Support.Value == invalid || x.Realization.Value == invalid || has(invalid):
		return invalid
	case x.Intent.Value == "Absent":
		return "NoIntent"
	case x.Reported.Unsupported.Value == "Present" || noTranslator:
		return "Unsupported"
	case has(mismatch) || x.Support.Value == "Rejected":
		return mismatch
	case x.Support.Value == "Pending":
		return "Pending"
	case e.traffic == nil:
		return "Unavailable"
	case x.Support.Value == "Partial" || e.truncated || has(notVerifiable):
		return "Partial"
	default:
		return "Consistent"
	}
}

func (x *Explain) issues() []string {
	e := x.Reported.evidence
	declared := x.Intent.Value == "Declared"
	found := []string{}
	for _, i := range []struct {
		code string
		is   bool
	}{
		{"DeclaredSpecInvalid", x.Intent.Value == invalid},
		{"ReportedEvidenceInvalid", e.invalid()},
		{"ReportedEvidenceStale", e.stale()},
		{"UnsupportedDeclaredFields", x.Support.Value == "Partial" && x.Reported.Unsupported.Value == "Present"},
		{"NoTranslatorAvailable", e.ready != nil && e.ready.Status == metav1.ConditionFalse && e.ready.Reason == "NoTranslatorAvailable"},
		{"PolicyRejected", e.ready != nil && e.ready.Status == metav1.ConditionFalse && e.ready.Reason != "NoTranslatorAvailable"},
		{"IntentNotReported", declared && e.traffic == nil},
		{"RealizationUnavailable", declared && x.Realization.Value == "Unavailable"},
		{"AlgorithmMismatch", x.checkAlgorithm() == mismatch},
	} {
		if i.is {
			found = append(found, i.code)
		}
	}
	return found
}

// Warnings are those that the JSON lists.
func (x *Explain) Warnings() []string {
	warnings := x.Reported.Warnings()
	if x.Intent.Value == "Declared" && x.Reported.evidence.traffic == nil {
		warnings = append(warnings, "SourceUnavailable")
	}
	return warnings
}

// Rows are those of the table; the last ones, which say why each cluster has the weight that
// it has, are not in OME's.
func (x *Explain) Rows() []Row {
	s := x.Reported
	rows := []Row{
		{"SUMMARY", x.Summary.Value, "", x.Summary.Source},
		{"INTENT", x.Intent.Value, x.Algorithm, x.Intent.Source},
		{"SUPPORT", x.Support.Value, "", x.Support.Source},
		{"TRANSLATE", "Computed", s.Translator.Value, s.Translator.Source},
		{"REALIZE", x.Realization.Value, fmt.Sprintf("r=%d e=%d w=%d", len(s.Routes), len(s.Endpoints), len(s.Weights)), x.Realization.Source},
	}
	for _, c := range x.Comparisons {
		rows = append(rows, Row{"CHECK", c.Result, c.Name, computedCurrent})
	}
	for _, i := range x.Issues {
		rows = append(rows, Row{"ISSUE", "", i, computedUnverifiable})
	}
	for _, e := range s.Routing.Entries {
		state := "Serving"
		if e.Weight == 0 {
			state = e.ZeroCause
		}
		rows = append(rows, Row{"ENTRY", state, e.String(), reported(s.Routing.fresh)})
	}
	for _, d := range s.Routing.Drains {
		rows = append(rows, Row{"DRAIN", string(d.State), printable(d.ID) + " " + printable(d.Cluster), declaredCurrent})
	}
	return rows
}
