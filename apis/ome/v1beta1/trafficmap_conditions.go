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

package v1beta1

// Condition types of a TrafficMap.
const (
	// TrafficMapRoutable is true when an entry has a positive weight.
	TrafficMapRoutable = "Routable"
	// TrafficMapCapacityFallback is true, and that is the bad state, when an entry
	// falls back from its endpoint's report to the control plane's count.
	TrafficMapCapacityFallback = "CapacityFallback"
	// TrafficMapOverrideActive is true when a drain holds an entry.
	TrafficMapOverrideActive = "OverrideActive"
	// TrafficMapPublished is true when the data plane was given the weights.
	TrafficMapPublished = "Published"
	// TrafficMapPublicationFallback tells whether an older plan was put back.
	TrafficMapPublicationFallback = "PublicationFallback"
)

// Reasons of the condition Routable.
const (
	ReasonRoutable            = "Routable"
	ReasonNotPlaced           = "NotPlaced"
	ReasonNoAddressableHome   = "NoAddressableHome"
	ReasonAllHomesUnready     = "AllHomesUnready"
	ReasonNoRoutableCapacity  = "NoRoutableCapacity"
	ReasonAllHomesProbeFailed = "AllHomesProbeFailed"
	ReasonTrafficDrain        = "TrafficDrain"
)

// Reasons of the condition OverrideActive.
const (
	ReasonOverridesApplied = "OverridesApplied"
	ReasonOverridesPending = "OverridesPending"
	ReasonNoOverrides      = "NoOverrides"
)

// Reasons of the condition CapacityFallback.
const (
	ReasonCapacityPollingDisabled     = "CapacityPollingDisabled"
	ReasonNoCapacityTargets           = "NoCapacityTargets"
	ReasonEndpointCapacityAvailable   = "EndpointCapacityAvailable"
	ReasonEndpointCapacityUnavailable = "EndpointCapacityUnavailable"
)

// Reasons of the condition Published.
const (
	ReasonPublished             = "Published"
	ReasonTransitioning         = "Transitioning"
	ReasonWithdrawn             = "Withdrawn"
	ReasonInvalidOwner          = "InvalidOwner"
	ReasonInvalidOptions        = "InvalidOptions"
	ReasonInvalidPlan           = "InvalidPlan"
	ReasonLegacyLifecycleActive = "LegacyLifecycleActive"
	ReasonClaimRejected         = "ClaimRejected"
	ReasonDrainFailed           = "DrainFailed"
	ReasonApplyFailed           = "ApplyFailed"
	ReasonPublisherChanged      = "PublisherChanged"
	ReasonFinalizing            = "Finalizing"
	ReasonUnpublished           = "Unpublished"
)

// ReasonUnsupported is the reason of PublicationFallback under a publisher that does
// not keep plans.
const ReasonUnsupported = "Unsupported"
