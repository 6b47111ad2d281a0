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
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// phase is how far a replica is.
type phase int

const (
	phaseWaiting phase = iota // its cluster is not there
	phaseFailing              // it is kept from being ready on purpose
	phaseLoading
	phaseServing
)

// observation is what decides the phase of a replica that is not deleted.
type observation struct {
	replica *modelplane.ModelReplica
	cluster *modelplane.InferenceCluster // nil if it is not there
	// loadingFor is how long the replica has been loading.
	loadingFor, loadTime time.Duration
}

// decide returns the phase, a message where there is something to say, and after
// which time to look again, or zero if only a change matters.
func decide(o observation) (p phase, message string, again time.Duration) {
	if message, fails := failure(o.replica, o.cluster); fails {
		return phaseFailing, message, 0
	}
	if isServing(o.replica) {
		// What serves goes on, also when its cluster is deleted or degraded.
		return phaseServing, "", 0
	}
	if o.cluster == nil {
		return phaseWaiting, fmt.Sprintf("InferenceCluster %s not found", o.replica.Spec.ClusterName), 0
	}
	if left := o.loadTime - o.loadingFor; left > 0 {
		return phaseLoading, "", left
	}
	return phaseServing, "", 0
}

// failure tells whether a replica is to be kept from being ready, and why.
func failure(replica *modelplane.ModelReplica, cluster *modelplane.InferenceCluster) (message string, fails bool) {
	if reason, ok := replica.Annotations[AnnotationFail]; ok {
		return fmt.Sprintf("fails on purpose: annotation %s on the replica: %s", AnnotationFail, reason), true
	}
	if cluster == nil {
		return "", false
	}
	reason, ok := cluster.Annotations[AnnotationFail]
	return fmt.Sprintf("fails on purpose: annotation %s on InferenceCluster %s: %s", AnnotationFail, cluster.Name, reason), ok
}

func isServing(replica *modelplane.ModelReplica) bool {
	return meta.IsStatusConditionTrue(replica.Status.Conditions, modelplane.ConditionReady)
}

// conditionsOf returns Modelplane's conditions of a replica in a phase.
func conditionsOf(p phase, message string) []metav1.Condition {
	accepted := condition(conditionModelAccepted, true, reasonAccepted, "")
	var ready metav1.Condition
	switch p {
	case phaseWaiting:
		accepted = condition(conditionModelAccepted, false, reasonWaitingForCluster, message)
		ready = condition(conditionModelReady, false, reasonWaitingForModel, "")
	case phaseFailing, phaseLoading:
		ready = condition(conditionModelReady, false, reasonModelStarting, message)
	case phaseServing:
		ready = condition(conditionModelReady, true, reasonServing, "")
	}
	return []metav1.Condition{accepted, ready, readyCondition(p == phaseServing)}
}
