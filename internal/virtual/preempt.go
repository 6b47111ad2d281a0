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
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

const (
	// seenWithin is how long the scheduler waits for its watch to bring the preemption that it has written, so that the
	// next placement counts the victim and its budget as they are. It is brought in milliseconds.
	seenWithin = 2 * time.Second
	seenPoll   = 2 * time.Millisecond
)

type preemptorKey struct{}

// WithPreemptor tells the client for which Pod the deletions under this context make room.
func WithPreemptor(ctx context.Context, pod *corev1.Pod) context.Context {
	return context.WithValue(ctx, preemptorKey{}, pod)
}

func preemptorOf(ctx context.Context) *corev1.Pod {
	pod, _ := ctx.Value(preemptorKey{}).(*corev1.Pod)
	return pod
}

// PreemptorUID is the UID of the placement that a translated Pod makes room for, empty for none.
func PreemptorUID(pod *corev1.Pod) types.UID {
	return types.UID(pod.Annotations[AnnotationPreemptor])
}

// preempt writes down that a placement's replica is to leave for the preemptor. The nomination comes first: a preemption
// holds for as long as its preemptor is nominated, and whoever sees the victim must see that it is.
func (w *writer) preempt(ctx context.Context, victim, preemptor *corev1.Pod) error {
	newest := w.newest(preemptor)
	if newest.Status.NominatedNodeName != victim.Spec.NodeName {
		if err := w.write(ctx, targetOf(newest), stateOf(newest), change{nominatedCluster: victim.Spec.NodeName}); err != nil {
			return fmt.Errorf("nominate it to InferenceCluster %q: %w", victim.Spec.NodeName, err)
		}
	}
	by := &evenkeel.Preemptor{Namespace: preemptor.Namespace, Name: preemptor.Name, UID: PlacementUID(preemptor.UID)}
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, retries, func(ctx context.Context) (bool, error) {
		last = w.writePreemption(ctx, victim, by)
		return last == nil || definite(last), nil
	})
	if err != nil || last != nil {
		return errors.Join(last, err)
	}
	w.awaitPreempted(ctx, victim)
	return nil
}

// writePreemption reads the victim, since all of its status but one field is the manager's, and replaces the status.
func (w *writer) writePreemption(ctx context.Context, victim *corev1.Pod, by *evenkeel.Preemptor) error {
	to := targetOf(victim)
	live, err := w.read(ctx, to)
	if err != nil {
		return err
	}
	gone := apierrors.NewNotFound(evenkeel.Resource(resourcePlacements), victim.Name)
	switch {
	case live.UID != to.uid, live.DeletionTimestamp != nil, hidden(live):
		return gone // it leaves anyway
	case live.Status.Assignment == nil || live.Status.Assignment.ClusterName != victim.Spec.NodeName:
		return apierrors.NewConflict(evenkeel.Resource(resourcePlacements), victim.Name, fmt.Errorf("it is not assigned to InferenceCluster %q", victim.Spec.NodeName))
	case live.Status.PreemptedBy != nil && *live.Status.PreemptedBy == *by:
		return nil
	}
	live.Status.PreemptedBy = by
	body, err := json.Marshal(updateBody{
		TypeMeta: placementType,
		Metadata: updateMetadata{Namespace: to.namespace, Name: to.name, UID: to.uid, ResourceVersion: live.ResourceVersion},
		Status:   live.Status,
	})
	if err != nil {
		return fmt.Errorf("encode a status update: %w", err)
	}
	return w.put(ctx, to, body)
}

func (w *writer) put(ctx context.Context, to target, body []byte) error {
	// The answer is the whole placement, which the watch brings anyway: it is not decoded.
	return w.client.Put().
		Namespace(to.namespace).Resource(resourcePlacements).Name(to.name).SubResource("status").
		SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).Do(ctx).Error()
}

// awaitPreempted waits until the informer has the victim as one that leaves, or not at all.
func (w *writer) awaitPreempted(ctx context.Context, victim *corev1.Pod) {
	err := wait.PollUntilContextTimeout(ctx, seenPoll, seenWithin, true, func(context.Context) (bool, error) {
		known, err := w.pods.Pods(victim.Namespace).Get(victim.Name)
		return err != nil || known.UID != victim.UID || known.DeletionTimestamp != nil, nil
	})
	if err != nil {
		klog.FromContext(ctx).Info("The watch has not brought a preemption yet; budgets may be counted without it", "victim", klog.KObj(victim), "after", seenWithin)
	}
}
