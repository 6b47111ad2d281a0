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
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
	"github.com/evenkeel-io/evenkeel/internal/trafficmap"
)

// Routing is what a service's drains and its TrafficMap say.
type Routing struct {
	Drains []Drain `json:"drains"`
	// Fault says why the annotation does not count.
	Fault string `json:"fault,omitempty"`
	// Entries are those of the TrafficMap.
	Entries    []Entry `json:"entries"`
	Conditions []Value `json:"conditions"`

	mapMissing bool
	fresh      Freshness
}

// Drain is a drain and how far it has come.
type Drain struct {
	ID      string     `json:"id"`
	Cluster string     `json:"cluster"`
	Reason  string     `json:"reason"`
	State   DrainState `json:"state"`
}

// DrainState tells how far a drain has come.
type DrainState string

const (
	// DrainApplied: the map holds the cluster for it.
	DrainApplied DrainState = "Applied"
	// DrainWaiting: the cluster has an entry that does not show the drain yet.
	DrainWaiting DrainState = "Waiting"
	// DrainPending: the cluster has no entry, so the drain holds nothing.
	DrainPending DrainState = "Pending"
)

// DrainStateOf looks a drain up in a TrafficMap, which may be nil.
func DrainStateOf(d trafficdrain.Drain, tm *v1beta1.TrafficMap) DrainState {
	if tm == nil {
		return DrainPending
	}
	i := slices.IndexFunc(tm.Spec.Entries, func(e v1beta1.TrafficMapEntry) bool { return e.Cluster == d.Cluster })
	switch {
	case i < 0:
		return DrainPending
	case slices.Contains(tm.Spec.Entries[i].DrainRefs, d.ID):
		return DrainApplied
	default:
		return DrainWaiting
	}
}

// Entry is a cluster's share and, if it is zero, why.
type Entry struct {
	Cluster   string   `json:"cluster"`
	Weight    int32    `json:"weight"`
	ZeroCause string   `json:"zeroCause,omitempty"`
	DrainRefs []string `json:"drainRefs,omitempty"`
}

var shownConditions = []string{
	v1beta1.TrafficMapRoutable, v1beta1.TrafficMapOverrideActive, v1beta1.TrafficMapPublished,
}

func newRouting(service *unstructured.Unstructured, tm *v1beta1.TrafficMap) Routing {
	r := Routing{Drains: []Drain{}, Entries: []Entry{}, Conditions: []Value{}, mapMissing: tm == nil, fresh: current}
	drains, err := trafficdrain.ValueOf(service.GetAnnotations()).Parse()
	var refusal *trafficdrain.Refusal
	if errors.As(err, &refusal) {
		r.Fault = refusal.Safe()
	}
	for _, d := range drains {
		r.Drains = append(r.Drains, Drain{ID: d.ID, Cluster: d.Cluster, Reason: trafficdrain.Redacted(d.Reason), State: DrainStateOf(d, tm)})
	}
	if tm == nil {
		return r
	}
	if tm.Spec.ObservedISVCGeneration != service.GetGeneration() || tm.Status.SourceUID != "" && tm.Status.SourceUID != service.GetUID() {
		r.fresh = stale
	}
	for _, e := range tm.Spec.Entries {
		r.Entries = append(r.Entries, Entry{
			Cluster: e.Cluster, Weight: e.Weight, ZeroCause: string(trafficmap.ZeroCauseOf(e)), DrainRefs: e.DrainRefs,
		})
	}
	for _, kind := range shownConditions {
		r.Conditions = append(r.Conditions, r.condition(tm, kind))
	}
	return r
}

func (r *Routing) condition(tm *v1beta1.TrafficMap, kind string) Value {
	c := meta.FindStatusCondition(tm.Status.Conditions, kind)
	if c == nil {
		return Value{kind + "=Unknown/NotReported", unavailable}
	}
	fresh := r.fresh
	if c.ObservedGeneration != tm.Generation {
		fresh = stale
	}
	return Value{fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason), reported(fresh)}
}

// rows follow those of OME's table.
func (r *Routing) rows() []Row {
	var rows []Row
	if r.Fault != "" {
		rows = append(rows, Row{"DRAIN", "", "malformed, so the TrafficMap no longer changes: " + printable(r.Fault), declaredCurrent})
	}
	for _, d := range r.Drains {
		rows = append(rows, Row{"DRAIN", "", fmt.Sprintf("%s %s %s %q", printable(d.ID), printable(d.Cluster), d.State, trafficdrain.Printable(d.Reason)), declaredCurrent})
	}
	if r.mapMissing {
		return append(rows, Row{"TRAFFICMAP", "", "Unavailable", unavailable})
	}
	for _, e := range r.Entries {
		rows = append(rows, Row{"ENTRY", "", e.String(), reported(r.fresh)})
	}
	for _, c := range r.Conditions {
		rows = append(rows, Row{"TRAFFICMAP", "", c.Value, c.Source})
	}
	return rows
}

// String says the share, and why it is zero.
func (e Entry) String() string {
	said := fmt.Sprintf("%s weight=%d", printable(e.Cluster), e.Weight)
	if e.ZeroCause != "" {
		said += " " + e.ZeroCause
	}
	if len(e.DrainRefs) > 0 {
		refs := make([]string, len(e.DrainRefs))
		for i, ref := range e.DrainRefs {
			refs[i] = printable(ref)
		}
		said += " drainRefs=" + strings.Join(refs, ",")
	}
	return said
}
