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

package modeldeployment

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// eventAction says in events what the controller does about them.
const eventAction = "KeepReplicas"

// EventInvalidPolicy is the event on a deployment about a DisruptionPolicy that cannot be read.
const EventInvalidPolicy = "InvalidDisruptionPolicy"

// EventStepPrefix begins the reasons of events about the steps of a move; the step's name follows.
const EventStepPrefix = "Step"

func (r *Reconciler) emit(d *modelplane.ModelDeployment, list []replicas.Event) {
	for _, e := range list {
		if e.Reason == replicas.EventInvalidTolerationSeconds {
			r.warnOnce(d, e.Reason, e.Message)
			continue
		}
		eventType := corev1.EventTypeNormal
		if e.Warning {
			eventType = corev1.EventTypeWarning
		}
		r.record(d, e.Placement, eventType, e.Reason, e.Message)
		r.gauges.observe(e)
	}
}

// emitSteps tells of the steps of moves on their placements, if that is wanted.
func (r *Reconciler) emitSteps(d *modelplane.ModelDeployment, steps []replicas.Step) {
	if !r.StepEvents {
		return
	}
	for _, step := range steps {
		placement := &corev1.ObjectReference{
			APIVersion: evenkeel.GroupVersion.String(), Kind: "ReplicaPlacement", Namespace: d.Namespace, Name: step.Placement, UID: step.UID,
		}
		r.Recorder.Eventf(placement, reference(d), corev1.EventTypeNormal, EventStepPrefix+step.Name, eventAction, "%s", replicas.Bounded(stepNote(step)))
	}
}

// stepNote says what a step is part of, and what it waits for.
func stepNote(step replicas.Step) string {
	note := "from " + step.From
	if step.To != "" {
		note += " to " + step.To
	}
	note += ": " + step.Cause
	if step.Actor != "" {
		note += " (asked for by " + step.Actor + ")"
	}
	if step.WaitingFor != "" {
		note += "; waits for " + step.WaitingFor
	}
	return note
}

// reference refers to a deployment without its version: events that differ in nothing else become one with a count.
func reference(d *modelplane.ModelDeployment) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: modelplane.GroupVersion.String(), Kind: "ModelDeployment", Namespace: d.Namespace, Name: d.Name, UID: d.UID,
	}
}

// warnOnce reports on the deployment what stays as it is until a person changes it.
func (r *Reconciler) warnOnce(d *modelplane.ModelDeployment, reason, message string) {
	if last, noted := r.noted.Swap(noteKey{d.UID, reason}, message); !noted || last != message {
		r.warn(d, nil, reason, message)
	}
}

type noteKey struct {
	deployment types.UID
	reason     string
}

// warn reports on the deployment and, if given, on the placement.
func (r *Reconciler) warn(d *modelplane.ModelDeployment, p *evenkeel.ReplicaPlacement, reason, message string) {
	r.record(d, nil, corev1.EventTypeWarning, reason, message)
	if p != nil {
		r.record(d, p, corev1.EventTypeWarning, reason, message)
	}
}

func (r *Reconciler) record(d *modelplane.ModelDeployment, p *evenkeel.ReplicaPlacement, eventType, reason, message string) {
	var regarding, related runtime.Object = d, nil
	switch {
	case p != nil:
		regarding, related = p, d
	case reason == replicas.EventMoved, reason == replicas.EventScaledDown:
		// The usual course of many replicas. Where each went is kept in the history of its placement.
		regarding = reference(d)
	}
	r.Recorder.Eventf(regarding, related, eventType, reason, eventAction, "%s", replicas.Bounded(message))
}
