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
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// liveHub keeps one placement as the API server would: an update needs its UID and resource version, and replaces the
// status. Before is called before an update, and answer may break what is answered to it.
type liveHub struct {
	*fakeHub
	live   *evenkeel.ReplicaPlacement
	before func(update int)
	answer func(update int) (int, runtime.Object)
	bodies []map[string]any
}

func newLiveHub(t *testing.T, live *evenkeel.ReplicaPlacement) *liveHub {
	h := &liveHub{fakeHub: newFakeHub(t), live: live}
	h.one = h.serveLive
	return h
}

func (h *liveHub) serveLive(method string, body []byte) (int, runtime.Object) {
	if method == http.MethodGet {
		if h.live == nil {
			return notFound()
		}
		return http.StatusOK, typed(resourcePlacements, h.live)
	}
	sent := map[string]any{}
	if err := json.Unmarshal(body, &sent); err != nil {
		h.t.Errorf("an update is not JSON: %v", err)
	}
	h.bodies = append(h.bodies, sent)
	if h.before != nil {
		h.before(len(h.bodies))
	}
	if h.live == nil {
		return notFound()
	}
	parsed := updateBody{}
	if err := json.Unmarshal(body, &parsed); err != nil {
		h.t.Errorf("an update does not fit: %v", err)
	}
	if parsed.Metadata.UID != h.live.UID || parsed.Metadata.ResourceVersion != h.live.ResourceVersion {
		return status(apierrors.NewConflict(evenkeel.Resource(resourcePlacements), h.live.Name, nil))
	}
	h.live.Status = parsed.Status
	h.live.ResourceVersion += "1"
	if h.answer != nil {
		if code, object := h.answer(len(h.bodies)); object != nil {
			return code, object
		}
	}
	return http.StatusOK, typed(resourcePlacements, h.live)
}

func status(err *apierrors.StatusError) (int, runtime.Object) {
	body := err.Status()
	body.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return int(body.Code), &body
}

func notFound() (int, runtime.Object) {
	return status(apierrors.NewNotFound(evenkeel.Resource(resourcePlacements), "chat-0-1"))
}

// writerFor makes a writer whose informer has the given Pods.
func writerFor(t *testing.T, hub *Hub, pods ...*corev1.Pod) *writer {
	return NewClient(fake.NewClientset(), hub, listerOf(t, pods...)).writer
}

func listerOf(t *testing.T, pods ...*corev1.Pod) listersv1.PodLister {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, pod := range pods {
		require.NoError(t, indexer.Add(pod))
	}
	return listersv1.NewPodLister(indexer)
}

func toEast() evenkeel.Assignment {
	return evenkeel.Assignment{ClusterName: "east", Index: 2, Engines: []evenkeel.EngineAssignment{
		{Name: "main", Members: []evenkeel.MemberAssignment{{NodePoolName: "h100"}}},
	}}
}

func TestAssignIsOneWrite(t *testing.T) {
	p := pendingPlacement("chat-0-1")
	p.Status.NominatedCluster = "west"
	p.Status.Move = &evenkeel.Move{From: "north", Step: evenkeel.StepPlacing}
	other := metav1.Condition{Type: evenkeel.ConditionDisruptionTarget, Status: metav1.ConditionFalse, Reason: "No", Message: "kept",
		ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	p.Status.Conditions = []metav1.Condition{other,
		{Type: evenkeel.ConditionScheduled, Status: metav1.ConditionFalse, Reason: "Unschedulable", Message: "no room", ObservedGeneration: 2}}
	hub := newLiveHub(t, p.DeepCopy())
	pod := PodFor(p)

	require.NoError(t, writerFor(t, hub.hub(), pod).Assign(t.Context(), pod, toEast()))

	assert.Equal(t, []string{"PUT status"}, hub.sent())
	require.Len(t, hub.bodies, 1)
	assert.Equal(t, map[string]any{"namespace": "team-a", "name": "chat-0-1", "uid": "uid-chat-0-1", "resourceVersion": "11"}, hub.bodies[0]["metadata"])
	assert.NotContains(t, hub.bodies[0], "spec", "which others write")
	assert.Empty(t, hub.live.Status.NominatedCluster)
	assert.Equal(t, p.Status.Move, hub.live.Status.Move, "what the manager reports is kept")

	want := toEast()
	assert.Equal(t, &want, hub.live.Status.Assignment)
	assert.Empty(t, cmp.Diff(other, hub.live.Status.Conditions[0]), "other writers' conditions are kept")
	scheduled := meta.FindStatusCondition(hub.live.Status.Conditions, evenkeel.ConditionScheduled)
	assert.WithinDuration(t, time.Now(), scheduled.LastTransitionTime.Time, time.Hour)
	scheduled.LastTransitionTime = metav1.Time{}
	assert.Equal(t, &metav1.Condition{Type: evenkeel.ConditionScheduled, Status: metav1.ConditionTrue, ObservedGeneration: 2,
		Reason: evenkeel.ReasonScheduled, Message: `Assigned to InferenceCluster "east".`}, scheduled)
	assert.Equal(t, pod.UID, PodFor(hub.live).UID, "the scheduler knows the assigned Pod by the same UID")
}

// The Pod that the scheduler has may be older than its informer's: no write should be lost on that.
func TestAssignBuildsOnTheNewestVersion(t *testing.T) {
	queued := pendingPlacement("chat-0-1")
	newest := queued.DeepCopy()
	newest.ResourceVersion = "12"
	newest.Status.Conditions = []metav1.Condition{{Type: evenkeel.ConditionReady, Status: metav1.ConditionFalse, Reason: "R"}}
	hub := newLiveHub(t, newest.DeepCopy())

	require.NoError(t, writerFor(t, hub.hub(), PodFor(newest)).Assign(t.Context(), PodFor(queued), toEast()))

	assert.Equal(t, []string{"PUT status"}, hub.sent())
	assert.Len(t, hub.live.Status.Conditions, 2)
}

func TestAssignAfterConflict(t *testing.T) {
	tests := map[string]struct {
		// meanwhile is what another writer does between the informer's version and the first patch.
		meanwhile func(*liveHub)
		wantSent  []string
		wantErr   string
	}{
		"another condition": {
			meanwhile: func(h *liveHub) {
				h.live.ResourceVersion = "99"
				h.live.Status.Conditions = []metav1.Condition{{Type: evenkeel.ConditionReady, Status: metav1.ConditionFalse, Reason: "R"}}
			},
			wantSent: []string{"PUT status", "GET", "PUT status"},
		},
		"edited": {
			meanwhile: func(h *liveHub) { h.live.ResourceVersion, h.live.Generation = "99", 3 },
			wantSent:  []string{"PUT status", "GET"},
			wantErr:   `assign ReplicaPlacement team-a/chat-0-1 to InferenceCluster "east": the placement was edited during scheduling (generation 2, now 3)`,
		},
		"deleted": {
			meanwhile: func(h *liveHub) { h.live = nil },
			wantSent:  []string{"PUT status"},
			wantErr:   "not found",
		},
		"deleted and created anew": {
			meanwhile: func(h *liveHub) { h.live.UID, h.live.ResourceVersion = "uid-again", "99" },
			wantSent:  []string{"PUT status", "GET"},
			wantErr:   "the placement was deleted and created anew (UID uid-chat-0-1, now uid-again)",
		},
		"assigned elsewhere": {
			meanwhile: func(h *liveHub) { assigned(h.live, "west").ResourceVersion = "99" },
			wantSent:  []string{"PUT status", "GET"},
			wantErr:   `the placement was assigned to InferenceCluster "west" by somebody else`,
		},
		"assigned just so": {
			meanwhile: func(h *liveHub) {
				assignment := toEast()
				assigned(h.live, "east").ResourceVersion = "99"
				h.live.Status.Assignment = &assignment
			},
			wantSent: []string{"PUT status", "GET"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			hub := newLiveHub(t, pendingPlacement("chat-0-1"))
			hub.before = func(update int) {
				if update == 1 {
					tc.meanwhile(hub)
				}
			}
			pod := PodFor(pendingPlacement("chat-0-1"))
			err := writerFor(t, hub.hub(), pod).Assign(t.Context(), pod, toEast())
			assert.Equal(t, tc.wantSent, hub.sent())
			if tc.wantErr != "" {
				assert.ErrorContains(t, err, tc.wantErr)
				return
			}
			require.NoError(t, err)
			want := toEast()
			assert.Equal(t, &want, hub.live.Status.Assignment)
		})
	}
}

// A write whose answer is lost may have been made: giving up would free nodes that are taken.
func TestAssignAfterLostAnswer(t *testing.T) {
	hub := newLiveHub(t, pendingPlacement("chat-0-1"))
	hub.answer = func(int) (int, runtime.Object) {
		return status(apierrors.NewInternalError(assert.AnError))
	}
	pod := PodFor(pendingPlacement("chat-0-1"))
	require.NoError(t, writerFor(t, hub.hub(), pod).Assign(t.Context(), pod, toEast()))
	assert.Equal(t, []string{"PUT status", "GET"}, hub.sent())
}

func TestAssignGivesUp(t *testing.T) {
	t.Run("after some tries", func(t *testing.T) {
		hub := newLiveHub(t, pendingPlacement("chat-0-1"))
		hub.before = func(int) { hub.live.ResourceVersion += "0" }
		pod := PodFor(pendingPlacement("chat-0-1"))
		err := writerFor(t, hub.hub(), pod).Assign(t.Context(), pod, toEast())
		assert.ErrorContains(t, err, "gave up after 5 tries, the scheduler tries again later")
		assert.Len(t, hub.bodies, 5)
	})
	t.Run("at once when it is refused", func(t *testing.T) {
		hub := newLiveHub(t, pendingPlacement("chat-0-1"))
		hub.one = func(string, []byte) (int, runtime.Object) {
			return status(apierrors.NewForbidden(evenkeel.Resource(resourcePlacements), "chat-0-1", nil))
		}
		pod := PodFor(pendingPlacement("chat-0-1"))
		err := writerFor(t, hub.hub(), pod).Assign(t.Context(), pod, toEast())
		assert.ErrorContains(t, err, "forbidden")
		assert.Equal(t, []string{"PUT status"}, hub.sent())
	})
	t.Run("when it is told to", func(t *testing.T) {
		hub := newLiveHub(t, pendingPlacement("chat-0-1"))
		ctx, cancel := context.WithCancel(t.Context())
		hub.before = func(int) { hub.live.ResourceVersion += "0"; cancel() }
		pod := PodFor(pendingPlacement("chat-0-1"))
		assert.ErrorIs(t, writerFor(t, hub.hub(), pod).Assign(ctx, pod, toEast()), context.Canceled)
	})
}
