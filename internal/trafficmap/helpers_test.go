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
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// homeOption changes one thing about a home under test.
type homeOption func(*Home)

func home(cluster string, admitted, ready int32, options ...homeOption) Home {
	h := Home{Cluster: cluster, Endpoint: "https://" + cluster + ".example.com", Admitted: admitted, Ready: ready}
	for _, option := range options {
		option(&h)
	}
	return h
}

func factor(q string) homeOption {
	return func(h *Home) { h.Factor = ptr.To(resource.MustParse(q)) }
}

func reported(n int32) homeOption {
	return func(h *Home) { h.Reported = &n }
}

func gated(h *Home) {
	h.Probe = &v1beta1.TrafficMapProbe{Result: v1beta1.ProbeFailing, Gated: true, ConsecutiveFailures: 3}
}

func passing(h *Home) {
	h.Probe = &v1beta1.TrafficMapProbe{Result: v1beta1.ProbePassing}
}

func noVerdict(h *Home) {
	h.Probe = &v1beta1.TrafficMapProbe{Result: v1beta1.ProbeUnknown, ConsecutiveFailures: 2}
}

func planDrain(h *Home) { h.PlanDrain = true }

func fallback(reason string) homeOption {
	return func(h *Home) { h.FallbackReason = reason }
}

// drain makes drains with an ID each: drain("a", "x") and drain("a", "x", "b", "y").
func drain(idsAndClusters ...string) trafficdrain.Drains {
	var ds trafficdrain.Drains
	for i := 0; i < len(idsAndClusters); i += 2 {
		ds = append(ds, trafficdrain.Drain{ID: idsAndClusters[i], Cluster: idsAndClusters[i+1], Reason: "r"})
	}
	return ds
}

func weightsOf(t Table) []int32 {
	var ws []int32
	for _, e := range t.Entries {
		ws = append(ws, e.Weight)
	}
	return ws
}
