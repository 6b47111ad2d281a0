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

import "slices"

// Diff is what an edit does to the drains of a service. All lists are ordered by ID.
type Diff struct {
	// Added and Removed are whole drains.
	Added, Removed []Drain
	// Retargeted have the same ID and another cluster.
	Retargeted []Pair
	// Reworded have the same ID and cluster and another reason.
	Reworded []Pair
}

// Pair is one drain before and after an edit.
type Pair struct {
	Old, New Drain
}

// Compare lists the differences between two sets of drains. Strings are compared byte
// for byte after JSON decoding, so the same drains in another layout do not differ.
func Compare(old, new Drains) Diff {
	var diff Diff
	for _, after := range new {
		before, existed := old.Get(after.ID)
		switch {
		case !existed:
			diff.Added = append(diff.Added, after)
		case before.Cluster != after.Cluster:
			diff.Retargeted = append(diff.Retargeted, Pair{Old: before, New: after})
		case before.Reason != after.Reason:
			diff.Reworded = append(diff.Reworded, Pair{Old: before, New: after})
		}
	}
	for _, before := range old {
		if _, stays := new.Get(before.ID); !stays {
			diff.Removed = append(diff.Removed, before)
		}
	}
	return diff
}

// Subset tells whether the edit only takes drains away, if it does anything.
func (d Diff) Subset() bool {
	return len(d.Added) == 0 && len(d.Retargeted) == 0 && len(d.Reworded) == 0
}

// Released returns the clusters that some old drain named and no new one does, sorted.
// The edit gives them their traffic back.
func Released(old, new Drains) []string {
	kept := new.Clusters()
	return slices.DeleteFunc(old.Clusters(), func(cluster string) bool {
		_, still := slices.BinarySearch(kept, cluster)
		return still
	})
}
