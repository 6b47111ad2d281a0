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
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// conditionInputValid is False on a map that no longer changes because its service cannot be
// read: the entries are the last valid ones. It is absent where that never happened.
const conditionInputValid = "evenkeel.io/InputValid"

// Reasons of the condition.
const (
	// reasonInvalidDrains is the reason of the condition evenkeel.io/InputValid where the annotation with the drains is not valid.
	reasonInvalidDrains = "InvalidTrafficDrain"
	// reasonInvalidRouting is its reason where the service's own routing is not valid.
	reasonInvalidRouting = "InvalidRouting"
	// reasonValid is its reason where all is valid again.
	reasonValid = "Valid"
)

// freeze leaves the map as it is, whole, and says why. A new look is taken when the service
// changes. What was written into the annotation may be a secret, so only the refusal's safe
// words are repeated.
func (r *Reconciler) freeze(ctx context.Context, isvc *ome.InferenceService, tm *ome.TrafficMap, fault error) error {
	reason, said, log := reasonInvalidRouting, fault.Error(), fault.Error()
	var refusal *trafficdrain.Refusal
	if errors.As(fault, &refusal) {
		prefix := "parse " + trafficdrain.AnnotationKey + ": "
		reason, said, log = reasonInvalidDrains, prefix+refusal.Explain(), prefix+refusal.Safe()
	}
	if err := r.sayFrozen(ctx, isvc, tm, reason, said); err != nil {
		return err
	}
	return reconcile.TerminalError(errors.New(log))
}

func (r *Reconciler) sayFrozen(ctx context.Context, isvc *ome.InferenceService, tm *ome.TrafficMap, reason, said string) error {
	if tm == nil || !metav1.IsControlledBy(tm, isvc) {
		r.warn(isvc, reasonFrozen, "No TrafficMap is made: "+said)
		return nil
	}
	message := bounded(fmt.Sprintf("The last valid map is kept: %s", said))
	conditions := append([]metav1.Condition{}, tm.Status.Conditions...)
	if !r.setCondition(&conditions, metav1.Condition{
		Type: conditionInputValid, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: tm.Generation,
	}) {
		return nil
	}
	r.warn(isvc, reasonFrozen, message)
	return r.applyStatus(ctx, tm, inputManager, map[string]any{}, []metav1.Condition{*meta.FindStatusCondition(conditions, conditionInputValid)})
}

// thaw takes back what freeze said.
func (r *Reconciler) thaw(ctx context.Context, tm *ome.TrafficMap) error {
	c := meta.FindStatusCondition(tm.Status.Conditions, conditionInputValid)
	if c == nil || c.Status == metav1.ConditionTrue {
		return nil
	}
	conditions := append([]metav1.Condition{}, tm.Status.Conditions...)
	r.setCondition(&conditions, metav1.Condition{
		Type: conditionInputValid, Status: metav1.ConditionTrue, Reason: reasonValid,
		Message: "The map follows its service again", ObservedGeneration: tm.Generation,
	})
	return r.applyStatus(ctx, tm, inputManager, map[string]any{}, []metav1.Condition{*meta.FindStatusCondition(conditions, conditionInputValid)})
}
