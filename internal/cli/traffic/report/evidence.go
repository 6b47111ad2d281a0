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
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Condition types that a service's controller reports about its traffic policy.
const (
	policyReady       = "BackendPolicyReady"
	unsupportedFields = "BackendPolicyUnsupportedFields"
)

// What a list is cut to.
const (
	maxRoutes    = 4
	maxEndpoints = 16
	maxWeights   = 8
)

// components that a service may have, in the order in which they are shown.
var components = []string{"engine", "decoder", "router"}

// trafficStatus is the part of a service's status that its controller reports about the
// traffic policy.
type trafficStatus struct {
	Algorithm             string             `json:"algorithm"`
	BackendPolicyResource *policyRef         `json:"backendPolicyResource"`
	TargetedHTTPRoutes    []string           `json:"targetedHTTPRoutes"`
	Conditions            []metav1.Condition `json:"conditions"`
}

type policyRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// evidence is what was found in a service.
type evidence struct {
	namespace   string
	generation  int64
	traffic     *trafficStatus
	ready       *metav1.Condition
	unsupported *metav1.Condition
	routes      []string
	endpoints   []string
	weights     []Weight
	issues      []Issue
	truncated   bool
}

// Issue is something about a service's status that its reader should know.
type Issue struct {
	Code      string `json:"code"`
	Component string `json:"component,omitempty"`
	invalid   bool
}

// Weight is the traffic share that a component's controller records for a revision.
type Weight struct {
	Component string `json:"component"`
	Role      string `json:"role"`
	Revision  string `json:"revision"`
	Percent   int64  `json:"percent"`
}

func (e *evidence) issue(code, component string, invalid bool) {
	i := Issue{code, component, invalid}
	if !slices.Contains(e.issues, i) {
		e.issues = append(e.issues, i)
	}
}

func (e *evidence) invalid(codes ...string) bool {
	return slices.ContainsFunc(e.issues, func(i Issue) bool {
		return i.invalid && (len(codes) == 0 || slices.Contains(codes, i.Code))
	})
}

func gather(service *unstructured.Unstructured) *evidence {
	e := &evidence{namespace: service.GetNamespace(), generation: service.GetGeneration()}
	if raw, found, _ := unstructured.NestedMap(service.Object, "status", "traffic"); found {
		e.traffic = &trafficStatus{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, e.traffic); err != nil {
			e.traffic = &trafficStatus{}
			e.issue("ConditionInvalid", "", true)
		}
		e.readTraffic()
	} else {
		e.issue("TrafficStatusMissing", "", false)
	}
	e.readEndpoints(service)
	e.readComponents(service)
	return e
}

var algorithms = []string{"Default", "RoundRobin", "LeastRequest", "Random", "ConsistentHash"}

func (e *evidence) readTraffic() {
	t := e.traffic
	if t.Algorithm == "" {
		t.Algorithm = algorithms[0]
	}
	if !slices.Contains(algorithms, t.Algorithm) {
		e.issue("AlgorithmInvalid", "", true)
	}
	e.readConditions()
	e.routes = e.cut(validNames(e, t.TargetedHTTPRoutes), maxRoutes, "RoutesTruncated", "")
	if ref := t.BackendPolicyResource; ref == nil {
		if len(t.TargetedHTTPRoutes) > 0 || e.ready != nil && e.ready.Status == metav1.ConditionTrue {
			e.issue("StatusCombinationInvalid", "", true)
		}
	} else {
		if !printableName(ref.Name) {
			e.issue("PolicyReferenceInvalid", "", true)
		}
		if translatorOf(ref.Kind) == "" {
			e.issue("PolicyKindUnsupported", "", true)
		}
		if e.ready != nil && e.ready.Reason == "NoTranslatorAvailable" {
			e.issue("StatusCombinationInvalid", "", true)
		}
	}
}

// reasons that go with each status of policyReady.
var reasons = map[metav1.ConditionStatus][]string{
	metav1.ConditionTrue:    {"AcceptedByGateway"},
	metav1.ConditionFalse:   {"GatewayRejected", "NoTranslatorAvailable", "ConflictingPolicy", "TranslationFailed"},
	metav1.ConditionUnknown: {"Pending"},
}

func (e *evidence) readConditions() {
	seen := map[string]bool{}
	for _, c := range e.traffic.Conditions {
		if seen[c.Type] {
			e.issue("ConditionConflict", "", true)
		}
		seen[c.Type] = true
		known := c.Type != policyReady || slices.Contains(reasons[c.Status], c.Reason)
		if !known || c.ObservedGeneration <= 0 || c.ObservedGeneration > e.generation || c.LastTransitionTime.IsZero() {
			e.issue("ConditionInvalid", "", true)
		}
	}
	e.ready = meta.FindStatusCondition(e.traffic.Conditions, policyReady)
	e.unsupported = meta.FindStatusCondition(e.traffic.Conditions, unsupportedFields)
	if e.ready == nil {
		e.issue("PolicyConditionMissing", "", false)
	}
}

func (e *evidence) freshness(c *metav1.Condition) Freshness {
	switch {
	case c == nil || c.ObservedGeneration <= 0 || c.ObservedGeneration > e.generation:
		return unverifiable
	case c.ObservedGeneration < e.generation:
		return stale
	default:
		return current
	}
}

func validNames(e *evidence, names []string) []string {
	var valid []string
	for _, name := range names {
		if printableName(name) {
			valid = append(valid, name)
		} else {
			e.issue("RouteInvalid", "", true)
		}
	}
	return valid
}

func (e *evidence) readEndpoints(service *unstructured.Unstructured) {
	var found []string
	addresses, _, _ := unstructured.NestedSlice(service.Object, "status", "addresses")
	for _, a := range addresses {
		if m, is := a.(map[string]any); is {
			if u, is := m["url"].(string); is {
				found = append(found, u)
			}
		}
	}
	if len(found) == 0 {
		for _, path := range [][]string{{"status", "url"}, {"status", "address", "url"}} {
			if u, _, _ := unstructured.NestedString(service.Object, path...); u != "" {
				found = append(found, u)
			}
		}
	}
	var valid []string
	for _, endpoint := range found {
		if plainURL(endpoint) {
			valid = append(valid, endpoint)
		} else {
			e.issue("EndpointInvalid", "", true)
		}
	}
	e.endpoints = e.cut(valid, maxEndpoints, "EndpointsTruncated", "")
}

// plainURL tells whether a URL can be shown: nothing in it may be a secret.
func plainURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil &&
		u.RawQuery == "" && u.Fragment == "" && !strings.ContainsAny(s, " \t\r\n")
}

func (e *evidence) readComponents(service *unstructured.Unstructured) {
	all, _, _ := unstructured.NestedMap(service.Object, "status", "components")
	for name := range all {
		if !slices.Contains(components, name) {
			e.issue("UnknownComponentStatus", "", true)
		}
	}
	for _, name := range components {
		component, _ := all[name].(map[string]any)
		e.readWeights(name, component)
	}
}

func (e *evidence) readWeights(name string, component map[string]any) {
	targets, _ := component["traffic"].([]any)
	if len(targets) == 0 {
		return
	}
	rolledOut, _ := component["latestRolledoutRevision"].(string)
	var weights []Weight
	var sum int64
	revisions := map[string]bool{}
	for _, t := range targets {
		target, _ := t.(map[string]any)
		revision, _ := target["revisionName"].(string)
		percent, _ := target["percent"].(int64)
		latest, _ := target["latestRevision"].(bool)
		if !printableName(revision) || percent < 0 || percent > 100 {
			e.issue("AllocationInvalid", name, true)
			continue
		}
		if revisions[revision] {
			e.issue("AllocationConflict", name, true)
		}
		revisions[revision] = true
		role := "other"
		if revision == rolledOut || rolledOut == "" && latest && len(targets) == 1 {
			role = "stable"
		}
		sum += percent
		weights = append(weights, Weight{Component: name, Role: role, Revision: revision, Percent: percent})
	}
	if sum != 100 {
		e.issue("AllocationInvalid", name, true)
	}
	slices.SortFunc(weights, func(a, b Weight) int { return cmp.Compare(a.Revision, b.Revision) })
	if len(weights) > maxWeights {
		weights = weights[:maxWeights]
		e.truncated = true
		e.issue("AllocationsTruncated", name, false)
	}
	e.weights = append(e.weights, weights...)
}

func (e *evidence) cut(list []string, limit int, code, component string) []string {
	sorted := slices.Sorted(maps.Keys(setOf(list)))
	if len(sorted) > limit {
		e.truncated = true
		e.issue(code, component, false)
		return sorted[:limit]
	}
	return sorted
}

func setOf(list []string) map[string]bool {
	set := map[string]bool{}
	for _, s := range list {
		set[s] = true
	}
	return set
}

var translators = map[string]string{"BackendTrafficPolicy": "envoy-gateway", "DestinationRule": "istio"}

func translatorOf(kind string) string { return translators[kind] }

func conditionText(c *metav1.Condition) string {
	return fmt.Sprintf("%s=%s/%s gen=%d at=%s", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.LastTransitionTime.UTC().Format("2006-01-02T15:04:05Z"))
}
