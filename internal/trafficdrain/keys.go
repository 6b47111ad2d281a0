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
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

const nearMissDistance = 2

// NearMissKey tells whether an annotation key was probably meant to be AnnotationKey:
// it starts with it, or differs in at most two characters, letter case aside. Such a key
// drains nothing and nobody notices.
func NearMissKey(key string) bool {
	if key == AnnotationKey {
		return false
	}
	lower := strings.ToLower(key)
	return strings.HasPrefix(lower, AnnotationKey) || distance(lower, AnnotationKey) <= nearMissDistance
}

// CheckKeys refuses an edit that adds a near-miss key or changes the value of one. Those
// that are there already may stay and may go. The error is a *Refusal about the first of
// them in order, with the words of OME's own validator.
func CheckKeys(old, new map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(new)) {
		if before, existed := old[key]; existed && before == new[key] {
			continue
		}
		if NearMissKey(key) {
			return refuse(RuleNearMissKey, "",
				fmt.Sprintf("unknown traffic annotation %q. Did you mean %q? (UnknownTrafficAnnotation)", Printable(key), AnnotationKey),
				"this key drains nothing",
				fmt.Sprintf("Put all drains into the one annotation %s", AnnotationKey))
		}
	}
	return nil
}

// IsDerivedCopy tells whether labels and annotations mark an object as a copy that
// placement made for a workload cluster. A drain belongs on its source; the presence of a
// mark is enough, whatever its value.
func IsDerivedCopy(labels, annotations map[string]string) bool {
	_, origin := labels[v1beta1.PlacementOriginLabel]
	_, controlPlane := labels[v1beta1.PlacementControlPlaneLabel]
	_, originUID := annotations[v1beta1.PlacementOriginUIDAnnotation]
	return origin || controlPlane || originUID
}

// distance is the number of characters to insert, delete or replace.
func distance(a, b string) int {
	return levenshtein.ComputeDistance(a, b)
}
