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

package trafficdrain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Standing is what a service's TrafficMap and the hub's registry know of a cluster.
type Standing string

const (
	// StandingServing: the cluster has an entry, so a drain holds it at once.
	StandingServing Standing = "Serving"
	// StandingPending: the cluster is registered but has no entry, so a drain holds it
	// from the moment that one appears.
	StandingPending Standing = "Pending"
	// StandingUnknown: neither, probably a typing error.
	StandingUnknown Standing = "Unknown"
)

// StandingOf looks a cluster up by its exact name. serving are the clusters of the
// TrafficMap's entries, registered the names of the WorkloadClusters.
func StandingOf(cluster string, serving, registered []string) Standing {
	switch {
	case slices.Contains(serving, cluster):
		return StandingServing
	case slices.Contains(registered, cluster):
		return StandingPending
	default:
		return StandingUnknown
	}
}

const (
	maxSuggestions = 3
	maxListed      = 5
)

// UnknownCluster builds the refusal of a drain whose cluster is StandingUnknown. It says
// which names are near and, when none is, which clusters serve now.
func UnknownCluster(d Drain, serving, registered []string) *Refusal {
	cluster := Printable(d.Cluster)
	cure := "Register the WorkloadCluster first, or use the name of one that exists"
	if near := Nearest(d.Cluster, slices.Concat(serving, registered), maxSuggestions); len(near) > 0 {
		cure = fmt.Sprintf("Did you mean %s?", quoteList(near, " or "))
	} else if len(serving) > 0 {
		cure = fmt.Sprintf("The service is served by %s", someOf(serving))
	}
	return refuse(RuleUnknownCluster, d.ID,
		fmt.Sprintf("drain %q names the unknown cluster %q", Printable(d.ID), cluster),
		"it is neither an entry of the service's TrafficMap nor a WorkloadCluster, so the drain would hold nothing",
		cure)
}

// Nearest returns at most limit of the known names that are close to name, the closest
// first, equally close ones in order. Close is a third of the name's length in characters
// to change, but at least two; letter case does not count.
func Nearest(name string, known []string, limit int) []string {
	type candidate struct {
		name     string
		distance int
	}
	reach := max(2, len(name)/3)
	lower := strings.ToLower(name)
	var near []candidate
	for _, k := range slices.Compact(slices.Sorted(slices.Values(known))) {
		// The lengths alone tell most apart, and the rest stays cheap with many clusters.
		if len(k)-len(name) > reach || len(name)-len(k) > reach {
			continue
		}
		if d := distance(lower, strings.ToLower(k)); d <= reach {
			near = append(near, candidate{k, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, c := range near[:min(limit, len(near))] {
		names = append(names, c.name)
	}
	return names
}

func someOf(names []string) string {
	sorted := slices.Sorted(slices.Values(names))
	if len(sorted) <= maxListed {
		return quoteList(sorted, ", ")
	}
	return fmt.Sprintf("%s and %d more", quoteList(sorted[:maxListed], ", "), len(sorted)-maxListed)
}

func quoteList(names []string, separator string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(quoted, separator)
}
