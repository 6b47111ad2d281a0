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
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// TestWeightVectors are the compatibility cases of OME's weights, by number.
func TestWeightVectors(t *testing.T) {
	for _, v := range []struct {
		number   string
		homes    []Home
		drains   trafficdrain.Drains
		policy   v1beta1.AllFailedPolicy
		weights  []int32
		routable string
	}{
		{"W1", []Home{home("a", 4, 4), home("b", 2, 2)}, nil, "", []int32{2, 1}, "Routable"},
		{"W2", []Home{home("a", 7, 7), home("b", 3, 3)}, drain("m", "a"), "", []int32{0, 3}, "Routable"},
		{"W3 drained", []Home{home("a", 8, 8), home("b", 2, 2)}, drain("m", "a"), "", []int32{0, 1}, "Routable"},
		{"W3 undrained", []Home{home("a", 8, 8), home("b", 2, 2)}, nil, "", []int32{4, 1}, "Routable"},
		{"W4", []Home{home("a", 4, 4, factor("1")), home("b", 2, 2, factor("3"))}, nil, "", []int32{2, 3}, "Routable"},
		{"W5", []Home{home("a", 50, 10), home("b", 30, 10)}, nil, "", []int32{1, 1}, "Routable"},
		{"W6", []Home{home("a", 7, 3)}, nil, "", []int32{1}, "Routable"},
		{"W7", []Home{home("a", 3, 3, factor("0.333")), home("b", 1, 1, factor("1"))}, nil, "", []int32{999, 1000}, "Routable"},
		{"W8", []Home{home("a", 2000003, 2000003), home("b", 1, 1)}, nil, "", []int32{1000000, 1}, "Routable"},
		{"W9", []Home{home("a", 6, 6), home("b", 4, 0), home("c", 2, 2)}, nil, "", []int32{3, 0, 1}, "Routable"},
		{"W10", []Home{home("a", 8, 8, reported(2)), home("b", 2, 2)}, nil, "", []int32{1, 1}, "Routable"},
		{"W11", []Home{home("a", 7, 7, reported(0)), home("b", 3, 3)}, nil, "", []int32{0, 1}, "Routable"},
		{"W12", []Home{home("a", 7, 7, gated), home("b", 3, 3, passing)}, nil, v1beta1.PreserveTraffic, []int32{0, 1}, "Routable"},
		{"W13 Drain", []Home{home("a", 7, 7, gated), home("b", 3, 3, gated)}, nil, v1beta1.DrainTraffic, []int32{0, 0}, "AllHomesProbeFailed"},
		{"W13 PreserveTraffic", []Home{home("a", 7, 7, gated), home("b", 3, 3, gated)}, nil, v1beta1.PreserveTraffic, []int32{7, 3}, "AllHomesProbeFailed"},
		{"W14", []Home{home("a", 7, 7, gated), home("b", 3, 3, gated)}, drain("m", "b"), v1beta1.PreserveTraffic, []int32{7, 0}, "AllHomesProbeFailed"},
		{"W15", []Home{home("a", 7, 7, gated), home("b", 3, 3, passing)}, drain("m", "b"), v1beta1.PreserveTraffic, []int32{0, 0}, "TrafficDrain"},
	} {
		t.Run(v.number, func(t *testing.T) {
			table := Compute(Input{Placed: true, Homes: v.homes, Drains: v.drains, AllFailed: v.policy})
			assert.Equal(t, v.weights, weightsOf(table))
			assert.Equal(t, v.routable, table.Conditions(1)[0].Reason)
			assert.Equal(t, table.Serving(), table.Conditions(1)[0].Status == "True")
		})
	}
}

func TestWeightsBeyondTheVectors(t *testing.T) {
	for _, tc := range []struct {
		name    string
		homes   []Home
		drains  trafficdrain.Drains
		policy  v1beta1.AllFailedPolicy
		weights []int32
	}{
		{"no homes", nil, nil, "", nil},
		{"all zero stays zero", []Home{home("a", 4, 0), home("b", 0, 2)}, nil, "", []int32{0, 0}},
		{"two drains of one cluster", []Home{home("a", 1, 1), home("b", 1, 1)}, drain("m", "a", "n", "a"), "", []int32{0, 1}},
		{"one of the two is left", []Home{home("a", 1, 1), home("b", 1, 1)}, drain("n", "a"), "", []int32{0, 1}},
		{"drain of a home that has just appeared", []Home{home("new", 9, 9)}, drain("m", "new"), "", []int32{0}},
		{"drains match names exactly", []Home{home("a", 1, 1)}, drain("m", "A", "n", "a."), "", []int32{1}},
		{"report above the plan", []Home{home("a", 4, 4, reported(9)), home("b", 2, 2)}, nil, "", []int32{2, 1}},
		{"report equal to the plan", []Home{home("a", 4, 4, reported(4)), home("b", 2, 2)}, nil, "", []int32{2, 1}},
		{"negative report", []Home{home("a", 4, 4, reported(-1)), home("b", 2, 2)}, nil, "", []int32{2, 1}},
		{"report above ready", []Home{home("a", 8, 2, reported(4)), home("b", 2, 2)}, nil, "", []int32{1, 1}},
		{"negative counts", []Home{home("a", -4, 4), home("b", 4, -4), home("c", 1, 1)}, nil, "", []int32{0, 0, 1}},
		{"factor 0 and below count as 1", []Home{home("a", 2, 2, factor("0")), home("b", 1, 1, factor("-5"))}, nil, "", []int32{2, 1}},
		{"factor below a thousandth is rounded up", []Home{home("a", 1, 1, factor("1n")), home("b", 1, 1, factor("1m"))}, nil, "", []int32{1, 1}},
		{"factor between thousandths is rounded up", []Home{home("a", 1, 1, factor("1100u")), home("b", 1, 1, factor("1m"))}, nil, "", []int32{2, 1}},
		{"factor in binary units", []Home{home("a", 1, 1, factor("1Ki")), home("b", 1, 1)}, nil, "", []int32{1024, 1}},
		{"largest factors", []Home{home("a", math.MaxInt32, math.MaxInt32, factor("9223372036854775807")), home("b", 1, 1, factor("1n"))}, nil, "", []int32{1000000, 1}},
		{"largest factors alike", []Home{home("a", math.MaxInt32, math.MaxInt32, factor("8E")), home("b", math.MaxInt32, math.MaxInt32, factor("4E"))}, nil, "", []int32{2, 1}},
		{"exactly at the cap", []Home{home("a", 1000000, 1000000), home("b", 1, 1)}, nil, "", []int32{1000000, 1}},
		{"one above the cap", []Home{home("a", 1000001, 1000001), home("b", 500000, 500000)}, nil, "", []int32{1000000, 500000}},
		{"the cap counts after dividing", []Home{home("a", 2000000, 2000000), home("b", 2, 2)}, nil, "", []int32{1000000, 1}},
		{"one of two gated, policy does not matter", []Home{home("a", 7, 7, gated), home("b", 3, 3)}, nil, v1beta1.DrainTraffic, []int32{0, 1}},
		{"gated and unready are not all gated", []Home{home("a", 7, 7, gated), home("b", 3, 0)}, nil, v1beta1.PreserveTraffic, []int32{0, 0}},
		{"no verdict does not gate", []Home{home("a", 7, 7, noVerdict), home("b", 3, 3, gated)}, nil, "", []int32{1, 0}},
		{"all gated, no policy", []Home{home("a", 7, 7, gated)}, nil, "", []int32{1}},
		{"all gated, preserved by what is ready", []Home{home("a", 7, 0, gated), home("b", 3, 3, gated)}, nil, v1beta1.PreserveTraffic, []int32{0, 1}},
		{"plan drain, others keep theirs", []Home{home("a", 7, 7, planDrain), home("b", 3, 3)}, nil, "", []int32{0, 3}},
		{"plan drain and drain", []Home{home("a", 7, 7, planDrain), home("b", 3, 3)}, drain("m", "b"), "", []int32{0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.weights, weightsOf(Compute(Input{Placed: true, Homes: tc.homes, Drains: tc.drains, AllFailed: tc.policy})))
		})
	}
}

func TestEntriesShowTheirProvenance(t *testing.T) {
	probe := &v1beta1.TrafficMapProbe{Result: v1beta1.ProbeFailing, Gated: true, Message: "HTTP 503"}
	table := Compute(Input{
		Placed: true,
		Homes: []Home{
			home("z", 4, 3, factor("1.5"), reported(2)),
			{Cluster: "y", Endpoint: "https://y", Admitted: 1, Ready: 1, Probe: probe, FallbackReason: "StatusCode"},
			home("x", 2, 2, reported(2)),
			home("w", 0, 0, reported(-3)),
		},
		Drains: drain("b", "x", "c", "y", "a", "x", "d", "nowhere"),
	})
	want := []v1beta1.TrafficMapEntry{
		{
			Cluster: "w", Endpoint: "https://w.example.com",
			Capacity: &v1beta1.TrafficMapCapacity{Source: v1beta1.CapacitySourceControlPlane},
		},
		{
			Cluster: "x", Endpoint: "https://x.example.com", Healthy: true, DrainRefs: []string{"a", "b"},
			Capacity: &v1beta1.TrafficMapCapacity{Allocated: 2, Ready: 2, Source: v1beta1.CapacitySourceControlPlane, Reported: ptr.To[int32](2)},
		},
		{
			Cluster: "y", Endpoint: "https://y", Probe: probe, DrainRefs: []string{"c"},
			Capacity: &v1beta1.TrafficMapCapacity{Allocated: 1, Ready: 1, Source: v1beta1.CapacitySourceControlPlane, FallbackReason: "StatusCode"},
		},
		{
			Cluster: "z", Endpoint: "https://z.example.com", Weight: 3, Healthy: true,
			Capacity: &v1beta1.TrafficMapCapacity{
				Allocated: 2, Ready: 3, Source: v1beta1.CapacitySourceEndpoint, Reported: ptr.To[int32](2),
				Factor: ptr.To(resource.MustParse("1500m")),
			},
		},
	}
	assert.Empty(t, cmp.Diff(want, table.Entries))
	assert.Equal(t, []int32{0, 2, 0, 3}, table.Undrained)
	assert.Equal(t, 2, table.Held())
	assert.NotSame(t, probe, table.Entries[2].Probe, "the table shares nothing with its input")

	entry, found := table.Entry("z")
	require.True(t, found)
	assert.Equal(t, int32(3), entry.Weight)
	_, found = table.Entry("nowhere")
	assert.False(t, found)
}

func TestFactorIsWrittenCanonically(t *testing.T) {
	table := Compute(Input{Homes: []Home{home("a", 1, 1, factor("1.5"))}})
	assert.Equal(t, "1500m", table.Entries[0].Capacity.Factor.String())
}

func TestNormaliseHugeNumbers(t *testing.T) {
	huge, ok := new(big.Int).SetString("1"+strings.Repeat("0", 300), 10)
	require.True(t, ok)
	tiny := big.NewInt(1)
	assert.Equal(t, []int32{1000000, 1, 0}, normalise([]*big.Int{huge, tiny, new(big.Int)}))
	assert.Equal(t, int64(1), tiny.Int64(), "arguments are not changed")
	assert.Equal(t, []int32{1, 1}, normalise([]*big.Int{huge, huge}))
	assert.Equal(t, []int32{}, normalise(nil))
}

func TestValidateFactors(t *testing.T) {
	q := resource.MustParse
	assert.NoError(t, ValidateFactors(nil))
	assert.NoError(t, ValidateFactors(map[string]resource.Quantity{"a": q("1n"), "b": q("1.5")}))
	assert.EqualError(t, ValidateFactors(map[string]resource.Quantity{"worker-c": q("-1"), "worker-b": q("0"), "worker-a": q("2")}),
		`spec.routing.capacityFactors["worker-b"] must be positive, got "0"`)
	assert.EqualError(t, ValidateFactors(map[string]resource.Quantity{"a": q("-1.5")}),
		`spec.routing.capacityFactors["a"] must be positive, got "-1500m"`)
}
