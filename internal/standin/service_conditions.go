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
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// serviceConditions tells how a service's selectors and its route stand.
func serviceConditions(r resolution) (resolved, routing metav1.Condition) {
	if len(r.backends)+r.waiting == 0 {
		return condition(conditionEndpointsResolved, false, reasonNoEndpoints, "No ModelEndpoints matched the configured selectors"),
			condition(modelplane.ConditionRoutingReady, false, reasonConfiguring, "")
	}
	message := fmt.Sprintf("Matched %d endpoint(s)", len(r.backends)+r.waiting)
	if r.waiting > 0 {
		message += fmt.Sprintf("; %d waiting for Backend", r.waiting)
	}
	resolved = condition(conditionEndpointsResolved, true, reasonResolved, message)
	if len(r.backends) == 0 {
		return resolved, condition(modelplane.ConditionRoutingReady, false, reasonConfiguring, "")
	}
	return resolved, condition(modelplane.ConditionRoutingReady, true, reasonRouteConfigured, "")
}
