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

	drains "github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// maxDrains is how many drains a warning lists.
const maxDrains = 5

// warnOfEnds names the drains that an edit ends where it may end more than was meant: several at once, or all of them
// with the annotation.
func warnOfEnds(v *verdict) {
	removed := v.review.Diff.Removed
	whole := v.review.Kind == drains.EditRemove
	switch {
	case whole && v.review.OldFault != nil:
		v.warn("removing %s ends every drain of this service; its value was malformed, so the TrafficMap still holds the drains that it held before", drains.AnnotationKey)
	case whole && len(removed) > 0:
		v.warn("removing %s ends %s", drains.AnnotationKey, listDrains(removed))
	case len(removed) > 1:
		v.warn("this edit ends %s", listDrains(removed))
	}
}

func listDrains(list []drains.Drain) string {
	var names []string
	for _, d := range list {
		names = append(names, fmt.Sprintf("%q of cluster %q", drains.Printable(d.ID), drains.Printable(d.Cluster)))
	}
	noun := "drains"
	if len(list) == 1 {
		noun = "drain"
	}
	return fmt.Sprintf("%d %s: %s", len(list), noun, someOf(names, maxDrains))
}
