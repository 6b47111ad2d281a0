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

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RoutingSpec tunes the routing of one service. What is unset comes from the
// installation.
// +kubebuilder:pruning:PreserveUnknownFields
type RoutingSpec struct {
	// False opts the service out. True does not help when the installation has
	// routing switched off.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// What one replica serves in the named cluster relative to others. A cluster
	// that is not named counts as 1. Values must be positive.
	// +optional
	CapacityFactors map[string]resource.Quantity `json:"capacityFactors,omitempty"`

	// Replaces the installation's probe as a whole.
	// +optional
	Probe *RoutingProbe `json:"probe,omitempty"`

	// Replaces the installation's capacity poll as a whole.
	// +optional
	Capacity *RoutingCapacity `json:"capacity,omitempty"`

	// +optional
	Publisher *RoutingPublisher `json:"publisher,omitempty"`
}

// AllFailedPolicy says what happens when the probes of all clusters have failed.
// +kubebuilder:validation:Enum=PreserveTraffic;Drain
type AllFailedPolicy string

const (
	// PreserveTraffic then ignores the probes: better a doubtful home than none.
	PreserveTraffic AllFailedPolicy = "PreserveTraffic"
	// DrainTraffic then leaves every weight at 0.
	DrainTraffic AllFailedPolicy = "Drain"
)

// RoutingProbe configures the health probe. Either disabled is true and alone, or
// every other field is set.
// +kubebuilder:validation:XValidation:rule="has(self.disabled) && self.disabled ? !(has(self.path) || has(self.method) || has(self.acceptStatuses) || has(self.gateStatuses) || has(self.period) || has(self.timeout) || has(self.failureThreshold) || has(self.successThreshold) || has(self.allFailedPolicy)) : (has(self.path) && has(self.method) && has(self.acceptStatuses) && has(self.gateStatuses) && has(self.period) && has(self.timeout) && has(self.failureThreshold) && has(self.successThreshold) && has(self.allFailedPolicy))",message="set disabled alone, or all nine of path, method, acceptStatuses, gateStatuses, period, timeout, failureThreshold, successThreshold and allFailedPolicy"
// +kubebuilder:validation:XValidation:rule="!has(self.period) || !has(self.timeout) || (duration(self.timeout) > duration('0s') && duration(self.timeout) < duration(self.period))",message="timeout must be positive and shorter than period"
// +kubebuilder:validation:XValidation:rule="!has(self.gateStatuses) || !self.gateStatuses.exists(s, s in [401, 403, 429])",message="401, 403 and 429 cannot gate: they say nothing about the health of a cluster"
// +kubebuilder:validation:XValidation:rule="!has(self.gateStatuses) || !has(self.acceptStatuses) || !self.gateStatuses.exists(s, s in self.acceptStatuses)",message="a status cannot both accept and gate"
type RoutingProbe struct {
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// Appended to the endpoint.
	// +optional
	// +kubebuilder:validation:Pattern=`^/`
	Path string `json:"path,omitempty"`

	// +optional
	// +kubebuilder:validation:Enum=GET;HEAD;POST
	Method string `json:"method,omitempty"`

	// Statuses that pass.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:Minimum=100
	// +kubebuilder:validation:items:Maximum=599
	AcceptStatuses []int32 `json:"acceptStatuses,omitempty"`

	// Statuses that fail. One in neither list is no verdict.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:Minimum=100
	// +kubebuilder:validation:items:Maximum=599
	GateStatuses []int32 `json:"gateStatuses,omitempty"`

	// +optional
	Period *metav1.Duration `json:"period,omitempty"`

	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Failures in a row that close the gate.
	// +optional
	// +kubebuilder:validation:Minimum=1
	FailureThreshold int32 `json:"failureThreshold,omitempty"`

	// Passes in a row that open it again.
	// +optional
	// +kubebuilder:validation:Minimum=1
	SuccessThreshold int32 `json:"successThreshold,omitempty"`

	// +optional
	AllFailedPolicy AllFailedPolicy `json:"allFailedPolicy,omitempty"`
}

// RoutingCapacity configures the capacity poll. Either disabled is true and alone, or
// every other field but options is set.
// +kubebuilder:validation:XValidation:rule="has(self.disabled) && self.disabled ? !(has(self.path) || has(self.method) || has(self.format) || has(self.options) || has(self.samples) || has(self.quorum) || has(self.period) || has(self.timeout) || has(self.maxAge)) : (has(self.path) && has(self.method) && has(self.format) && has(self.samples) && has(self.quorum) && has(self.period) && has(self.timeout) && has(self.maxAge))",message="set disabled alone, or all of path, method, format, samples, quorum, period, timeout and maxAge"
// +kubebuilder:validation:XValidation:rule="!has(self.period) || !has(self.timeout) || (duration(self.timeout) > duration('0s') && duration(self.timeout) < duration(self.period))",message="timeout must be positive and shorter than period"
// +kubebuilder:validation:XValidation:rule="!has(self.samples) || !has(self.quorum) || self.quorum <= self.samples",message="quorum cannot be larger than samples"
// +kubebuilder:validation:XValidation:rule="!has(self.period) || !has(self.maxAge) || duration(self.maxAge) >= duration(self.period)",message="maxAge must not be shorter than period"
type RoutingCapacity struct {
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// +optional
	// +kubebuilder:validation:Pattern=`^/`
	Path string `json:"path,omitempty"`

	// +optional
	// +kubebuilder:validation:Enum=GET;HEAD;POST
	Method string `json:"method,omitempty"`

	// Shape of the answer.
	// +optional
	// +kubebuilder:validation:Enum=Report
	Format string `json:"format,omitempty"`

	// +optional
	Options map[string]string `json:"options,omitempty"`

	// Readings that are kept.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Samples int32 `json:"samples,omitempty"`

	// Readings that must agree before a report lowers a count.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Quorum int32 `json:"quorum,omitempty"`

	// +optional
	Period *metav1.Duration `json:"period,omitempty"`

	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Age beyond which a reading is dropped. At least quorum times period.
	// +optional
	MaxAge *metav1.Duration `json:"maxAge,omitempty"`
}

// RoutingPublisher hands options to the publisher of the installation.
type RoutingPublisher struct {
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) >= 1 && size(k) <= 128 && size(self[k]) >= 1 && size(self[k]) <= 4096)",message="keys have 1 to 128 characters, values 1 to 4096"
	Options map[string]string `json:"options,omitempty"`
}
