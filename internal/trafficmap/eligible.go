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

import "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"

// Eligible tells whether a service is placed over several clusters and so has traffic to
// share. That takes more than a placement mode: requirements, a selector or any field of
// the newer placement rules, or, without spec.placement, one of the older annotations.
func Eligible(isvc *v1beta1.InferenceService) bool {
	p := isvc.Spec.Placement
	if p == nil {
		return isvc.Annotations[v1beta1.AcceleratorRequirementsKey] != "" ||
			isvc.Annotations[v1beta1.ClusterSelectorKey] != ""
	}
	return p.Requirements != "" || p.ClusterSelector != "" || newerPlacement(p)
}

func newerPlacement(p *v1beta1.PlacementSpec) bool {
	return p.Policy != "" && p.Policy != v1beta1.PlacementPolicyLegacy ||
		len(p.ClusterAffinity) > 0 ||
		p.MaxSurge != nil ||
		p.ReplacementTimeout != nil ||
		p.Mode == v1beta1.PlacementSplitByCapacity
}

// OptedOut tells whether a service switches routing off for itself.
func OptedOut(isvc *v1beta1.InferenceService) bool {
	return isvc.Spec.Routing != nil && isvc.Spec.Routing.Enabled != nil && !*isvc.Spec.Routing.Enabled
}
