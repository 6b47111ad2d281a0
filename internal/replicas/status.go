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
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/text"
)

// Reasons of a deployment's conditions: Modelplane's, and three for what Modelplane does not know.
const (
	// ReasonNoClusters is a deployment that finds no InferenceCluster on the hub.
	ReasonNoClusters = "NoClusters"
	// ReasonInvalidNodeSelector is one with a device selector that is no valid expression.
	ReasonInvalidNodeSelector = "InvalidNodeSelector"
	// ReasonInsufficientCapacity is one some of whose replicas fit nowhere.
	ReasonInsufficientCapacity = "InsufficientCapacity"
	// ReasonScheduling is one whose replicas the scheduler has not looked at yet.
	ReasonScheduling = "Scheduling"
	// ReasonReplicasCreated is one all of whose replicas have a cluster.
	ReasonReplicasCreated = "ReplicasCreated"
	// ReasonAllReplicasReady is one all of whose placed replicas are ready.
	ReasonAllReplicasReady = "AllReplicasReady"
	// ReasonModelStarting is one with replicas that are not ready yet.
	ReasonModelStarting = "ModelStarting"
	// ReasonNoReplicasScheduled is one of which no replica has a cluster.
	ReasonNoReplicasScheduled = "NoReplicasScheduled"
	// ReasonCacheResolved is one whose ModelCache is there and can be used.
	ReasonCacheResolved = "ModelCacheResolved"
	// ReasonCacheUnresolved is one whose ModelCache cannot be used yet.
	ReasonCacheUnresolved = "ModelCacheUnresolved"
	// ReasonCacheNotFound is one whose ModelCache does not exist.
	ReasonCacheNotFound = "ModelCacheNotFound"
	// ReasonAvailable is Crossplane's own of the condition Ready where it is true.
	ReasonAvailable = "Available"
	// ReasonCreating is Crossplane's own of the condition Ready where it is not true yet.
	ReasonCreating = "Creating"
	// ReasonInvalidName is a deployment whose name does not fit into a label.
	ReasonInvalidName = "InvalidName"
	// ReasonPriorityClassNotFound is a deployment whose priority class does not exist.
	ReasonPriorityClassNotFound = "PriorityClassNotFound"
)

// report says on the deployment how it stands.
func (s *state) report() {
	placed, ready, observed := s.placed()
	s.result.Status.Total = int32(len(placed))
	s.result.Status.Ready = int32(ready)
	scheduled := s.scheduled(placed, observed)
	readiness := s.replicasReady(len(placed), ready)
	s.result.Status.Conditions = []metav1.Condition{scheduled, readiness}
	if cache, ok := s.cacheResolved(); ok {
		s.result.Status.Conditions = append(s.result.Status.Conditions, cache)
	}
	if !s.Composed {
		s.result.Status.Conditions = append(s.result.Status.Conditions, s.overall(scheduled, readiness))
	}
	s.tellStatus(scheduled, placed)
	s.count()
}

// placed gives one unit for each wanted replica that has a cluster, how many of these serve, and how many exist.
func (s *state) placed() (placed []*unit, ready, observed int) {
	for _, sl := range s.slots {
		if sl.victim || sl.vacated() {
			continue
		}
		u := sl.holder()
		if u == nil {
			u = sl.keeper()
		}
		if u == nil {
			continue
		}
		placed = append(placed, u)
		if sl.ready() {
			ready++
		}
		if u.alive() {
			observed++
		}
	}
	return placed, ready, observed
}

func (s *state) deploymentCondition(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return condition(s.Deployment.Status.Conditions, s.Deployment.Generation, s.Now, conditionType, status, reason, Bounded(message))
}

func (s *state) scheduled(placed []*unit, observed int) metav1.Condition {
	no := func(reason, message string) metav1.Condition {
		return s.deploymentCondition(modelplane.ConditionReplicasScheduled, metav1.ConditionFalse, reason, message)
	}
	wanted := int(s.Deployment.Spec.Replicas)
	switch missing := wanted - len(placed); {
	case s.invalid != nil:
		return no(ReasonInvalidNodeSelector, "Invalid nodeSelector CEL expression: "+s.invalid.Error())
	case s.Priority.Missing:
		return no(ReasonPriorityClassNotFound, fmt.Sprintf("PriorityClass %s not found; holding replica placement", s.Priority.ClassName))
	case s.candidates == 0:
		return no(ReasonNoClusters, s.explainNoClusters())
	case missing > 0 && s.stuck() != "":
		return no(ReasonInsufficientCapacity, s.explainShortfall(len(placed), s.stuck()))
	case missing > 0 && s.silent() != "":
		return no(ReasonScheduling, s.explainShortfall(len(placed), s.silent()))
	case observed == 0:
		return no(ReasonScheduling, "")
	default:
		return s.deploymentCondition(modelplane.ConditionReplicasScheduled, metav1.ConditionTrue, ReasonReplicasCreated,
			fmt.Sprintf("Scheduled %d of %d replicas", len(placed), wanted))
	}
}

func (s *state) explainNoClusters() string {
	if len(s.Clusters) == 0 {
		return "there are no InferenceClusters"
	}
	return fmt.Sprintf("none of %d InferenceClusters has the labels that the clusterSelector asks for", len(s.Clusters))
}

func (s *state) explainShortfall(placed int, why string) string {
	if placed == 0 {
		return fmt.Sprintf("0 of %d replicas scheduled (checked %d clusters): %s", s.Deployment.Spec.Replicas, s.candidates, why)
	}
	return fmt.Sprintf("%d of %d replicas scheduled: %s", placed, s.Deployment.Spec.Replicas, why)
}

// stuck says why a wanted replica has no destination, empty where each has one or may still get one.
func (s *state) stuck() string {
	if !s.mayPlace() {
		return fmt.Sprintf("waiting for ModelCache %s", s.cacheName())
	}
	for _, sl := range s.slots {
		if last := sl.last(); !sl.victim && last.unplaceable() {
			return last.condition(evenkeel.ConditionScheduled).Message
		}
	}
	return ""
}

// silent says which placement the scheduler has not answered for in good time.
func (s *state) silent() string {
	for _, sl := range s.slots {
		last := sl.last()
		if !last.awaitsVerdict() {
			continue
		}
		due := last.placement.CreationTimestamp.Add(s.Settings.VerdictTimeout)
		s.wake(due)
		if !s.Now.Before(due) {
			return fmt.Sprintf("the scheduler %q has not answered for placement %s within %s",
				last.placement.Spec.SchedulerName, last.placement.Name, s.Settings.VerdictTimeout.Round(time.Second))
		}
	}
	return ""
}

func (s *state) replicasReady(placed, ready int) metav1.Condition {
	message := fmt.Sprintf("%d of %d ready", ready, placed)
	switch {
	case placed == 0:
		return s.deploymentCondition(modelplane.ConditionReplicasReady, metav1.ConditionFalse, ReasonNoReplicasScheduled, "")
	case ready == placed:
		return s.deploymentCondition(modelplane.ConditionReplicasReady, metav1.ConditionTrue, ReasonAllReplicasReady, message)
	default:
		return s.deploymentCondition(modelplane.ConditionReplicasReady, metav1.ConditionFalse, ReasonModelStarting, message)
	}
}

func (s *state) cacheName() string {
	if ref := s.Deployment.Spec.Template.Spec.ModelCacheRef; ref != nil {
		return ref.Name
	}
	return ""
}

func (s *state) cacheResolved() (c metav1.Condition, ok bool) {
	set := func(status metav1.ConditionStatus, reason, message string) (metav1.Condition, bool) {
		return s.deploymentCondition(modelplane.ConditionModelCacheResolved, status, reason, message), true
	}
	switch s.CacheState {
	case CacheResolved:
		return set(metav1.ConditionTrue, ReasonCacheResolved, "")
	case CacheMissing:
		message := fmt.Sprintf("ModelCache %s not found; holding replica placement", s.cacheName())
		if conditionOf(s.Deployment.Status.Conditions, modelplane.ConditionModelCacheResolved).Message != message {
			s.event(true, ReasonCacheNotFound, message)
		}
		return set(metav1.ConditionFalse, ReasonCacheNotFound, message)
	case CacheUnresolved:
		return set(metav1.ConditionFalse, ReasonCacheUnresolved, "Waiting for ModelCache "+s.cacheName())
	default:
		return c, false
	}
}

// overall is the condition Ready, which Crossplane would compute from the children.
func (s *state) overall(scheduled, readiness metav1.Condition) metav1.Condition {
	for _, c := range []metav1.Condition{scheduled, readiness} {
		if c.Status != metav1.ConditionTrue {
			return s.deploymentCondition(modelplane.ConditionReady, metav1.ConditionFalse, ReasonCreating, c.Message)
		}
	}
	return s.deploymentCondition(modelplane.ConditionReady, metav1.ConditionTrue, ReasonAvailable, "")
}

// count gives the numbers that metrics are made of.
func (s *state) count() {
	s.result.Leaving = map[string]int{}
	for _, sl := range s.slots {
		if last := sl.last(); !sl.victim && last.unplaceable() {
			s.result.Unplaceable++
		}
		for _, u := range sl.units {
			if u.leaving() && u.replica != nil {
				s.result.Leaving[u.clusterName()]++
			}
		}
	}
}

// Bounded keeps a sentence within what people read and events hold.
func Bounded(message string) string {
	const limit = 1000
	if len(message) <= limit {
		return message
	}
	return text.Prefix(message, limit) + "..."
}
