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
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

func homeGen(cluster string) *rapid.Generator[Home] {
	return rapid.Custom(func(t *rapid.T) Home {
		count := rapid.OneOf(rapid.Int32Range(0, 12), rapid.Int32Range(-2, 2000003), rapid.Int32())
		h := home(cluster, count.Draw(t, "admitted"), count.Draw(t, "ready"))
		if rapid.Bool().Draw(t, "reports") {
			h.Reported = new(int32)
			*h.Reported = count.Draw(t, "reported")
		}
		if rapid.Bool().Draw(t, "has factor") {
			q := resource.MustParse(rapid.SampledFrom([]string{
				"0", "-1", "1n", "1m", "333m", "0.5", "1", "1.5", "3", "1e3", "7Ki", "9223372036854775807",
			}).Draw(t, "factor"))
			h.Factor = &q
		}
		switch rapid.IntRange(0, 4).Draw(t, "probe") {
		case 0, 1:
			gated(&h)
		case 2:
			passing(&h)
		case 3:
			noVerdict(&h)
		}
		h.PlanDrain = rapid.IntRange(0, 9).Draw(t, "plan") == 0
		return h
	})
}

func inputGen(t *rapid.T) Input {
	input := Input{
		Placed:    true,
		AllFailed: rapid.SampledFrom([]v1beta1.AllFailedPolicy{"", v1beta1.PreserveTraffic, v1beta1.DrainTraffic}).Draw(t, "policy"),
		Polling:   rapid.Bool().Draw(t, "polling"),
	}
	n := rapid.IntRange(0, 6).Draw(t, "homes")
	for i := range n {
		input.Homes = append(input.Homes, homeGen(fmt.Sprintf("c%d", i)).Draw(t, "home"))
	}
	input.Drains = drainsGen(t, n)
	return input
}

// drainsGen draws drains of the clusters c0 to cn, of which the last has no home.
func drainsGen(t *rapid.T, n int) trafficdrain.Drains {
	var ds trafficdrain.Drains
	for i := range rapid.IntRange(0, 4).Draw(t, "drains") {
		ds = append(ds, trafficdrain.Drain{
			ID:      fmt.Sprintf("d%d", i),
			Cluster: fmt.Sprintf("c%d", rapid.IntRange(0, n).Draw(t, "drained")),
			Reason:  "r",
		})
	}
	return ds
}

func TestPropertyOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := inputGen(t)
		want := Compute(input)
		shuffled := input
		shuffled.Homes = rapid.Permutation(input.Homes).Draw(t, "homes")
		shuffled.Drains = rapid.Permutation(input.Drains).Draw(t, "drains")
		got := Compute(shuffled)
		require.Equal(t, want.Entries, got.Entries)
		require.Equal(t, want.Undrained, got.Undrained)
		require.Equal(t, want.Conditions(3), got.Conditions(3))
	})
}

func TestPropertyWeightsStayWithinCaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := Compute(inputGen(t))
		for i, e := range table.Entries {
			for _, w := range []int32{e.Weight, table.Undrained[i]} {
				require.GreaterOrEqual(t, w, int32(0))
				require.LessOrEqual(t, w, int32(v1beta1.MaxWeight))
			}
		}
	})
}

// TestPropertyADrainOnlyZeroesItsOwnEntry compares with and without drains, field by
// field, and takes the drains away again.
func TestPropertyADrainOnlyZeroesItsOwnEntry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := inputGen(t)
		drained := Compute(input)
		input.Drains, drained.input.Drains = nil, nil
		plain := Compute(input)
		require.Equal(t, weightsOf(plain), append([]int32(nil), drained.Undrained...))
		for i, e := range drained.Entries {
			if len(e.DrainRefs) > 0 {
				require.Zero(t, e.Weight)
				e.Weight, e.DrainRefs = plain.Entries[i].Weight, nil
			}
			require.Equal(t, plain.Entries[i], e)
		}
	})
}

func TestPropertyDrainRefsAreExactlyTheDrains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := inputGen(t)
		for _, e := range Compute(input).Entries {
			require.Equal(t, input.Drains.On(e.Cluster), e.DrainRefs)
		}
	})
}

// TestPropertyWeightsKeepTheRatio checks against rational numbers: exact ratios below the
// cap, the same order above it, nothing positive lost, nothing left to divide by.
func TestPropertyWeightsKeepTheRatio(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var capacities []*big.Int
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			c := new(big.Int).SetUint64(rapid.OneOf(rapid.Uint64Range(0, 50), rapid.Uint64()).Draw(t, "capacity"))
			capacities = append(capacities, c.Mul(c, big.NewInt(rapid.Int64Range(1, 1000).Draw(t, "factor"))))
		}
		weights := normalise(capacities)
		divisor, largest := new(big.Int), int32(0)
		for i, w := range weights {
			require.Equal(t, capacities[i].Sign() > 0, w > 0)
			divisor.GCD(nil, nil, divisor, big.NewInt(int64(w)))
			largest = max(largest, w)
		}
		if largest == v1beta1.MaxWeight { // perhaps scaled
			for i := range weights {
				for j := range weights {
					if capacities[i].Cmp(capacities[j]) <= 0 {
						require.LessOrEqual(t, weights[i], weights[j])
					}
				}
			}
			return
		}
		require.LessOrEqual(t, divisor.Int64(), int64(1))
		for i := range weights {
			for j := range weights {
				left := new(big.Int).Mul(capacities[i], big.NewInt(int64(weights[j])))
				right := new(big.Int).Mul(capacities[j], big.NewInt(int64(weights[i])))
				require.Zero(t, left.Cmp(right))
			}
		}
	})
}

// TestPropertyAReportOnlyLowers: taking a report away never lowers a home's capacity.
func TestPropertyAReportOnlyLowers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := homeGen("a").Draw(t, "home")
		with := h.raw()
		entry := h.capacity()
		require.Equal(t, entry.Source == v1beta1.CapacitySourceEndpoint, entry.Allocated < h.Admitted)
		h.Reported = nil
		require.LessOrEqual(t, with.Cmp(h.raw()), 0)
		require.GreaterOrEqual(t, with.Sign(), 0)
	})
}

func TestPropertyConditionsMatchTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := Compute(inputGen(t))
		conditions := table.Conditions(9)
		require.Len(t, conditions, 3)
		require.Equal(t, table.Serving(), conditions[0].Status == "True")
		require.Equal(t, table.Held() > 0, conditions[2].Status == "True")
		if conditions[0].Reason == v1beta1.ReasonTrafficDrain {
			require.Positive(t, table.Held())
		}
		for _, c := range conditions {
			require.NotEmpty(t, c.Reason)
			require.NotEmpty(t, c.Message)
			require.EqualValues(t, 9, c.ObservedGeneration)
		}
		for _, e := range table.Entries {
			require.Equal(t, e.Weight == 0, ZeroCauseOf(e) != NotZero)
		}
	})
}

// TestPropertyAMapAnswersLikeItsHomes: what would happen under other drains comes out the
// same whether it is computed from the homes or from the map that was written. A home that
// both a drain and the plan hold is left out, since the map does not show the plan then.
func TestPropertyAMapAnswersLikeItsHomes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := inputGen(t)
		for i := range input.Homes {
			if len(input.Drains.On(input.Homes[i].Cluster)) > 0 {
				input.Homes[i].PlanDrain = false
			}
		}
		// Without a policy on the service, an all-gated table in which nothing but
		// drains shows does not tell the policies apart.
		isvc := &v1beta1.InferenceService{}
		isvc.Spec.Routing = &v1beta1.RoutingSpec{Probe: &v1beta1.RoutingProbe{AllFailedPolicy: input.AllFailed}}

		read := MapInput(&v1beta1.TrafficMap{Spec: Compute(input).Spec(isvc)}, isvc)
		other := drainsGen(t, len(input.Homes))
		fromHomes, fromMap := Preview(input, input.Drains, other), Preview(read, input.Drains, other)
		require.Equal(t, weightsOf(fromHomes.Before), weightsOf(fromMap.Before))
		require.Equal(t, weightsOf(fromHomes.After), weightsOf(fromMap.After))
		require.Equal(t, fromHomes.Blackout(), fromMap.Blackout())
	})
}

// TestPropertyTakingDrainsAwayIsNoBlackout: a subset of the old drains is always safe.
func TestPropertyTakingDrainsAwayIsNoBlackout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := inputGen(t)
		var kept trafficdrain.Drains
		for _, d := range input.Drains {
			if rapid.Bool().Draw(t, "kept") {
				kept = append(kept, d)
			}
		}
		effect := Preview(input, input.Drains, kept)
		require.False(t, effect.Blackout())
		require.Empty(t, effect.Moves)
		require.Empty(t, effect.Idle)
		require.Empty(t, effect.Pending)
	})
}
