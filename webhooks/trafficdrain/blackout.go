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
	"slices"
	"strings"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	drains "github.com/evenkeel-io/evenkeel/internal/trafficdrain"
	"github.com/evenkeel-io/evenkeel/internal/trafficmap"
)

const allowBlackout = evenkeel.AnnotationAllowBlackout

// ruleBlackout: the drains would leave no entry with a positive weight.
const ruleBlackout drains.Rule = "Blackout"

// maxEntries is how many clusters a message lists.
const maxEntries = 5

// insisted tells whether the service names one of the new drains as one that may leave it without traffic. A mark that
// was left over from an earlier drain therefore allows nothing.
func insisted(e *edit, added []drains.Drain) bool {
	id := e.object.Annotations[allowBlackout]
	return slices.ContainsFunc(added, func(d drains.Drain) bool { return d.ID == id })
}

// blackout says what the drains would do, cluster by cluster.
func blackout(e *edit, effect trafficmap.Effect, added []drains.Drain) string {
	var ids, entries []string
	for _, d := range added {
		ids = append(ids, fmt.Sprintf("%q", d.ID))
	}
	for i, after := range effect.After.Entries[:min(maxEntries, len(effect.After.Entries))] {
		before := effect.Before.Entries[i]
		if before.Weight > 0 {
			entries = append(entries, fmt.Sprintf("%s from weight %d to 0", after.Cluster, before.Weight))
			continue
		}
		entries = append(entries, fmt.Sprintf("%s has weight 0: %s", after.Cluster, trafficmap.ZeroCauseOf(before)))
	}
	if more := len(effect.After.Entries) - maxEntries; more > 0 {
		entries = append(entries, fmt.Sprintf("%d more", more))
	}
	noun := "drain"
	if len(ids) > 1 {
		noun = "drains"
	}
	return fmt.Sprintf("%s %s would leave InferenceService %s without traffic: of %d clusters none would serve (%s)",
		noun, someOf(ids, maxEntries), e.key(), len(effect.After.Entries), strings.Join(entries, "; "))
}

func blackoutCure(e *edit, added []drains.Drain) string {
	return fmt.Sprintf("Wait until another cluster serves, or end another drain first. To insist: kubectl annotate inferenceservice -n %s %s %s=%s",
		e.object.Namespace, e.object.Name, allowBlackout, added[0].ID)
}

// someOf lists the first of some strings and counts the others.
func someOf(list []string, limit int) string {
	if len(list) <= limit {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:limit], ", "), len(list)-limit)
}
