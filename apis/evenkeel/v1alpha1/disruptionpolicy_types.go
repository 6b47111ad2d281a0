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

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// DisruptionStrategy is the order of the steps of a move.
// +kubebuilder:validation:Enum=Recreate;MakeBeforeBreak
type DisruptionStrategy string

const (
	// StrategyRecreate deletes a replica once its replacement has a destination, and then starts the replacement there.
	StrategyRecreate DisruptionStrategy = "Recreate"
	// StrategyMakeBeforeBreak starts the replacement first, and deletes the replica once the replacement serves.
	StrategyMakeBeforeBreak DisruptionStrategy = "MakeBeforeBreak"
)

// UnplaceablePolicy is what becomes of a replica that must leave and has nowhere to go.
// +kubebuilder:validation:Enum=Evict;Hold
type UnplaceablePolicy string

const (
	// WhenUnplaceableEvict deletes it, after all that can be moved have been.
	WhenUnplaceableEvict UnplaceablePolicy = "Evict"
	// WhenUnplaceableHold keeps it until it has somewhere to go.
	WhenUnplaceableHold UnplaceablePolicy = "Hold"
)

// DisruptionSettings are what moves of replicas keep to. A field that is absent leaves the matter to others: of the
// policies that select a deployment the most careful value of each field holds, and where none has the field, the
// manager's default.
type DisruptionSettings struct {
	// MaxUnavailable is how many of a deployment's replicas, or which part of those that it wants, may at most be without
	// service because of moves. A percentage is rounded up, as for a PodDisruptionBudget. The smallest holds. With the
	// strategy MakeBeforeBreak, under which a move takes no replica out of service before another serves, it is how many
	// move at a time, and 0 means one.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(100|[0-9]{1,2})%$')",message="maxUnavailable must be a number that is not negative, or a percentage from 0% to 100%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// Strategy is the order of the steps. MakeBeforeBreak wins over Recreate.
	// +optional
	Strategy DisruptionStrategy `json:"strategy,omitempty"`
	// WhenUnplaceable says what becomes of a replica that has nowhere to go. Hold wins over Evict.
	// +optional
	WhenUnplaceable UnplaceablePolicy `json:"whenUnplaceable,omitempty"`
	// ReadyTimeout is how long a replacement may take to serve: so long it counts as unavailable, and after that a
	// replacement made before its origin is deleted goes again. The longest holds.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:Type=string
	// +optional
	ReadyTimeout *metav1.Duration `json:"readyTimeout,omitempty"`
	// TrafficGracePeriod is how long to wait at most for the routes to a replica to go before it is deleted. The longest
	// holds.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:Type=string
	// +optional
	TrafficGracePeriod *metav1.Duration `json:"trafficGracePeriod,omitempty"`
	// RequestGracePeriod is how long a replica runs on when no route names it any more, so that requests that it has
	// begun to answer can end. The longest holds.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:Type=string
	// +optional
	RequestGracePeriod *metav1.Duration `json:"requestGracePeriod,omitempty"`
	// Paused holds back every move that has not begun to take traffic away. True wins over false.
	// +optional
	Paused *bool `json:"paused,omitempty"`
}

// DisruptionPolicySpec selects deployments and says how their replicas are moved.
type DisruptionPolicySpec struct {
	// Selector of ModelDeployments in the policy's namespace, by their labels. An empty one selects all of them.
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && size(e.values) > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || size(e.values) == 0))",message="an expression is In or NotIn with values, or Exists or DoesNotExist without"
	Selector *metav1.LabelSelector `json:"selector"`

	DisruptionSettings `json:",inline"`
}

// DisruptionPolicy says how carefully the replicas of ModelDeployments are moved when they must leave their cluster.
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=dp,categories=evenkeel
// +kubebuilder:printcolumn:name="Max Unavailable",type=string,JSONPath=`.spec.maxUnavailable`
// +kubebuilder:printcolumn:name="Strategy",type=string,JSONPath=`.spec.strategy`
// +kubebuilder:printcolumn:name="Unplaceable",type=string,JSONPath=`.spec.whenUnplaceable`
// +kubebuilder:printcolumn:name="Paused",type=boolean,JSONPath=`.spec.paused`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ready Timeout",type=string,JSONPath=`.spec.readyTimeout`,priority=1
// +kubebuilder:printcolumn:name="Traffic Grace",type=string,JSONPath=`.spec.trafficGracePeriod`,priority=1
type DisruptionPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              DisruptionPolicySpec `json:"spec"`
}

// DisruptionPolicyList is a list of DisruptionPolicies.
// +kubebuilder:object:root=true
type DisruptionPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DisruptionPolicy `json:"items"`
}
