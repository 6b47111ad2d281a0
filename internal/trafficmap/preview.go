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
	"slices"

	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// Effect is what an edit of a service's drains does to its traffic. The lists hold
// clusters, sorted.
type Effect struct {
	Before, After Table

	// Moves lose a positive weight.
	Moves []string
	// Returns get a positive weight back.
	Returns []string
	// Idle are named by a new drain but have weight 0 already.
	Idle []string
	// Pending are named by a new drain but have no entry.
	Pending []string
}

// Preview computes the table under the old and under the new drains and compares them.
// The Drains of the input are not looked at.
func Preview(input Input, old, new trafficdrain.Drains) Effect {
	input.Drains = old
	effect := Effect{Before: Compute(input)}
	input.Drains = new
	effect.After = Compute(input)

	for i, before := range effect.Before.Entries {
		after := effect.After.Entries[i]
		switch {
		case before.Weight > 0 && after.Weight == 0:
			effect.Moves = append(effect.Moves, before.Cluster)
		case before.Weight == 0 && after.Weight > 0:
			effect.Returns = append(effect.Returns, before.Cluster)
		}
	}
	for _, cluster := range newlyNamed(old, new) {
		entry, exists := effect.Before.Entry(cluster)
		switch {
		case !exists:
			effect.Pending = append(effect.Pending, cluster)
		case entry.Weight == 0:
			effect.Idle = append(effect.Idle, cluster)
		}
	}
	return effect
}

// newlyNamed returns the clusters that drains name which were not there before or named
// another cluster.
func newlyNamed(old, new trafficdrain.Drains) []string {
	diff := trafficdrain.Compare(old, new)
	var clusters []string
	for _, d := range diff.Added {
		clusters = append(clusters, d.Cluster)
	}
	for _, p := range diff.Retargeted {
		clusters = append(clusters, p.New.Cluster)
	}
	slices.Sort(clusters)
	return slices.Compact(clusters)
}

// Blackout tells whether the edit itself leaves the service without traffic: it takes the
// last positive weight, or it comes to hold every home there is, so that none could take
// over when it recovers. A service that is dark already for other reasons may still have
// single homes drained.
func (e Effect) Blackout() bool {
	takesLast := e.Before.Serving() && !e.After.Serving()
	holdsAll := e.After.allHeld() && !e.Before.allHeld()
	return takesLast || holdsAll
}

func (t Table) allHeld() bool {
	return len(t.Entries) > 0 && t.Held() == len(t.Entries)
}
