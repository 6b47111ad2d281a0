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
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/text"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
	weights "github.com/evenkeel-io/evenkeel/internal/trafficmap"
)

const (
	// recorder is the name under which events are recorded.
	recorder = "evenkeel-trafficmap"
	// eventAction says in events what the controller does about them.
	eventAction = "KeepTrafficMap"
)

// Reasons of events, all on the InferenceService.
const (
	// reasonFrozen is a service whose map is left as it is, or not made, since what it is made from is not valid.
	reasonFrozen = "TrafficMapFrozen"
	// reasonNameTaken is a service whose map cannot be made, since somebody else's has its name.
	reasonNameTaken = "TrafficMapNameTaken"
	// reasonDrained is a cluster that gets no traffic of the service from now on, by a drain.
	reasonDrained = "TrafficDrained"
	// reasonUndrained is a cluster that no drain of the service holds any more.
	reasonUndrained = "TrafficUndrained"
	// reasonDark is a service that no cluster gets traffic for.
	reasonDark = "NotRoutable"
)

// maxMessage is how long a message of an event or a condition may be.
const maxMessage = 1000

func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return text.Prefix(message, maxMessage-3) + "..."
}

func (r *Reconciler) warn(isvc *ome.InferenceService, reason, message string) {
	r.Recorder.Eventf(isvc, nil, corev1.EventTypeWarning, reason, eventAction, "%s", bounded(message))
}

// tell reports which clusters have come to be held or released, and that nobody serves any
// more. before is nil for a new map.
func (r *Reconciler) tell(isvc *ome.InferenceService, before *ome.TrafficMap, after weights.Table) {
	held := map[string]bool{}
	if before != nil {
		for _, e := range before.Spec.Entries {
			held[e.Cluster] = len(e.DrainRefs) > 0
		}
	}
	for _, e := range after.Entries {
		switch now := len(e.DrainRefs) > 0; {
		case now && !held[e.Cluster]:
			r.Recorder.Eventf(isvc, nil, corev1.EventTypeNormal, reasonDrained, eventAction,
				"Cluster %s is held at weight 0 by %s", e.Cluster, ids(e.DrainRefs))
		case !now && held[e.Cluster]:
			r.Recorder.Eventf(isvc, nil, corev1.EventTypeNormal, reasonUndrained, eventAction,
				"Cluster %s is not held any more and has weight %d", e.Cluster, e.Weight)
		}
	}
	wasDark := before == nil || !meta.IsStatusConditionTrue(before.Status.Conditions, ome.TrafficMapRoutable)
	if !wasDark && !after.Serving() {
		routable := meta.FindStatusCondition(after.Conditions(0), ome.TrafficMapRoutable)
		if routable.Status == metav1.ConditionFalse {
			r.warn(isvc, reasonDark, fmt.Sprintf("Nobody serves: %s", routable.Message))
		}
	}
}

// maxListed is how many drains an event names.
const maxListed = 5

func ids(refs []string) string {
	var names []string
	for _, ref := range refs[:min(len(refs), maxListed)] {
		names = append(names, fmt.Sprintf("%q", trafficdrain.Printable(ref)))
	}
	said := "drain " + strings.Join(names, ", ")
	if more := len(refs) - maxListed; more > 0 {
		said += fmt.Sprintf(" and %d more", more)
	}
	return said
}
