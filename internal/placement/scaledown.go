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

package placement

import (
	"cmp"
	"slices"
)

// Placed is a replica that has a cluster and is not leaving it.
type Placed struct {
	// Name of the replica.
	Name string
	// Cluster it is on.
	Cluster string
	// Index of the replica on that cluster.
	Index int32
	// Healthy tells that it is ready.
	Healthy bool
}

// ScaleDown gives the replicas to drop so that keep remain, first to drop first. Each time it drops one that is not
// healthy, if any; among equals one from the cluster that has most, then from the later name, then the highest index.
//
// Modelplane does not look at health and may keep a replica that does not serve while it drops one that does; Evenkeel
// drops the unhealthy one. Apart from that the order is Modelplane's.
func ScaleDown(placed []Placed, keep int) (victims []Placed) {
	keep = max(keep, 0)
	if len(placed) <= keep {
		return nil
	}
	remaining := slices.Clone(placed)
	load := map[string]int{}
	for i := range remaining {
		load[remaining[i].Cluster]++
	}
	for len(remaining) > keep {
		victim := 0
		for i := 1; i < len(remaining); i++ {
			if goesBefore(&remaining[i], &remaining[victim], load) {
				victim = i
			}
		}
		load[remaining[victim].Cluster]--
		victims = append(victims, remaining[victim])
		remaining = slices.Delete(remaining, victim, victim+1)
	}
	return victims
}

func goesBefore(a, b *Placed, load map[string]int) bool {
	if a.Healthy != b.Healthy {
		return !a.Healthy
	}
	return cmp.Or(
		cmp.Compare(load[a.Cluster], load[b.Cluster]),
		cmp.Compare(a.Cluster, b.Cluster),
		cmp.Compare(a.Index, b.Index),
		cmp.Compare(a.Name, b.Name),
	) > 0
}
