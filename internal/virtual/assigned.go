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
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// assignedWindow is how long the replicas of one deployment are gathered into one event. A deployment's replicas come
// together; saying so of each, even as one series, would cost the hub a write for every few placements.
const assignedWindow = time.Second

// noteAssigned is the same for all placements of a deployment, however many there are, since events that are alike
// become a series, which keeps its first note.
const noteAssigned = "Assigned replicas to InferenceClusters; the condition Scheduled of each ReplicaPlacement says to which"

// assignedEvents says on a deployment that replicas of it were assigned, once for all that were within a window.
type assignedEvents struct {
	recorder events.EventRecorder
	clock    clock.WithDelayedExecution

	mu      sync.Mutex
	waiting map[corev1.ObjectReference]struct{}
}

func newAssignedEvents(recorder events.EventRecorder, clock clock.WithDelayedExecution) *assignedEvents {
	return &assignedEvents{recorder: recorder, clock: clock, waiting: map[corev1.ObjectReference]struct{}{}}
}

// add promises an event on a deployment within the window. One that the scheduler is stopped before is lost: the
// placements' conditions are what counts.
func (e *assignedEvents) add(deployment corev1.ObjectReference, eventType, action string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, found := e.waiting[deployment]; found {
		return
	}
	e.waiting[deployment] = struct{}{}
	e.clock.AfterFunc(assignedWindow, func() {
		e.mu.Lock()
		delete(e.waiting, deployment)
		e.mu.Unlock()
		e.recorder.Eventf(&deployment, nil, eventType, evenkeel.ReasonScheduled, action, noteAssigned)
	})
}
