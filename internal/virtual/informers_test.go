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
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

const deadline = 20 * time.Second

// recorded collects what a handler is told, in order.
type recorded struct {
	mu     sync.Mutex
	events []string
}

func (r *recorded) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func (r *recorded) get() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.events...)
}

func (r *recorded) handler() cache.ResourceEventHandler {
	describe := func(obj any) string {
		switch object := obj.(type) {
		case *corev1.Pod:
			return fmt.Sprintf("%s %s on %q", object.Name, object.UID, object.Spec.NodeName)
		case *corev1.Node:
			return fmt.Sprintf("%s %s", object.Name, object.UID)
		}
		return fmt.Sprintf("%T", obj)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { r.add("add %s", describe(obj)) },
		UpdateFunc: func(_, obj any) { r.add("update %s", describe(obj)) },
		DeleteFunc: func(obj any) { r.add("delete %s", describe(obj)) },
	}
}

// started makes informers over a fake hub and starts them after prepare, until the test ends.
func started(t *testing.T, hub *fakeHub, prepare func(*Informers)) *Informers {
	config := &rest.Config{Host: hub.server.URL, QPS: -1}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	dynamicClient, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	informers, err := NewInformers(hub.hub(), client, dynamicinformer.NewDynamicSharedInformerFactory(dynamicClient, 0))
	require.NoError(t, err)
	prepare(informers)
	stop := make(chan struct{})
	informers.Shared.Start(stop)
	informers.Dynamic.Start(stop)
	t.Cleanup(func() {
		close(stop)
		hub.closeWatches()
		informers.Shared.Shutdown()
		informers.Dynamic.Shutdown()
	})
	return informers
}

func waitForSync(t *testing.T, informers *Informers) {
	timeout := make(chan struct{})
	timer := time.AfterFunc(deadline, func() { close(timeout) })
	defer timer.Stop()
	for kind, synced := range informers.Shared.WaitForCacheSync(timeout) {
		require.True(t, synced, "%s", kind)
	}
	for resource, synced := range informers.Dynamic.WaitForCacheSync(timeout) {
		require.True(t, synced, "%s", resource)
	}
}

func eventually(t *testing.T, want []string, got func() []string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, want, got()) }, deadline, 5*time.Millisecond)
}

func TestInformersSync(t *testing.T) {
	for name, noWatchList := range map[string]bool{"streaming the initial objects": false, "listing them": true} {
		t.Run(name, func(t *testing.T) {
			hub := newFakeHub(t)
			hub.noWatchList = noWatchList
			hub.set(resourcePlacements, pendingPlacement("a-0-1"), over(pendingPlacement("b-0-1")), adopting(pendingPlacement("c-0-1")))
			hub.set(resourceClusters, servingCluster("east"))
			hub.set(resourceReplicas, &modelplane.ModelReplica{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "chat-32a9b"}})
			informers := started(t, hub, func(informers *Informers) {
				informers.Shared.Core().V1().Pods().Informer()
				informers.Shared.Resource().V1().ResourceClaims().Informer()
				informers.Shared.Policy().V1().PodDisruptionBudgets().Informer()
			})
			waitForSync(t, informers)

			assert.Equal(t, []string{"team-a/a-0-1"}, informers.Shared.Core().V1().Pods().Informer().GetStore().ListKeys())
			assert.Equal(t, []string{"east"}, informers.Shared.Core().V1().Nodes().Informer().GetStore().ListKeys())
			assert.Equal(t, []string{"team-a/chat-32a9b"}, informers.Replicas.GetStore().ListKeys())
			assert.Empty(t, hub.foreign, "nothing but the custom resources is asked of the hub, which need not serve resource.k8s.io")
		})
	}
}

func TestInformersFollow(t *testing.T) {
	hub := newFakeHub(t)
	hub.set(resourceClusters, servingCluster("east"))
	pods, nodes := &recorded{}, &recorded{}
	informers := started(t, hub, func(informers *Informers) {
		_, err := informers.Shared.Core().V1().Pods().Informer().AddEventHandler(pods.handler())
		require.NoError(t, err)
		_, err = informers.Shared.Core().V1().Nodes().Informer().AddEventHandler(nodes.handler())
		require.NoError(t, err)
	})
	waitForSync(t, informers)
	require.Eventually(t, func() bool { return hub.watching(resourcePlacements) && hub.watching(resourceClusters) }, deadline, time.Millisecond)

	p := pendingPlacement("chat-0-1")
	hub.send(resourcePlacements, watch.Added, atVersion(p, 101))
	p.Generation = 3
	hub.send(resourcePlacements, watch.Modified, atVersion(p, 102))
	hub.send(resourcePlacements, watch.Modified, atVersion(assigned(p, "east"), 103))
	p.Generation = 4
	hub.send(resourcePlacements, watch.Modified, atVersion(p, 104))
	p.Status.Assignment.ClusterName = "west" // which the schema forbids
	hub.send(resourcePlacements, watch.Modified, atVersion(p, 105))
	hub.send(resourcePlacements, watch.Bookmark, bookmarkOf(resourcePlacements, "106", nil))
	hub.send(resourcePlacements, watch.Modified, atVersion(over(p), 107))
	hub.send(resourcePlacements, watch.Deleted, atVersion(p, 108))
	hub.send(resourcePlacements, watch.Added, atVersion(pendingPlacement("last-0-1"), 109))

	eventually(t, []string{
		`add chat-0-1 uid-chat-0-1.g2 on ""`,
		`delete chat-0-1 uid-chat-0-1.g2 on ""`,
		`add chat-0-1 uid-chat-0-1.g3 on ""`,
		`update chat-0-1 uid-chat-0-1.g3 on "east"`,
		`update chat-0-1 uid-chat-0-1.g3 on "east"`,
		`delete chat-0-1 uid-chat-0-1.g3 on "east"`,
		`add chat-0-1 uid-chat-0-1.g3 on "west"`,
		`delete chat-0-1 uid-chat-0-1.g3 on "west"`,
		`add last-0-1 uid-last-0-1.g2 on ""`,
	}, pods.get)

	recreated := servingCluster("east")
	recreated.UID = "uid-again"
	hub.send(resourceClusters, watch.Modified, typed(resourceClusters, recreated))
	eventually(t, []string{"add east uid-cluster", "delete east uid-cluster", "add east uid-again"}, nodes.get)
}

// After a watch that cannot be resumed an informer lists anew, and reports as an update what is another object.
func TestInformersRelist(t *testing.T) {
	hub := newFakeHub(t)
	gone := pendingPlacement("gone-0-1")
	hub.set(resourceClusters, servingCluster("east"))
	hub.set(resourcePlacements, pendingPlacement("chat-0-1"), assigned(pendingPlacement("done-0-1"), "east"), gone)
	pods, nodes := &recorded{}, &recorded{}
	informers := started(t, hub, func(informers *Informers) {
		_, err := informers.Shared.Core().V1().Pods().Informer().AddEventHandlerWithResyncPeriod(pods.handler(), 0)
		require.NoError(t, err)
		_, err = informers.Shared.Core().V1().Nodes().Informer().AddEventHandlerWithOptions(nodes.handler(), cache.HandlerOptions{})
		require.NoError(t, err)
	})
	waitForSync(t, informers)
	require.Eventually(t, func() bool { return hub.watching(resourcePlacements) && hub.watching(resourceClusters) }, deadline, time.Millisecond)
	seen := len(pods.get())

	cluster, p := servingCluster("east"), pendingPlacement("chat-0-1")
	cluster.UID, p.UID = "uid-again", "uid-again"
	hub.set(resourceClusters, cluster)
	hub.set(resourcePlacements, p, over(assigned(pendingPlacement("done-0-1"), "east")))
	expired := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Code: 410, Reason: metav1.StatusReasonExpired, Status: metav1.StatusFailure}
	hub.send(resourceClusters, watch.Error, expired)
	hub.send(resourcePlacements, watch.Error, expired)
	hub.closeWatches()

	eventually(t, []string{"add east uid-cluster", "delete east uid-cluster", "add east uid-again"}, nodes.get)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.ElementsMatch(c, []string{
			`delete chat-0-1 uid-chat-0-1.g2 on ""`,
			`add chat-0-1 uid-again.g2 on ""`,
			`delete cache.DeletedFinalStateUnknown`, // done-0-1, which is over
			`delete cache.DeletedFinalStateUnknown`, // gone-0-1
		}, pods.get()[seen:])
	}, deadline, 5*time.Millisecond)
}

// A handler that has not seen the initial objects holds back the informer that it is registered with.
func TestInformerSyncIncludesHandlers(t *testing.T) {
	hub := newFakeHub(t)
	hub.set(resourceReplicas, &modelplane.ModelReplica{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "chat-32a9b"}})
	release := make(chan struct{})
	informers := started(t, hub, func(informers *Informers) {
		_, err := informers.Replicas.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-release }})
		require.NoError(t, err)
	})
	require.Eventually(t, func() bool { return len(informers.Replicas.GetStore().ListKeys()) == 1 }, deadline, time.Millisecond)
	assert.False(t, informers.Replicas.HasSynced())
	close(release)
	require.Eventually(t, informers.Replicas.HasSynced, deadline, time.Millisecond)

	blocked := make(chan struct{})
	defer close(blocked)
	registration, err := informers.Replicas.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-blocked }})
	require.NoError(t, err)
	assert.False(t, informers.Replicas.HasSynced())
	require.NoError(t, informers.Replicas.RemoveEventHandler(registration))
	assert.True(t, informers.Replicas.HasSynced(), "a handler that was removed holds nothing back")
}

// A plugin's handler, which is added first, has always heard of what the scheduler's is told.
func TestHandlersAreCalledInOrder(t *testing.T) {
	hub := newFakeHub(t)
	hub.set(resourcePlacements, pendingPlacement("a-0-1"))
	heard, removed := &recorded{}, &recorded{}
	var early cache.ResourceEventHandlerRegistration
	informers := started(t, hub, func(informers *Informers) {
		pods := informers.Shared.Core().V1().Pods().Informer()
		for _, name := range []string{"plugin", "scheduler"} {
			_, err := pods.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
				AddFunc: func(obj any, initial bool) {
					heard.add("%s: add %s, initial %t", name, obj.(*corev1.Pod).Name, initial)
				},
				DeleteFunc: func(obj any) { heard.add("%s: delete %s", name, obj.(*corev1.Pod).Name) },
			})
			require.NoError(t, err)
		}
		var err error
		early, err = pods.AddEventHandler(removed.handler())
		require.NoError(t, err)
	})
	waitForSync(t, informers)
	assert.True(t, early.HasSynced())
	require.NoError(t, informers.Shared.Core().V1().Pods().Informer().RemoveEventHandler(early))
	require.Eventually(t, func() bool { return hub.watching(resourcePlacements) }, deadline, time.Millisecond)
	for i := range 50 {
		hub.send(resourcePlacements, watch.Added, atVersion(pendingPlacement("b-0-1"), 101+2*i))
		hub.send(resourcePlacements, watch.Deleted, atVersion(pendingPlacement("b-0-1"), 102+2*i))
	}
	want := []string{"plugin: add a-0-1, initial true", "scheduler: add a-0-1, initial true"}
	for range 50 {
		want = append(want, "plugin: add b-0-1, initial false", "scheduler: add b-0-1, initial false", "plugin: delete b-0-1", "scheduler: delete b-0-1")
	}
	eventually(t, want, heard.get)
	assert.Equal(t, []string{`add a-0-1 uid-a-0-1.g2 on ""`}, removed.get())

	late := &recorded{}
	_, err := informers.Shared.Core().V1().Pods().Informer().AddEventHandler(late.handler())
	require.NoError(t, err)
	eventually(t, []string{`add a-0-1 uid-a-0-1.g2 on ""`}, late.get)
}

func TestDynamicFactoryGivesTypedReplicas(t *testing.T) {
	hub := newFakeHub(t)
	hub.set(resourceReplicas, &modelplane.ModelReplica{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "chat-32a9b"}})
	informers := started(t, hub, func(*Informers) {})
	waitForSync(t, informers)

	resource, _ := schema.ParseResourceArg("modelreplicas.v1alpha1.modelplane.ai") // as the scheduler does with a plugin's event
	generic := informers.Dynamic.ForResource(*resource)
	assert.Same(t, informers.Replicas, generic.Informer())
	object, err := generic.Lister().ByNamespace("team-a").Get("chat-32a9b")
	require.NoError(t, err)
	assert.IsType(t, &modelplane.ModelReplica{}, object)

	other := informers.Dynamic.ForResource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"})
	assert.NotSame(t, informers.Replicas, other.Informer())
}

func TestTrimReplica(t *testing.T) {
	replica := &modelplane.ModelReplica{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: "chat-32a9b", Labels: map[string]string{modelplane.LabelCluster: "east"},
			Annotations: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{}},
		},
		Spec: modelplane.ModelReplicaSpec{ClusterName: "east", Engines: []modelplane.ReplicaEngine{{Name: "main", Members: []modelplane.ReplicaMember{{
			NodePoolName: "h100", Template: &modelplane.MemberTemplate{},
			DeviceRequests: []modelplane.ReplicaDeviceRequest{{Name: "gpu", DeviceClassName: "gpu", Selectors: []modelplane.DeviceSelector{{CEL: "true"}}}},
		}}}}},
		Status: modelplane.ModelReplicaStatus{Conditions: []metav1.Condition{{Type: "Ready"}}},
	}
	got, err := trimReplica(replica)
	require.NoError(t, err)
	assert.Equal(t, &modelplane.ModelReplica{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "chat-32a9b", Labels: map[string]string{modelplane.LabelCluster: "east"}},
		Spec: modelplane.ModelReplicaSpec{ClusterName: "east", Engines: []modelplane.ReplicaEngine{{Name: "main", Members: []modelplane.ReplicaMember{{
			NodePoolName: "h100", DeviceRequests: []modelplane.ReplicaDeviceRequest{{Name: "gpu", DeviceClassName: "gpu"}},
		}}}}},
	}, got)

	unknown := cache.DeletedFinalStateUnknown{Key: "team-a/chat-32a9b"}
	got, err = trimReplica(unknown)
	require.NoError(t, err)
	assert.Equal(t, unknown, got)
}
