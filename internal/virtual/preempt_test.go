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
	"k8s.io/client-go/kubernetes/fake"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// victimAndPreemptor are a placement on east, as the hub has it, and one that waits and is nominated to east already.
func victimAndPreemptor() (*evenkeel.ReplicaPlacement, *corev1.Pod) {
	victim := pendingPlacement("chat-0-1")
	assignment := toEast()
	victim.Status.Assignment = &assignment
	victim.Status.Move = &evenkeel.Move{Step: evenkeel.StepServing}
	victim.Status.Conditions = []metav1.Condition{{Type: evenkeel.ConditionReady, Status: metav1.ConditionTrue, Reason: evenkeel.ReasonReplicaReady}}
	preemptor := pendingPlacement("urgent-0-1")
	preemptor.UID = "urgent"
	preemptor.Status.NominatedCluster = "east"
	return victim, PodFor(preemptor)
}

// deletePod also shows the writer what the hub has, as its watch does.
func deletePod(t *testing.T, hub *liveHub, victim *evenkeel.ReplicaPlacement, preemptor *corev1.Pod) error {
	ctx := t.Context()
	pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	require.NoError(t, pods.Add(PodFor(victim)))
	if preemptor != nil {
		ctx = WithPreemptor(ctx, preemptor)
		require.NoError(t, pods.Add(preemptor))
	}
	hub.answer = func(int) (int, runtime.Object) {
		if err := pods.Update(PodFor(hub.live)); err != nil {
			t.Error(err)
		}
		return 0, nil
	}
	client := NewClient(fake.NewClientset(), hub.hub(), listersv1.NewPodLister(pods))
	return client.CoreV1().Pods(victim.Namespace).Delete(ctx, victim.Name, metav1.DeleteOptions{})
}

func TestDeleteAsksTheVictimToLeave(t *testing.T) {
	victim, preemptor := victimAndPreemptor()
	hub := newLiveHub(t, victim.DeepCopy())
	require.NoError(t, deletePod(t, hub, victim, preemptor))
	assert.Equal(t, []string{"GET", "PUT status"}, hub.sent())
	want := victim.Status.DeepCopy()
	want.PreemptedBy = &evenkeel.Preemptor{Namespace: preemptor.Namespace, Name: "urgent-0-1", UID: "urgent"}
	assert.Equal(t, *want, hub.live.Status, "and nothing else of it changes")

	pod := PodFor(hub.live)
	assert.NotNil(t, pod.DeletionTimestamp, "to the scheduler it is as good as deleted")
	assert.EqualValues(t, "urgent", PreemptorUID(pod))
	assert.Equal(t, PodFor(victim).UID, pod.UID, "it is the same Pod, whose nodes are never free in between")
}

func TestDeleteWaitsForOtherWriters(t *testing.T) {
	victim, preemptor := victimAndPreemptor()
	hub := newLiveHub(t, victim.DeepCopy())
	hub.before = func(update int) {
		if update == 1 {
			hub.live.ResourceVersion += "7"
			hub.live.Status.Conditions[0].Status = metav1.ConditionFalse
		}
	}
	require.NoError(t, deletePod(t, hub, victim, preemptor))
	assert.NotNil(t, hub.live.Status.PreemptedBy)
	assert.Equal(t, metav1.ConditionFalse, hub.live.Status.Conditions[0].Status, "what another has written stays")
}

func TestDeleteOfAnotherThanIsMeant(t *testing.T) {
	for name, change := range map[string]func(*evenkeel.ReplicaPlacement){
		"created anew":   func(p *evenkeel.ReplicaPlacement) { p.UID = "other" },
		"deleted":        func(p *evenkeel.ReplicaPlacement) { now := metav1.Now(); p.DeletionTimestamp = &now },
		"has moved":      func(p *evenkeel.ReplicaPlacement) { p.Status.Conditions[0].Type = evenkeel.ConditionMoved },
		"nobody knows":   func(p *evenkeel.ReplicaPlacement) { p.Status.Assignment = nil },
		"gone elsewhere": func(p *evenkeel.ReplicaPlacement) { p.Status.Assignment.ClusterName = "west" },
	} {
		t.Run(name, func(t *testing.T) {
			victim, preemptor := victimAndPreemptor()
			live := victim.DeepCopy()
			change(live)
			hub := newLiveHub(t, live)
			assert.Error(t, deletePod(t, hub, victim, preemptor))
			assert.Empty(t, hub.bodies)
		})
	}
}

func TestDeleteWithoutAPreemptorIsRefused(t *testing.T) {
	victim, _ := victimAndPreemptor()
	hub := newLiveHub(t, victim.DeepCopy())
	assert.ErrorContains(t, deletePod(t, hub, victim, nil), "cannot preempt ReplicaPlacement team-a/chat-0-1")
	assert.Empty(t, hub.sent())
}

func TestClustersThatHoldWeights(t *testing.T) {
	p := pendingPlacement("chat-0-1")
	p.Spec.ModelCacheName = "weights"
	requirements, err := RequirementsOf(PodFor(p))
	require.NoError(t, err)
	assert.Equal(t, "weights", requirements.ModelCache)
}
