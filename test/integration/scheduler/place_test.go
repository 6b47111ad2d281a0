//go:build integration

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

package scheduler

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

func TestPlace(t *testing.T) {
	h := newHub(t, controlplane.Options{
		AuditPolicy: controlplane.WritesAuditPolicy(),
		// An older hub does not serve the kinds of device claims, and does not stream the objects of a list.
		RuntimeConfig: map[string]bool{"resource.k8s.io/v1": false, "resource.k8s.io/v1beta1": false, "resource.k8s.io/v1beta2": false},
		FeatureGates:  map[string]bool{"WatchList": false},
	})
	h.create(cluster("west", pool("h100", 2)), cluster("east", pool("h100", 2)), cluster("north"))
	h.startScheduler()
	h.create(placement("chat", 0))

	p := h.waitAssigned("chat-0-1")

	assert.Equal(t, &evenkeel.Assignment{ClusterName: "east", Index: 0, Engines: []evenkeel.EngineAssignment{
		{Name: "main", Members: []evenkeel.MemberAssignment{{NodePoolName: "h100"}}},
	}}, p.Status.Assignment)
	scheduled := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionScheduled)
	require.NotNil(t, scheduled)
	assert.Equal(t, metav1.ConditionTrue, scheduled.Status)
	assert.Equal(t, p.Generation, scheduled.ObservedGeneration)

	var event eventsv1.Event
	h.eventually(func() error {
		return h.eventAbout(p, &event)
	})
	assert.Equal(t, "Scheduled", event.Reason)
	assert.Equal(t, corev1.EventTypeNormal, event.Type)
	assert.Equal(t, "Successfully assigned default/chat-0-1 to east", event.Note)
	assert.Equal(t, "evenkeel", event.ReportingController)
	assert.Equal(t, corev1.ObjectReference{
		APIVersion: "evenkeel.io/v1alpha1", Kind: "ReplicaPlacement", Namespace: namespace, Name: "chat-0-1", UID: p.UID,
		ResourceVersion: event.Regarding.ResourceVersion,
	}, event.Regarding)

	assert.Equal(t, map[string]int{"update replicaplacements/status": 1, "create events": 1}, h.schedulerWrites())
}

// What is assigned together is one event on the deployment, and what is assigned later makes it a series.
func TestAssignmentsAreToldOnTheDeployment(t *testing.T) {
	h := newHub(t, controlplane.Options{})
	h.create(cluster("east", pool("h100", 9)))
	h.startScheduler()
	assign := func(slot int32) {
		p := placement("chat", slot)
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "modelplane.ai/v1alpha1", Kind: "ModelDeployment", Name: "chat", UID: "uid-chat", Controller: ptr.To(true)}}
		h.create(p)
		h.waitAssigned(p.Name)
	}
	for slot := range int32(5) {
		assign(slot)
	}
	event := h.onlyEvent(func(*eventsv1.Event) bool { return true })
	assert.Equal(t, "Scheduled", event.Reason)
	assert.Equal(t, corev1.ObjectReference{APIVersion: "modelplane.ai/v1alpha1", Kind: "ModelDeployment", Namespace: namespace, Name: "chat", UID: "uid-chat"}, event.Regarding)

	assign(5)
	h.onlyEvent(func(event *eventsv1.Event) bool { return event.Series != nil })
}

// onlyEvent waits until there is one event, which is as wanted.
func (h *hub) onlyEvent(wanted func(*eventsv1.Event) bool) *eventsv1.Event {
	h.t.Helper()
	list := &eventsv1.EventList{}
	h.eventually(func() error {
		if err := h.List(h.t.Context(), list, client.InNamespace(namespace)); err != nil {
			return err
		}
		if len(list.Items) != 1 || !wanted(&list.Items[0]) {
			return fmt.Errorf("not the one event: %+v", list.Items)
		}
		return nil
	})
	return &list.Items[0]
}

// eventAbout finds the one event about a placement.
func (h *hub) eventAbout(p *evenkeel.ReplicaPlacement, event *eventsv1.Event) error {
	list := &eventsv1.EventList{}
	if err := h.List(h.t.Context(), list, client.InNamespace(p.Namespace)); err != nil {
		return err
	}
	for i := range list.Items {
		if list.Items[i].Regarding.UID == p.UID {
			*event = list.Items[i]
			return nil
		}
	}
	return assert.AnError
}

// schedulerWrites counts what the hub scheduler has written, by verb and resource.
func (h *hub) schedulerWrites() map[string]int {
	h.t.Helper()
	events, err := h.AuditEvents()
	require.NoError(h.t, err)
	writes := map[string]int{}
	for _, event := range events {
		if event.ObjectRef == nil || len(event.UserAgent) < 13 || event.UserAgent[:13] != "hub-scheduler" {
			continue
		}
		resource := event.ObjectRef.Resource
		if event.ObjectRef.Subresource != "" {
			resource += "/" + event.ObjectRef.Subresource
		}
		writes[event.Verb+" "+resource]++
	}
	return writes
}
