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
	"math/big"
	"slices"
	"strings"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// Input is everything that the table of one service depends on. The order of Homes and
// Drains does not matter.
type Input struct {
	// Placed is true once the service's placement is in phase Placed.
	Placed bool
	Homes  []Home
	Drains trafficdrain.Drains
	// AllFailed is the policy for the case that every home is gated; empty, as with
	// probing off, means PreserveTraffic.
	AllFailed v1beta1.AllFailedPolicy
	// Polling is true when homes are polled for their capacity.
	Polling bool
}

// Table is a computed table and what its conditions are derived from.
type Table struct {
	// Entries are ordered by cluster.
	Entries []v1beta1.TrafficMapEntry
	// Undrained are the weights that the entries would have without drains.
	Undrained []int32

	input Input
}

// Compute makes the table of a service. It never fails: what is invalid has to be refused
// before (see ServiceInput).
func Compute(input Input) Table {
	input.Homes = slices.SortedFunc(slices.Values(input.Homes), func(a, b Home) int {
		return strings.Compare(a.Cluster, b.Cluster)
	})
	table := Table{Undrained: weights(input.Homes, input.AllFailed), input: input}
	for i, home := range input.Homes {
		entry := v1beta1.TrafficMapEntry{
			Cluster:  home.Cluster,
			Endpoint: home.Endpoint,
			Weight:   table.Undrained[i],
			Healthy:  home.Ready > 0 && !home.gated(),
			Capacity: home.capacity(),
			Probe:    home.Probe.DeepCopy(),
		}
		hold(&entry, input.Drains)
		table.Entries = append(table.Entries, entry)
	}
	return table
}

// weights are those before drains: capacities without the gated homes, normalised; then
// the homes that the placement plan withdraws are set to 0.
func weights(homes []Home, policy v1beta1.AllFailedPolicy) []int32 {
	gatesIgnored := ignoresGates(homes, policy)
	capacities := make([]*big.Int, len(homes))
	for i, home := range homes {
		capacities[i] = new(big.Int)
		if !home.gated() || gatesIgnored {
			capacities[i] = home.raw()
		}
	}
	result := normalise(capacities)
	for i, home := range homes {
		if home.PlanDrain {
			result[i] = 0
		}
	}
	return result
}

// ignoresGates tells whether the probe's verdicts are set aside: it has taken out every
// home, and the policy would rather keep sending traffic to doubtful homes than to none.
func ignoresGates(homes []Home, policy v1beta1.AllFailedPolicy) bool {
	return allGated(homes) && policy != v1beta1.DrainTraffic
}

// allGated is true when there are homes and the probe has taken out every one.
func allGated(homes []Home) bool {
	return len(homes) > 0 && !slices.ContainsFunc(homes, func(h Home) bool { return !h.gated() })
}

// hold applies the drains to one entry: weight 0 and the IDs that say why, in order. It
// is the last step, so the weights of other entries stay as they are and their ratio with
// them, and nothing else about the entry changes.
func hold(entry *v1beta1.TrafficMapEntry, drains trafficdrain.Drains) {
	entry.DrainRefs = slices.Sorted(slices.Values(drains.On(entry.Cluster)))
	if len(entry.DrainRefs) > 0 {
		entry.Weight = 0
	}
}

// Serving tells whether any entry has a positive weight.
func (t Table) Serving() bool {
	return slices.ContainsFunc(t.Entries, func(e v1beta1.TrafficMapEntry) bool { return e.Weight > 0 })
}

// Held returns the number of entries that drains hold.
func (t Table) Held() int {
	held := 0
	for _, e := range t.Entries {
		if len(e.DrainRefs) > 0 {
			held++
		}
	}
	return held
}

// Entry returns the entry of a cluster.
func (t Table) Entry(cluster string) (v1beta1.TrafficMapEntry, bool) {
	i, found := slices.BinarySearchFunc(t.Entries, cluster, func(e v1beta1.TrafficMapEntry, cluster string) int {
		return strings.Compare(e.Cluster, cluster)
	})
	if !found {
		return v1beta1.TrafficMapEntry{}, false
	}
	return t.Entries[i], true
}
