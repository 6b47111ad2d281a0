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

package virtual

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// reasonPreempted is the scheduler's for the event on a victim, whose note has the preemptor's UID only.
const reasonPreempted = "Preempted"

// NewRecorder makes a recorder that attaches what is said about translated Pods and Nodes to the placements and
// clusters that they stand for.
func NewRecorder(recorder events.EventRecorder) events.EventRecorder {
	return &eventRecorder{recorder: recorder, assigned: newAssignedEvents(recorder, clock.RealClock{})}
}

type eventRecorder struct {
	recorder events.EventRecorder
	assigned *assignedEvents
}

// Eventf implements events.EventRecorder. That a placement was assigned is said on its deployment, without the cluster
// and once for all that are assigned together, so that a thousand replicas do not cost the hub a thousand writes. Where
// each went stands in its placement, in the condition Scheduled. Of replacements hub-manager tells, as parts of moves.
func (r *eventRecorder) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	if reason == evenkeel.ReasonScheduled && isReplacement(regarding) {
		return
	}
	if deployment := deploymentReference(regarding); deployment != nil && reason == evenkeel.ReasonScheduled {
		r.assigned.add(*deployment, eventType, action)
		return
	}
	if preemptor, ok := related.(*corev1.Pod); ok && reason == reasonPreempted {
		r.recorder.Eventf(hubReference(regarding), hubReference(related), eventType, reason, action,
			"Asked to make room for ReplicaPlacement %s/%s", preemptor.Namespace, preemptor.Name)
		return
	}
	// The scheduler passes finished text as a note, so a note without arguments is not a format.
	if len(args) > 0 {
		note = fmt.Sprintf(note, args...)
	}
	r.recorder.Eventf(hubReference(regarding), hubReference(related), eventType, reason, action, "%s", clusterWords(note))
}

// isReplacement tells whether a translated Pod's placement takes over from another one.
func isReplacement(obj runtime.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return false
	}
	requirements, err := RequirementsOf(pod)
	return err == nil && requirements.Replaces != ""
}

// deploymentReference refers to the ModelDeployment that a translated Pod's placement belongs to, nil where it has none.
// It says nothing of the deployment's version, which would tell events apart.
func deploymentReference(obj runtime.Object) *corev1.ObjectReference {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return nil
	}
	return &corev1.ObjectReference{
		APIVersion: owner.APIVersion,
		Kind:       owner.Kind,
		Namespace:  pod.Namespace,
		Name:       owner.Name,
		UID:        owner.UID,
	}
}

// hubReference refers to the object of the hub that a translated object stands for, and returns any other as it is.
func hubReference(obj runtime.Object) runtime.Object {
	switch translated := obj.(type) {
	case *corev1.Pod:
		return &corev1.ObjectReference{
			APIVersion:      evenkeel.GroupVersion.String(),
			Kind:            "ReplicaPlacement",
			Namespace:       translated.Namespace,
			Name:            translated.Name,
			UID:             PlacementUID(translated.UID),
			ResourceVersion: translated.ResourceVersion,
		}
	case *corev1.Node:
		return &corev1.ObjectReference{
			APIVersion:      modelplane.GroupVersion.String(),
			Kind:            "InferenceCluster",
			Name:            translated.Name,
			UID:             translated.UID,
			ResourceVersion: translated.ResourceVersion,
		}
	}
	return obj
}
