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

package standin

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Conditions and reasons as Modelplane, and for Ready Crossplane, write them.
const (
	conditionClusterReady      = "ClusterReady"
	reasonClusterRunning       = "ClusterRunning"
	reasonWaitingForClasses    = "WaitingForClasses"
	conditionBackendReady      = "BackendReady"
	reasonBackendHealthy       = "BackendHealthy"
	conditionModelAccepted     = "ModelAccepted"
	reasonAccepted             = "Accepted"
	reasonWaitingForCluster    = "WaitingForCluster"
	conditionModelReady        = "ModelReady"
	reasonWaitingForModel      = "WaitingForModel"
	reasonModelStarting        = "ModelStarting"
	reasonServing              = "Serving"
	reasonBackendConfigured    = "BackendConfigured"
	reasonInvalidURL           = "InvalidURL"
	conditionEndpointsResolved = "EndpointsResolved"
	reasonResolved             = "Resolved"
	reasonNoEndpoints          = "NoEndpoints"
	reasonRouteConfigured      = "RouteConfigured"
	reasonConfiguring          = "Configuring"
	reasonAvailable            = "Available"
	reasonCreating             = "Creating"
)

// condition makes one that holds or does not.
func condition(conditionType string, holds bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message}
}

// readyCondition is Crossplane's own condition, which has two reasons only.
func readyCondition(ready bool) metav1.Condition {
	if ready {
		return condition(modelplane.ConditionReady, true, reasonAvailable, "")
	}
	return condition(modelplane.ConditionReady, false, reasonCreating, "")
}

// setConditions puts conditions, seen at a generation, among others and tells
// whether that changed anything.
func setConditions(into *[]metav1.Condition, generation int64, conditions ...metav1.Condition) bool {
	changed := false
	for _, c := range conditions {
		c.ObservedGeneration = generation
		changed = meta.SetStatusCondition(into, c) || changed
	}
	return changed
}
