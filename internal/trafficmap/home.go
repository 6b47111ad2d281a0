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
	"cmp"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// Home is one workload cluster that could serve a service, with all that its weight
// depends on except drains.
type Home struct {
	// Cluster is unique among the homes of a service.
	Cluster string
	// Endpoint is the URL of the service in this cluster.
	Endpoint string
	// Admitted and Ready count replicas.
	Admitted, Ready int32
	// Reported is how many replicas the endpoint says it can serve; nil without a
	// usable report.
	Reported *int32
	// FallbackReason says why there is no usable report although one is wanted.
	FallbackReason string
	// Factor is what one replica serves relative to other clusters; nil means 1.
	Factor *resource.Quantity
	// Probe is the last observation of the health probe; nil without one.
	Probe *v1beta1.TrafficMapProbe
	// PlanDrain is true when the placement plan withdraws the cluster.
	PlanDrain bool
}

// Observation is what the hub itself found out about one home.
type Observation struct {
	Probe          *v1beta1.TrafficMapProbe
	Reported       *int32
	FallbackReason string
}

// homesOf returns the homes of a service, ordered by cluster: once the service is placed,
// every candidate that is admitted and whose endpoint has a host. A cluster that is
// listed twice counts once, with the smaller counts.
func homesOf(isvc *v1beta1.InferenceService, observed map[string]Observation) []Home {
	if !placed(isvc) {
		return nil
	}
	var factors map[string]resource.Quantity
	if isvc.Spec.Routing != nil {
		factors = isvc.Spec.Routing.CapacityFactors
	}
	var homes []Home
	for _, c := range isvc.Status.Placement.Candidates {
		if c.Phase != v1beta1.CandidateAdmitted || !addressable(c.Endpoint) {
			continue
		}
		seen := observed[c.Cluster]
		home := Home{
			Cluster:        c.Cluster,
			Endpoint:       c.Endpoint,
			Admitted:       c.AdmittedReplicas,
			Ready:          c.ReadyReplicas,
			Reported:       seen.Reported,
			FallbackReason: seen.FallbackReason,
			Probe:          seen.Probe,
			PlanDrain:      c.Allocation != nil && c.Allocation.DrainRequested,
		}
		if factor, set := factors[c.Cluster]; set {
			home.Factor = &factor
		}
		homes = append(homes, home)
	}
	slices.SortFunc(homes, func(a, b Home) int {
		return cmp.Or(
			cmp.Compare(a.Cluster, b.Cluster),
			cmp.Compare(a.Admitted, b.Admitted),
			cmp.Compare(a.Ready, b.Ready),
			cmp.Compare(a.Endpoint, b.Endpoint),
		)
	})
	return slices.CompactFunc(homes, func(a, b Home) bool { return a.Cluster == b.Cluster })
}

func placed(isvc *v1beta1.InferenceService) bool {
	return isvc.Status.Placement != nil && isvc.Status.Placement.Phase == v1beta1.PlacementPlaced
}

func addressable(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && u.Hostname() != ""
}

// homesIn reads homes back out of a written table, all but what a placement plan does.
func homesIn(entries []v1beta1.TrafficMapEntry) []Home {
	var homes []Home
	for _, e := range entries {
		home := Home{Cluster: e.Cluster, Endpoint: e.Endpoint, Probe: e.Probe}
		if c := e.Capacity; c != nil {
			home.Admitted, home.Ready = c.Allocated, c.Ready
			home.Factor, home.Reported, home.FallbackReason = c.Factor, c.Reported, c.FallbackReason
		}
		homes = append(homes, home)
	}
	return homes
}

// inferPlanDrains marks the homes that the placement plan withdraws. Their entries bear no
// mark of it: it is what remains when nothing else explains a weight of 0.
func inferPlanDrains(homes []Home, entries []v1beta1.TrafficMapEntry, policy v1beta1.AllFailedPolicy) {
	gatesIgnored := ignoresGates(homes, policy)
	for i, e := range entries {
		explained := len(e.DrainRefs) > 0 || homes[i].routable() == 0 || homes[i].gated() && !gatesIgnored
		homes[i].PlanDrain = e.Weight == 0 && !explained
	}
}
