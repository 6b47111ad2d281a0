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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// PlacementWriter writes a decision of the scheduler.
type PlacementWriter interface {
	// Assign records where a placement goes, in one status write. It returns an error, and the scheduler tries again,
	// when the placement is gone, was edited since the Pod was translated, or has another assignment already.
	Assign(ctx context.Context, pod *corev1.Pod, assignment evenkeel.Assignment) error
}

// retries is how a write goes on after another writer came first, or after the API server did not say whether it has
// written: five tries in about a third of a second. The scheduler has its own queue for what lasts longer.
var retries = wait.Backoff{Steps: 5, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.5}

// writer writes the status of placements, the only thing on the hub that a scheduler changes besides its lease and its
// events.
type writer struct {
	client rest.Interface
	pods   listersv1.PodLister
}

var _ PlacementWriter = &writer{}

// target is the placement that a write is for. A write for a placement of another UID or generation is refused: it
// would belong to what the placement was when the decision was made.
type target struct {
	namespace  string
	name       string
	uid        types.UID
	generation int64
}

// state is what a write builds on.
type state struct {
	resourceVersion string
	conditions      []metav1.Condition
	move            *evenkeel.Move
}

// change is what a write does.
type change struct {
	// assignment to record; nil for a placement that stays pending.
	assignment *evenkeel.Assignment
	// nominatedCluster is where room is being made; empty for nowhere.
	nominatedCluster string
	// scheduled is the condition to set, without its time and generation; nil leaves the condition as it is.
	scheduled *metav1.Condition
}

// Assign implements PlacementWriter.
func (w *writer) Assign(ctx context.Context, pod *corev1.Pod, assignment evenkeel.Assignment) error {
	err := w.write(ctx, targetOf(pod), stateOf(w.newest(pod)), change{
		assignment: &assignment,
		scheduled: &metav1.Condition{
			Type:    evenkeel.ConditionScheduled,
			Status:  metav1.ConditionTrue,
			Reason:  evenkeel.ReasonScheduled,
			Message: fmt.Sprintf("Assigned to InferenceCluster %q.", assignment.ClusterName),
		},
	})
	if err != nil {
		return fmt.Errorf("assign ReplicaPlacement %s/%s to InferenceCluster %q: %w", pod.Namespace, pod.Name, assignment.ClusterName, err)
	}
	return nil
}

// writeStatus writes what a scheduler may change of a Pod that has no node: whether it is scheduled, and its nominated
// node. It writes nothing when the placement says so already, in the words of clusters.
func (w *writer) writeStatus(ctx context.Context, pod *corev1.Pod, status *corev1.PodStatus) error {
	if foreign := foreignChange(pod.Status.Conditions, status.Conditions); foreign != "" {
		if foreign == corev1.DisruptionTarget && preemptorOf(ctx) != nil {
			return nil // the deletion that follows says so, and the manager writes the condition
		}
		return fmt.Errorf("the hub scheduler does not write the condition %s", foreign)
	}
	if pod.Spec.NodeName != "" {
		// The placement got its cluster while the scheduler was looking for one: there is nothing to say any more.
		return nil
	}
	to := targetOf(pod)
	scheduled := scheduledChange(to, pod.Status.Conditions, status.Conditions)
	if scheduled == nil && pod.Status.NominatedNodeName == status.NominatedNodeName {
		return nil
	}
	return w.write(ctx, to, stateOf(pod), change{nominatedCluster: status.NominatedNodeName, scheduled: scheduled})
}

// scheduledChange returns the condition Scheduled to write, or nil when it would not change.
func scheduledChange(to target, before, after []corev1.PodCondition) *metav1.Condition {
	now := findCondition(after, corev1.PodScheduled)
	if now == nil {
		return nil
	}
	message := clusterWords(now.Message)
	was := findCondition(before, corev1.PodScheduled)
	if was != nil && was.Status == now.Status && was.Reason == now.Reason && was.Message == message && was.ObservedGeneration == to.generation {
		return nil
	}
	return &metav1.Condition{
		Type:    evenkeel.ConditionScheduled,
		Status:  metav1.ConditionStatus(now.Status),
		Reason:  now.Reason,
		Message: message,
	}
}

// newest returns the informer's version of a Pod where it is the same Pod: the scheduler may have taken its own from
// the queue before a status write of its previous try was delivered.
func (w *writer) newest(pod *corev1.Pod) *corev1.Pod {
	known, err := w.pods.Pods(pod.Namespace).Get(pod.Name)
	if err != nil || known.UID != pod.UID || known.Spec.NodeName != "" {
		return pod
	}
	return known
}

func targetOf(pod *corev1.Pod) target {
	uid, generation := splitUID(pod.UID)
	return target{namespace: pod.Namespace, name: pod.Name, uid: uid, generation: generation}
}

func stateOf(pod *corev1.Pod) state {
	return state{resourceVersion: pod.ResourceVersion, conditions: placementConditions(pod.Status.Conditions), move: moveOf(pod)}
}

// write makes one status write. Only when that fails for another writer's sake, or without an answer, does it read the
// placement and try again.
func (w *writer) write(ctx context.Context, to target, base state, change change) error {
	backoff := retries
	for {
		err := w.update(ctx, to, base, change)
		if err == nil || definite(err) {
			return err
		}
		if backoff.Steps <= 1 {
			return fmt.Errorf("gave up after %d tries, the scheduler tries again later: %w", retries.Steps, err)
		}
		if waitErr := sleep(ctx, backoff.Step()); waitErr != nil {
			return errors.Join(err, waitErr)
		}
		live, readErr := w.read(ctx, to)
		if readErr != nil {
			if definite(readErr) {
				return readErr
			}
			continue
		}
		done, err := rebase(to, live, change)
		if done || err != nil {
			return err
		}
		base = state{resourceVersion: live.ResourceVersion, conditions: live.Status.Conditions, move: live.Status.Move}
	}
}

// rebase tells whether a change still applies to the live placement: it is done when the placement has the assignment
// already, for instance by a write whose answer was lost.
func rebase(to target, live *evenkeel.ReplicaPlacement, change change) (done bool, err error) {
	switch {
	case live.UID != to.uid:
		return false, fmt.Errorf("the placement was deleted and created anew (UID %s, now %s)", to.uid, live.UID)
	case live.Status.Assignment != nil && change.assignment == nil:
		return true, nil
	case change.assignment == nil && change.scheduled == nil && live.Status.NominatedCluster == change.nominatedCluster:
		return true, nil
	case live.Status.Assignment != nil:
		if equality.Semantic.DeepEqual(live.Status.Assignment, change.assignment) {
			return true, nil
		}
		return false, fmt.Errorf("the placement was assigned to InferenceCluster %q by somebody else", live.Status.Assignment.ClusterName)
	case live.Generation != to.generation:
		return false, fmt.Errorf("the placement was edited during scheduling (generation %d, now %d)", to.generation, live.Generation)
	}
	return false, nil
}

// update replaces the status. That is cheaper for the API server than a patch, which it would apply to the encoded
// object and decode again; and of an update of a status it takes the status only, so that the spec is not sent.
func (w *writer) update(ctx context.Context, to target, base state, change change) error {
	body, err := json.Marshal(statusUpdate(to, base, change))
	if err != nil {
		return fmt.Errorf("encode a status update: %w", err)
	}
	return w.put(ctx, to, body)
}

func (w *writer) read(ctx context.Context, to target) (*evenkeel.ReplicaPlacement, error) {
	live := &evenkeel.ReplicaPlacement{}
	err := w.client.Get().Namespace(to.namespace).Resource(resourcePlacements).Name(to.name).Do(ctx).Into(live)
	return live, err
}

// updateBody is a placement without its spec. Its UID and resource version make the API server refuse it for another
// placement of the same name and for one that has changed, so that nobody's conditions are lost.
type updateBody struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        updateMetadata                  `json:"metadata"`
	Status          evenkeel.ReplicaPlacementStatus `json:"status"`
}

var placementType = metav1.TypeMeta{APIVersion: evenkeel.GroupVersion.String(), Kind: "ReplicaPlacement"}

type updateMetadata struct {
	Namespace       string    `json:"namespace"`
	Name            string    `json:"name"`
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

func statusUpdate(to target, base state, change change) updateBody {
	conditions := slices.Clone(base.conditions)
	if change.scheduled != nil {
		scheduled := *change.scheduled
		scheduled.ObservedGeneration = to.generation
		meta.SetStatusCondition(&conditions, scheduled)
	}
	return updateBody{
		TypeMeta: placementType,
		Metadata: updateMetadata{Namespace: to.namespace, Name: to.name, UID: to.uid, ResourceVersion: base.resourceVersion},
		Status: evenkeel.ReplicaPlacementStatus{
			Assignment:       change.assignment,
			NominatedCluster: change.nominatedCluster,
			Move:             base.move,
			Conditions:       conditions,
		},
	}
}

// definite tells whether an error says for certain that nothing was written and that trying again would not help.
func definite(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && !apierrors.IsConflict(err) && !apierrors.IsTooManyRequests(err) && !apierrors.IsTimeout(err)
}

func sleep(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
