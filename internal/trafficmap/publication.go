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

// Publication is how far the publisher has come with a map.
type Publication int

const (
	// Published: the data plane object was written. Whether a gateway has moved traffic
	// is not known from that.
	Published Publication = iota
	// Transitioning comes before every write outside.
	Transitioning
	// Withdrawn: there is no gateway, port or host to publish to, and the route is gone.
	Withdrawn
	InvalidOwner
	InvalidOptions
	InvalidPlan
	LegacyLifecycleActive
	ClaimRejected
	// StaleTargetFailed: a retired route could not be set to zero. It has nothing to do
	// with traffic drains, despite its reason.
	StaleTargetFailed
	ApplyFailed
	PublisherChanged
	Finalizing
	// Unpublishing: the service goes or has opted out, and the route is being removed.
	Unpublishing
	// Unpublished: it is removed.
	Unpublished
)

// publications holds reason and message of the condition Published. A %q in a message
// stands for the publisher's name. What PublicationFallback becomes under a publisher that
// keeps no plans: False with a verdict of its own after a success, False with the same
// reason when nothing is meant to be published, and Unknown while it is not settled.
var publications = map[Publication]struct {
	reason, message string
	fallback        metav1.ConditionStatus
}{
	Published:             {v1beta1.ReasonPublished, "TrafficMap is published by publisher %q", metav1.ConditionFalse},
	Transitioning:         {v1beta1.ReasonTransitioning, "TrafficMap publisher is applying the current plan", metav1.ConditionUnknown},
	Withdrawn:             {v1beta1.ReasonWithdrawn, "TrafficMap publication is withdrawn by publisher %q", metav1.ConditionFalse},
	InvalidOwner:          {v1beta1.ReasonInvalidOwner, "TrafficMap owner identity is invalid or stale", metav1.ConditionUnknown},
	InvalidOptions:        {v1beta1.ReasonInvalidOptions, "Publisher options are invalid", metav1.ConditionUnknown},
	InvalidPlan:           {v1beta1.ReasonInvalidPlan, "Publisher plan is invalid", metav1.ConditionUnknown},
	LegacyLifecycleActive: {v1beta1.ReasonLegacyLifecycleActive, "Legacy endpoint publisher cleanup is incomplete", metav1.ConditionUnknown},
	ClaimRejected:         {v1beta1.ReasonClaimRejected, "Publisher claims could not be acquired", metav1.ConditionUnknown},
	StaleTargetFailed:     {v1beta1.ReasonDrainFailed, "Publisher could not drain stale targets", metav1.ConditionUnknown},
	ApplyFailed:           {v1beta1.ReasonApplyFailed, "Publisher could not apply the TrafficMap", metav1.ConditionUnknown},
	PublisherChanged:      {v1beta1.ReasonPublisherChanged, "Publisher journal does not match the selected publisher", metav1.ConditionUnknown},
	Finalizing:            {v1beta1.ReasonFinalizing, "TrafficMap publisher is removing external state", metav1.ConditionFalse},
	Unpublishing:          {v1beta1.ReasonUnpublished, "TrafficMap source is deleting or has opted out of publication", metav1.ConditionFalse},
	Unpublished:           {v1beta1.ReasonUnpublished, "TrafficMap publisher state is removed", metav1.ConditionFalse},
}

// Conditions returns the two conditions that a publisher without retained plans owns, for
// a map of the given generation. Times are left to the caller. The messages are OME's and
// general on purpose: the cause of a failure belongs into the log and an event.
func (p Publication) Conditions(publisher string, generation int64) []metav1.Condition {
	row := publications[p]
	message := row.message
	if p == Published || p == Withdrawn {
		message = fmt.Sprintf(message, publisher)
	}
	published := condition(v1beta1.TrafficMapPublished, metav1.ConditionFalse, row.reason, message)
	fallback := condition(v1beta1.TrafficMapPublicationFallback, row.fallback, row.reason, message)
	if p == Published {
		published.Status = metav1.ConditionTrue
		fallback.Reason = v1beta1.ReasonUnsupported
		fallback.Message = "The selected publisher does not retain publication plans"
	}
	published.ObservedGeneration, fallback.ObservedGeneration = generation, generation
	return []metav1.Condition{published, fallback}
}
