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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// Conditions returns the three conditions that the routing controller owns, for a map of
// the given generation. Times are left to the caller. Reasons and messages are OME's to
// the letter, because people and scripts look for them; for two reasons of
// CapacityFallback OME's messages are not known and these are Evenkeel's own.
func (t Table) Conditions(generation int64) []metav1.Condition {
	conditions := []metav1.Condition{t.routable(), t.capacityFallback(), t.overrideActive()}
	for i := range conditions {
		conditions[i].ObservedGeneration = generation
	}
	return conditions
}

// routable takes the first reason that applies, in OME's order. A table that was all zero
// before the drains keeps the reason it had.
func (t Table) routable() metav1.Condition {
	no := func(reason, format string, args ...any) metav1.Condition {
		return condition(v1beta1.TrafficMapRoutable, metav1.ConditionFalse, reason, fmt.Sprintf(format, args...))
	}
	yes := func(reason, format string, args ...any) metav1.Condition {
		return condition(v1beta1.TrafficMapRoutable, metav1.ConditionTrue, reason, fmt.Sprintf(format, args...))
	}
	n := len(t.Entries)
	gated := allGated(t.input.Homes)
	switch {
	case n == 0 && !t.input.Placed:
		return no(v1beta1.ReasonNotPlaced, "InferenceService is not Placed; no homes to route to yet")
	case n == 0:
		return no(v1beta1.ReasonNoAddressableHome, "placed, but no admitted home reports an addressable endpoint")
	case t.Serving() && gated:
		return yes(v1beta1.ReasonAllHomesProbeFailed,
			"%d home(s) have conclusive probe failures; preserving traffic among homes with ready capacity", n)
	case t.Serving():
		return yes(v1beta1.ReasonRoutable, "%d home(s) serving", n)
	case t.servingUndrained():
		return no(v1beta1.ReasonTrafficDrain, "manual traffic-drain overrides set all %d route arm(s) to zero", n)
	case !t.any(func(h Home) bool { return h.Ready > 0 }):
		return no(v1beta1.ReasonAllHomesUnready, "%d home(s) addressable but none has ready replicas; all route weights are zero", n)
	case gated && t.any(func(h Home) bool { return h.routable() > 0 }):
		return no(v1beta1.ReasonAllHomesProbeFailed, "%d home(s) have conclusive probe failures; all route weights are zero", n)
	default:
		return no(v1beta1.ReasonNoRoutableCapacity, "%d home(s) addressable but none has positive routable capacity; all route weights are zero", n)
	}
}

func (t Table) servingUndrained() bool {
	for _, w := range t.Undrained {
		if w > 0 {
			return true
		}
	}
	return false
}

func (t Table) any(is func(Home) bool) bool {
	for _, h := range t.input.Homes {
		if is(h) {
			return true
		}
	}
	return false
}

// capacityFallback is true in the bad case.
func (t Table) capacityFallback() metav1.Condition {
	n, fallbacks := len(t.Entries), 0
	for _, h := range t.input.Homes {
		if h.FallbackReason != "" {
			fallbacks++
		}
	}
	status, reason, message := metav1.ConditionFalse, "", ""
	switch {
	case !t.input.Polling:
		reason, message = v1beta1.ReasonCapacityPollingDisabled, "endpoint capacity polling is disabled"
	case n == 0:
		reason, message = v1beta1.ReasonNoCapacityTargets, "no home to poll for endpoint capacity"
	case fallbacks > 0:
		status = metav1.ConditionTrue
		reason = v1beta1.ReasonEndpointCapacityUnavailable
		message = fmt.Sprintf("%d of %d home(s) are using control-plane capacity; inspect spec.entries[].capacity.fallbackReason", fallbacks, n)
	default:
		reason = v1beta1.ReasonEndpointCapacityAvailable
		message = fmt.Sprintf("endpoint capacity is available for all %d home(s)", n)
	}
	return condition(v1beta1.TrafficMapCapacityFallback, status, reason, message)
}

// overrideActive is true as soon as one drain holds an entry, even when others are
// pending: only the counts of its message tell.
func (t Table) overrideActive() metav1.Condition {
	all, applied, held := len(t.input.Drains), 0, t.Held()
	for _, e := range t.Entries {
		applied += len(e.DrainRefs) // each drain names one cluster, each cluster has one entry
	}
	status, reason, message := metav1.ConditionFalse, "", ""
	switch {
	case all == 0:
		reason, message = v1beta1.ReasonNoOverrides, "no traffic-drain annotation override is configured"
	case applied == 0:
		reason = v1beta1.ReasonOverridesPending
		message = fmt.Sprintf("%d traffic-drain annotation override(s) pending; no matching routable arm", all)
	default:
		status = metav1.ConditionTrue
		reason = v1beta1.ReasonOverridesApplied
		message = fmt.Sprintf("%d of %d traffic-drain annotation override(s) active across %d route arm(s); inspect spec.entries[].drainRefs", applied, all, held)
	}
	return condition(v1beta1.TrafficMapOverrideActive, status, reason, message)
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}
