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

package replicas

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// Decide says what to do next for one deployment. The same observation, in whatever order its lists come, gives the same
// result; an observation in which all of the result is done gives no action.
func Decide(o Observation) Result {
	if len(o.Deployment.Name) > placement.MaxLabelValue {
		return refuse(o)
	}
	o.Endpoints = slices.SortedFunc(slices.Values(o.Endpoints), func(a, b *modelplane.ModelEndpoint) int {
		return cmp.Compare(a.Name, b.Name)
	})
	s := newState(o)
	s.findCauses()
	s.findRollbacks()
	adopting, surplus := s.adopt()
	s.scale(adopting)
	for _, sl := range s.slots {
		s.tidy(sl)
	}
	idle := s.move()
	if idle && adopting == 0 && len(s.countedSlots()) >= int(o.Deployment.Spec.Replicas) {
		s.dropSurplus(surplus)
	}
	s.refresh()
	s.stamp()
	s.route()
	s.hurryArrivals()
	s.spare()
	s.mark()
	s.trimHistory()
	s.report()
	slices.SortStableFunc(s.result.Actions, func(a, b Action) int { return cmp.Compare(phase(a), phase(b)) })
	if !s.deadline.IsZero() {
		s.result.RequeueAfter = s.deadline.Sub(s.Now)
	}
	return s.result
}

// phase orders actions: what is decided is written down before it is done, traffic goes before what serves it, and what
// makes room comes before what takes it.
func phase(a Action) int {
	switch a.(type) {
	case SetPlacementStatus, SparePlacement:
		return 0
	case AssignAdopted:
		return 1
	case DeleteEndpoint:
		return 2
	case DeleteReplica:
		return 3
	case DeletePlacement:
		return 4
	case UpdatePlacement:
		return 5
	case CreatePlacement:
		return 6
	case CreateReplica:
		return 7
	case UpdateReplica:
		return 8
	case HurryService:
		return 10
	default:
		return 9
	}
}

// refuse reports a deployment whose replicas could not be labelled. The API server would refuse each of them; saying so
// once, on the deployment, is better.
func refuse(o Observation) Result {
	message := fmt.Sprintf("the name has %d characters; replicas carry it as a label value, which holds at most %d: use a shorter name",
		len(o.Deployment.Name), placement.MaxLabelValue)
	s := &state{Observation: o}
	scheduled := s.deploymentCondition(modelplane.ConditionReplicasScheduled, metav1.ConditionFalse, ReasonInvalidName, message)
	readiness := s.deploymentCondition(modelplane.ConditionReplicasReady, metav1.ConditionFalse, ReasonNoReplicasScheduled, "")
	s.result.Status.Conditions = []metav1.Condition{scheduled, readiness}
	if !o.Composed {
		s.result.Status.Conditions = append(s.result.Status.Conditions, s.overall(scheduled, readiness))
	}
	s.tellStatus(scheduled, nil)
	return s.result
}
