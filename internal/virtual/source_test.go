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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func over(p *evenkeel.ReplicaPlacement) *evenkeel.ReplicaPlacement {
	p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{Type: evenkeel.ConditionMoved, Status: metav1.ConditionTrue})
	return p
}

func TestSourceEvents(t *testing.T) {
	pending := func() *evenkeel.ReplicaPlacement { return pendingPlacement("chat-0-1") }
	type step struct {
		event watch.Event
		want  watch.EventType // of what is given out; a bookmark for what is not
	}
	tests := map[string][]step{
		"a placement's life": {
			{watch.Event{Type: watch.Added, Object: pending()}, watch.Added},
			{watch.Event{Type: watch.Modified, Object: assigned(pending(), "east")}, watch.Modified},
			{watch.Event{Type: watch.Modified, Object: over(assigned(pending(), "east"))}, watch.Deleted},
			{watch.Event{Type: watch.Modified, Object: over(assigned(pending(), "east"))}, watch.Bookmark},
			{watch.Event{Type: watch.Deleted, Object: over(assigned(pending(), "east"))}, watch.Bookmark},
			{watch.Event{Type: watch.Added, Object: pending()}, watch.Added},
		},
		"over before it is seen": {
			{watch.Event{Type: watch.Added, Object: over(pending())}, watch.Bookmark},
			{watch.Event{Type: watch.Modified, Object: over(pending())}, watch.Bookmark},
			{watch.Event{Type: watch.Deleted, Object: over(pending())}, watch.Bookmark},
		},
		"deleted while it is seen": {
			{watch.Event{Type: watch.Added, Object: pending()}, watch.Added},
			{watch.Event{Type: watch.Deleted, Object: over(pending())}, watch.Deleted},
		},
		"adoption": {
			{watch.Event{Type: watch.Added, Object: adopting(pending())}, watch.Bookmark},
			{watch.Event{Type: watch.Modified, Object: assigned(adopting(pending()), "east")}, watch.Modified},
			{watch.Event{Type: watch.Deleted, Object: assigned(adopting(pending()), "east")}, watch.Deleted},
		},
		"resumed after a lost connection": {
			{watch.Event{Type: watch.Modified, Object: over(pending())}, watch.Deleted},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			s := newPlacementSource(&Hub{})
			for i, step := range steps {
				got := s.translateEvent(step.event)
				assert.Equal(t, step.want, got.Type, "step %d", i)
				pod, ok := got.Object.(*corev1.Pod)
				require.True(t, ok, "step %d gives a %T", i, got.Object)
				assert.Equal(t, "11", pod.ResourceVersion, "step %d: the reflector learns how far it has read", i)
				if step.want == watch.Deleted {
					assert.Equal(t, PodFor(assigned(pending(), "east")).UID, pod.UID, "step %d: the scheduler's cache knows it by this", i)
				}
			}
		})
	}
}

func adopting(p *evenkeel.ReplicaPlacement) *evenkeel.ReplicaPlacement {
	p.Spec.Adopts = "chat-32a9b"
	return p
}

func TestSourceKeepsBookmarks(t *testing.T) {
	annotations := map[string]string{metav1.InitialEventsAnnotationKey: "true", "other": "x"}
	sources := map[string]struct {
		source *source
		object runtime.Object
		want   metav1.Object
	}{
		"placements": {newPlacementSource(&Hub{}), &evenkeel.ReplicaPlacement{}, &corev1.Pod{}},
		"clusters":   {newClusterSource(&Hub{}), &modelplane.InferenceCluster{}, &corev1.Node{}},
	}
	for name, tc := range sources {
		t.Run(name, func(t *testing.T) {
			bookmark := tc.object.(metav1.Object)
			bookmark.SetResourceVersion("42")
			bookmark.SetAnnotations(annotations)
			got := tc.source.translateEvent(watch.Event{Type: watch.Bookmark, Object: tc.object})

			tc.want.SetResourceVersion("42")
			tc.want.SetAnnotations(annotations)
			assert.Equal(t, watch.Event{Type: watch.Bookmark, Object: tc.want.(runtime.Object)}, got)
		})
	}
}

func TestSourceErrors(t *testing.T) {
	s := newClusterSource(&Hub{})
	gone := watch.Event{Type: watch.Error, Object: &metav1.Status{Code: 410, Reason: metav1.StatusReasonExpired}}
	assert.Equal(t, gone, s.translateEvent(gone))

	got := s.translateEvent(watch.Event{Type: watch.Added, Object: &corev1.Pod{}})
	assert.Equal(t, watch.Error, got.Type)
	assert.Contains(t, got.Object.(*metav1.Status).Message, "expected an InferenceCluster, got *v1.Pod")

	_, err := s.translateList(&corev1.PodList{Items: []corev1.Pod{{}}})
	assert.ErrorContains(t, err, "expected an InferenceCluster, got *v1.Pod")
}

func TestSourceList(t *testing.T) {
	hub := newFakeHub(t)
	hub.set(resourcePlacements, pendingPlacement("a-0-1"), over(pendingPlacement("b-0-1")), adopting(pendingPlacement("c-0-1")), assigned(pendingPlacement("d-0-1"), "east"))
	s := newPlacementSource(hub.hub())

	list, err := s.list(t.Context(), metav1.ListOptions{})

	require.NoError(t, err)
	got := list.(*metav1.List)
	assert.Equal(t, "100", got.ResourceVersion)
	var names []string
	for _, item := range got.Items {
		names = append(names, item.Object.(*corev1.Pod).Name)
	}
	assert.Equal(t, []string{"a-0-1", "d-0-1"}, names)
	assert.Equal(t, watch.Bookmark, s.translateEvent(watch.Event{Type: watch.Deleted, Object: over(pendingPlacement("b-0-1"))}).Type,
		"what a list has hidden needs no deletion")

	hub.set(resourcePlacements)
	_, err = s.list(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, s.hidden, "a new list starts afresh")
}

func TestTranslatedWatchStopsWhenNobodyReads(t *testing.T) {
	in := watch.NewFake()
	w := newTranslatedWatch(in, func(event watch.Event) watch.Event { return event })
	in.Add(&corev1.Pod{})
	w.Stop()
	w.Stop()
	for range w.ResultChan() { //nolint:revive // Draining: the channel must be closed.
	}
	assert.True(t, in.IsStopped())
}
