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
	"fmt"
	"slices"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// Defaults are the settings of the installation that a service may override.
type Defaults struct {
	// AllFailed is the policy of the installation's probe; empty without one.
	AllFailed v1beta1.AllFailedPolicy
	// Polling is true when the installation polls homes for their capacity.
	Polling bool
}

// ServiceInput gathers the input for a service's table from the service itself and from
// what was observed about its homes, keyed by cluster. An error means that the last valid
// map has to stay as it is: routing values are checked first, then the drains, and both
// texts are those that OME logs. The drains' error wraps a *trafficdrain.Refusal.
func ServiceInput(isvc *v1beta1.InferenceService, observed map[string]Observation, defaults Defaults) (Input, error) {
	routing := isvc.Spec.Routing
	if routing != nil {
		if err := ValidateFactors(routing.CapacityFactors); err != nil {
			return Input{}, fmt.Errorf("validate routing policy: %w", err)
		}
	}
	drains, err := trafficdrain.ValueOf(isvc.Annotations).Parse()
	if err != nil {
		return Input{}, fmt.Errorf("parse %s: %w", trafficdrain.AnnotationKey, err)
	}
	input := Input{
		Placed:    placed(isvc),
		Homes:     homesOf(isvc, observed),
		Drains:    drains,
		AllFailed: defaults.AllFailed,
		Polling:   defaults.Polling,
	}
	if routing != nil && routing.Probe != nil {
		input.AllFailed = routing.Probe.AllFailedPolicy
	}
	if routing != nil && routing.Capacity != nil {
		input.Polling = !routing.Capacity.Disabled
	}
	return input, nil
}

// MapInput reads the input back out of a written map, for those who ask what a change of
// drains would do and cannot observe homes themselves. The drains are left out, since the
// map may lag behind the annotation. isvc may be nil; with it, a probe policy of its own
// counts, else the policy is inferred from the weights.
func MapInput(tm *v1beta1.TrafficMap, isvc *v1beta1.InferenceService) Input {
	input := Input{
		Placed: len(tm.Spec.Entries) > 0,
		Homes:  homesIn(tm.Spec.Entries),
	}
	input.AllFailed = inferAllFailed(tm.Spec.Entries, input.Homes)
	if isvc != nil && isvc.Spec.Routing != nil && isvc.Spec.Routing.Probe != nil {
		input.AllFailed = isvc.Spec.Routing.Probe.AllFailedPolicy
	}
	inferPlanDrains(input.Homes, tm.Spec.Entries, input.AllFailed)
	return input
}

// inferAllFailed looks for an entry that only the policy Drain can have set to 0: every
// home is gated, this one has capacity and no drain holds it.
func inferAllFailed(entries []v1beta1.TrafficMapEntry, homes []Home) v1beta1.AllFailedPolicy {
	if !allGated(homes) || slices.ContainsFunc(entries, func(e v1beta1.TrafficMapEntry) bool { return e.Weight > 0 }) {
		return v1beta1.PreserveTraffic
	}
	for i, e := range entries {
		if len(e.DrainRefs) == 0 && homes[i].routable() > 0 {
			return v1beta1.DrainTraffic
		}
	}
	return v1beta1.PreserveTraffic
}

// Spec is the spec to write for a service's table.
func (t Table) Spec(isvc *v1beta1.InferenceService) v1beta1.TrafficMapSpec {
	spec := v1beta1.TrafficMapSpec{
		Service:                isvc.Name,
		Mode:                   v1beta1.PlacementSingle,
		Entries:                t.Entries,
		ObservedISVCGeneration: isvc.Generation,
	}
	if p := isvc.Spec.Placement; p != nil && p.Mode != "" {
		spec.Mode = p.Mode
	}
	return spec
}
