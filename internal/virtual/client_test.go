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
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// schedulerPatch makes the patch that the scheduler would send for a changed status.
func schedulerPatch(t *testing.T, pod *corev1.Pod, change func(*corev1.PodStatus)) []byte {
	before, err := json.Marshal(corev1.Pod{Status: pod.Status})
	require.NoError(t, err)
	changed := pod.Status.DeepCopy()
	change(changed)
	after, err := json.Marshal(corev1.Pod{Status: *changed})
	require.NoError(t, err)
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Pod{})
	require.NoError(t, err)
	return patch
}

func setCondition(status *corev1.PodStatus, condition corev1.PodCondition) {
	if known := findCondition(status.Conditions, condition.Type); known != nil {
		*known = condition
		return
	}
	status.Conditions = append(status.Conditions, condition)
}

func unschedulable(message string) func(*corev1.PodStatus) {
	return func(status *corev1.PodStatus) {
		setCondition(status, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: message, LastTransitionTime: metav1.Now()})
	}
}

func patchPod(t *testing.T, hub *liveHub, pod *corev1.Pod, change func(*corev1.PodStatus)) error {
	client := NewClient(fake.NewClientset(), hub.hub(), listerOf(t, pod))
	_, err := client.CoreV1().Pods(pod.Namespace).Patch(t.Context(), pod.Name, types.StrategicMergePatchType,
		schedulerPatch(t, pod, change), metav1.PatchOptions{}, "status")
	return err
}

func TestPatchStatus(t *testing.T) {
	const message = "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't match Pod's node affinity/selector."
	const words = "0/3 clusters are available: 1 cluster(s) had untolerated taint(s), 2 cluster(s) didn't match the cluster selector or are excluded."
	written := func(p *evenkeel.ReplicaPlacement) {
		p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{Type: evenkeel.ConditionScheduled, Status: metav1.ConditionFalse,
			Reason: evenkeel.ReasonUnschedulable, Message: words, ObservedGeneration: p.Generation,
			LastTransitionTime: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))})
	}
	tests := map[string]struct {
		placement     func(*evenkeel.ReplicaPlacement)
		change        func(*corev1.PodStatus)
		wantSent      []string
		wantNominated string
		wantKept      bool // the condition keeps its time
	}{
		"the first failure": {change: unschedulable(message), wantSent: []string{"PUT status"}},
		"the same again":    {placement: written, change: unschedulable(message), wantKept: true},
		"the same after an edit": {
			placement: func(p *evenkeel.ReplicaPlacement) { written(p); p.Generation++ },
			change:    unschedulable(message), wantSent: []string{"PUT status"}, wantKept: true,
		},
		"another message": {
			placement: func(p *evenkeel.ReplicaPlacement) { written(p); p.Status.Conditions[0].Message = "before" },
			change:    unschedulable(message), wantSent: []string{"PUT status"}, wantKept: true,
		},
		"with a nominated node": {
			change:   func(status *corev1.PodStatus) { unschedulable(message)(status); status.NominatedNodeName = "west" },
			wantSent: []string{"PUT status"}, wantNominated: "west",
		},
		"a nominated node alone": {
			placement: written, change: func(status *corev1.PodStatus) { status.NominatedNodeName = "west" },
			wantSent: []string{"PUT status"}, wantNominated: "west", wantKept: true,
		},
		"no nominated node any more": {
			placement: func(p *evenkeel.ReplicaPlacement) { written(p); p.Status.NominatedCluster = "west" },
			change:    func(status *corev1.PodStatus) { status.NominatedNodeName = "" },
			wantSent:  []string{"PUT status"}, wantKept: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := pendingPlacement("chat-0-1")
			if tc.placement != nil {
				tc.placement(p)
			}
			hub := newLiveHub(t, p.DeepCopy())
			require.NoError(t, patchPod(t, hub, PodFor(p), tc.change))

			assert.Equal(t, tc.wantSent, append([]string(nil), hub.sent()...))
			assert.Equal(t, tc.wantNominated, hub.live.Status.NominatedCluster)
			scheduled := meta.FindStatusCondition(hub.live.Status.Conditions, evenkeel.ConditionScheduled)
			require.NotNil(t, scheduled)
			assert.Equal(t, tc.wantKept, scheduled.LastTransitionTime.Year() == 2026 && scheduled.LastTransitionTime.Month() == time.January)
			scheduled.LastTransitionTime = metav1.Time{}
			assert.Equal(t, &metav1.Condition{Type: evenkeel.ConditionScheduled, Status: metav1.ConditionFalse,
				Reason: evenkeel.ReasonUnschedulable, Message: words, ObservedGeneration: p.Generation}, scheduled)
		})
	}
}

func TestPatchStatusKeepsQuietAboutAssigned(t *testing.T) {
	p := assigned(pendingPlacement("chat-0-1"), "east")
	hub := newLiveHub(t, p.DeepCopy())
	require.NoError(t, patchPod(t, hub, PodFor(p), unschedulable("no")))
	assert.Empty(t, hub.sent())

	// The informer does not know of the assignment yet.
	require.NoError(t, patchPod(t, hub, PodFor(pendingPlacement("chat-0-1")), func(status *corev1.PodStatus) {
		hub.live.ResourceVersion = "99"
		unschedulable("no")(status)
	}))
	assert.Equal(t, []string{"PUT status", "GET"}, hub.sent())
	assert.True(t, meta.IsStatusConditionTrue(hub.live.Status.Conditions, evenkeel.ConditionScheduled))
}

func TestPatchStatusRefuses(t *testing.T) {
	p := pendingPlacement("chat-0-1")
	hub := newLiveHub(t, p.DeepCopy())
	pod := PodFor(p)
	err := patchPod(t, hub, pod, func(status *corev1.PodStatus) {
		setCondition(status, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler"})
	})
	assert.ErrorContains(t, err, "ReplicaPlacement team-a/chat-0-1: the hub scheduler does not write the condition DisruptionTarget")

	pods := NewClient(fake.NewClientset(), hub.hub(), listerOf(t, pod)).CoreV1().Pods("team-a")
	_, err = pods.Patch(t.Context(), "gone", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{}, "status")
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = pods.Patch(t.Context(), pod.Name, types.StrategicMergePatchType, []byte(`{"status":5}`), metav1.PatchOptions{}, "status")
	assert.ErrorContains(t, err, "patch the status of ReplicaPlacement team-a/chat-0-1")
	_, err = pods.Patch(t.Context(), pod.Name, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}, "status")
	assert.ErrorContains(t, err, "only strategic merge patches of a Pod's status are translated")
	_, err = pods.Patch(t.Context(), pod.Name, types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
	assert.ErrorContains(t, err, "only strategic merge patches of a Pod's status are translated")

	err = pods.Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Name: "east"}}, metav1.CreateOptions{})
	assert.ErrorContains(t, err, `cannot bind ReplicaPlacement team-a/chat-0-1 to InferenceCluster "east"`)
	assert.ErrorContains(t, err, "PlacementBinder")
	assert.ErrorContains(t, pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{}), "cannot preempt ReplicaPlacement team-a/chat-0-1")
	assert.Empty(t, hub.sent())
}

func TestClientPassesEverythingElseOn(t *testing.T) {
	real := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "a-real-one"}})
	client := NewClient(real, newFakeHub(t).hub(), listerOf(t))
	_, err := client.CoreV1().Pods("team-a").Get(t.Context(), "a-real-one", metav1.GetOptions{})
	require.NoError(t, err)
	_, err = client.CoordinationV1().Leases("kube-system").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.NotNil(t, client.Writer())
}

func TestClusterWords(t *testing.T) {
	tests := map[string]string{
		"":                                    "",
		"no nodes available to schedule pods": "0/0 clusters are available: the hub has no InferenceCluster.",
		"0/12 nodes are available: 12 node(s) had untolerated taint(s). best: gpu-us-west/h100 needs 4 nodes, has 1 free"://
		"0/12 clusters are available: 12 cluster(s) had untolerated taint(s). best: gpu-us-west/h100 needs 4 nodes, has 1 free",
		"0/1 nodes are available: 1 node(s) didn't match the requested node name.": "0/1 clusters are available: 1 cluster(s) didn't match the requested cluster name.",
		"the pool has 0/12 nodes are available":                                    "the pool has 0/12 nodes are available",
		`the expression "node(s)" does not compile`:                                `the expression "node(s)" does not compile`,
		strings.Repeat("x", messageLimit):                                          strings.Repeat("x", messageLimit),
		strings.Repeat("x", messageLimit+1):                                        strings.Repeat("x", messageLimit-4) + " ...",
		strings.Repeat("x", messageLimit-5) + "äää":                                strings.Repeat("x", messageLimit-5) + " ...",
	}
	for message, want := range tests {
		assert.Equal(t, want, clusterWords(message))
	}
}

func TestRecorder(t *testing.T) {
	inner := &eventSink{}
	recorder := &eventRecorder{recorder: inner, assigned: newAssignedEvents(inner, testingclock.NewFakeClock(time.Now()))}
	pod := PodFor(assigned(pendingPlacement("chat-0-1"), "east"))
	owned := ownedPlacement("chat")

	recorder.Eventf(PodFor(owned), nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", "no")
	recorder.Eventf(pod, nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", "0/1 nodes are available: 100%s")
	recorder.Eventf(pod, NodeFor(servingCluster("east")), corev1.EventTypeNormal, "Scheduled", "Binding", "Successfully assigned %v to %v", "a/b", "east")
	service := &corev1.Service{}
	recorder.Eventf(service, service, corev1.EventTypeNormal, "Other", "Doing", "text")
	recorder.Eventf(pod, PodFor(owned), corev1.EventTypeNormal, "Preempted", "Preempting", "Preempted by pod %v on node %v", "uid", "east")

	placement := &corev1.ObjectReference{APIVersion: "evenkeel.io/v1alpha1", Kind: "ReplicaPlacement", Namespace: "team-a", Name: "chat-0-1", UID: "uid-chat-0-1", ResourceVersion: "11"}
	cluster := &corev1.ObjectReference{APIVersion: "modelplane.ai/v1alpha1", Kind: "InferenceCluster", Name: "east", UID: "uid-cluster", ResourceVersion: "7"}
	ownedReference := &corev1.ObjectReference{APIVersion: "evenkeel.io/v1alpha1", Kind: "ReplicaPlacement", Namespace: owned.Namespace, Name: owned.Name, UID: owned.UID, ResourceVersion: owned.ResourceVersion}
	assert.Equal(t, [][]any{
		{placement, nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", "%s", "no"},
		{placement, nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", "%s", "0/1 clusters are available: 100%s"},
		{placement, cluster, corev1.EventTypeNormal, "Scheduled", "Binding", "%s", "Successfully assigned a/b to east"},
		{service, service, corev1.EventTypeNormal, "Other", "Doing", "%s", "text"},
		{placement, ownedReference, corev1.EventTypeNormal, "Preempted", "Preempting", "Asked to make room for ReplicaPlacement %s/%s", owned.Namespace, owned.Name},
	}, inner.events)
}

// Replicas that are assigned together are one event on their deployment; those that come later are another, alike, so
// that they become one series.
func TestRecorderGathersAssignments(t *testing.T) {
	inner, now := &eventSink{}, testingclock.NewFakeClock(time.Now())
	recorder := &eventRecorder{recorder: inner, assigned: newAssignedEvents(inner, now)}
	assign := func(deployments ...string) {
		for _, deployment := range deployments {
			recorder.Eventf(PodFor(ownedPlacement(deployment)), nil, corev1.EventTypeNormal, "Scheduled", "Binding", "Successfully assigned %v to %v", "a/b", "east")
		}
	}
	event := func(deployment string) []any {
		return []any{
			&corev1.ObjectReference{APIVersion: "modelplane.ai/v1alpha1", Kind: "ModelDeployment", Namespace: "team-a", Name: deployment, UID: types.UID("uid-" + deployment)},
			nil, corev1.EventTypeNormal, "Scheduled", "Binding", noteAssigned,
		}
	}

	assign("chat", "chat", "code", "chat")
	assert.Empty(t, inner.events, "before the window ends")
	now.Step(assignedWindow)
	assert.ElementsMatch(t, [][]any{event("chat"), event("code")}, inner.events)
	assign("chat", "chat")
	now.Step(assignedWindow - time.Millisecond)
	assert.Len(t, inner.events, 2)
	now.Step(time.Millisecond)
	assert.Equal(t, event("chat"), inner.events[2])
	assert.Len(t, inner.events, 3)

	replacement := ownedPlacement("chat")
	replacement.Spec.Replaces = "chat-0-0"
	recorder.Eventf(PodFor(replacement), nil, corev1.EventTypeNormal, "Scheduled", "Binding", "Successfully assigned %v to %v", "a/b", "east")
	now.Step(assignedWindow)
	assert.Len(t, inner.events, 3, "hub-manager tells of moves")
}

func ownedPlacement(deployment string) *evenkeel.ReplicaPlacement {
	owned := assigned(pendingPlacement("chat-0-1"), "east")
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "modelplane.ai/v1alpha1", Kind: "ModelDeployment", Name: deployment, UID: types.UID("uid-" + deployment), Controller: ptr.To(true)}}
	return owned
}

type eventSink struct {
	events.EventRecorder
	events [][]any
}

func (s *eventSink) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	event := []any{regarding, nil, eventType, reason, action, note}
	if related != nil {
		event[1] = related
	}
	s.events = append(s.events, append(event, args...))
}
