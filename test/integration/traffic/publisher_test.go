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

package traffic

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gateway "sigs.k8s.io/gateway-api/apis/v1"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

const gatewayConfig = `  gateway:
    namespace: ome
    name: global
    backendPort: 443
    hostTemplate: "{{.Name}}.{{.Namespace}}.example.com"
    rewriteHostname: true
    resyncInterval: 2s
`

// TestPublisher runs every test of what is published against one manager.
func TestPublisher(t *testing.T) {
	startManager(t, gatewayConfig)
	t.Run("the route follows the map and goes with it", routeLives)
	t.Run("a host that is taken", hostTaken)
	t.Run("one of many gets a host", hostWanted)
	t.Run("a route that is somebody else's", routeTaken)
	t.Run("what the publisher cannot do", invalidPlans)
	t.Run("an edit of the route is put right", routeEdited)
	t.Run("a frozen map keeps its route", routeFrozen)
}

func route(t *testing.T, namespace, name string) *gateway.HTTPRoute {
	t.Helper()
	r := &gateway.HTTPRoute{}
	require.NoError(t, client.IgnoreNotFound(hub.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, r)))
	return r
}

// shares is a route in short: "worker-a.example.com=2 worker-b.example.com=1".
func shares(t *testing.T, r *gateway.HTTPRoute) string {
	t.Helper()
	var said []string
	for _, rule := range r.Spec.Rules {
		for _, ref := range rule.BackendRefs {
			s := &corev1.Service{}
			require.NoError(t, client.IgnoreNotFound(hub.Client.Get(t.Context(), client.ObjectKey{Namespace: string(*ref.Namespace), Name: string(ref.Name)}, s)))
			said = append(said, fmt.Sprintf("%s=%d", s.Spec.ExternalName, *ref.Weight))
		}
	}
	return strings.Join(said, " ")
}

func expectShares(t *testing.T, isvc *ome.InferenceService, want string) *gateway.HTTPRoute {
	t.Helper()
	var r *gateway.HTTPRoute
	hubtest.Eventually(t, func() string {
		r = route(t, isvc.Namespace, isvc.Name+"-global")
		if got := shares(t, r); got != want {
			return fmt.Sprintf("the route has %q, want %q", got, want)
		}
		return ""
	})
	return r
}

func backends(t *testing.T, namespace string) []corev1.Service {
	t.Helper()
	list := &corev1.ServiceList{}
	require.NoError(t, hub.Client.List(t.Context(), list, client.InNamespace(namespace)))
	return list.Items
}

func routeLives(t *testing.T) {
	isvc := newChat(t)
	r := expectShares(t, isvc, "worker-a.example.com=2 worker-b.example.com=1")
	assert.Equal(t, []gateway.Hostname{gateway.Hostname("chat." + isvc.Namespace + ".example.com")}, r.Spec.Hostnames)
	assert.Equal(t, "placement-endpoint", r.Labels["ome.io/managed-by"])
	assert.Equal(t, "worker-a.example.com", string(*r.Spec.Rules[0].BackendRefs[0].Filters[0].URLRewrite.Hostname))
	expectCondition(t, isvc, ome.TrafficMapPublished, metav1.ConditionTrue, "Published", `TrafficMap is published by publisher "gatewayapi"`)
	expectCondition(t, isvc, ome.TrafficMapPublicationFallback, metav1.ConditionFalse, "Unsupported", "does not retain")
	tm := trafficMap(t, isvc)
	assert.True(t, tm.Status.Published)
	assert.Equal(t, &ome.TrafficMapGatewayRef{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: isvc.Namespace, Name: "chat-global"}, tm.Status.GatewayRef)
	assert.Equal(t, []string{"v1:httproute:" + isvc.Namespace + "/chat-global"}, tm.Status.Publisher.ClaimedTargets)
	assert.Contains(t, tm.Finalizers, "ome.io/trafficmap-publisher")

	annotate(t, isvc, `{"a":{"cluster":"worker-a","reason":"r"}}`)
	expectShares(t, isvc, "worker-a.example.com=0 worker-b.example.com=1")
	expectCondition(t, isvc, ome.TrafficMapPublished, metav1.ConditionTrue, "Published", "")
	annotate(t, isvc, `{"a":{"cluster":"worker-a","reason":"r"},"b":{"cluster":"worker-b","reason":"r"}}`)
	expectShares(t, isvc, "worker-a.example.com=0 worker-b.example.com=0")
	annotate(t, isvc, "-")
	place(t, isvc, candidate("worker-b", 2, 2), candidate("worker-c", 2, 2))
	expectShares(t, isvc, "worker-b.example.com=1 worker-c.example.com=1")
	hubtest.Eventually(t, func() string {
		if n := len(backends(t, isvc.Namespace)); n != 2 {
			return fmt.Sprintf("there are %d backends", n)
		}
		return ""
	})

	update(t, isvc, func() error {
		isvc.Spec.Routing = &ome.RoutingSpec{Enabled: ptr.To(false)}
		return hub.Client.Update(t.Context(), isvc)
	})
	hubtest.Eventually(t, func() string {
		switch {
		case trafficMap(t, isvc).Name != "":
			return "the map is still there"
		case route(t, isvc.Namespace, "chat-global").Name != "":
			return "the route is still there"
		case len(backends(t, isvc.Namespace)) > 0:
			return "backends are still there"
		}
		return ""
	})
}

func newRoute(namespace, name, host string) *gateway.HTTPRoute {
	return &gateway.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: gateway.HTTPRouteSpec{
			CommonRouteSpec: gateway.CommonRouteSpec{ParentRefs: []gateway.ParentReference{{Namespace: ptr.To(gateway.Namespace("ome")), Name: "global"}}},
			Hostnames:       []gateway.Hostname{gateway.Hostname(host)},
		},
	}
}

func hostTaken(t *testing.T) {
	namespace := newNamespace(t)
	theirs := newRoute(namespace, "theirs", "chat."+namespace+".example.com")
	require.NoError(t, hub.Client.Create(t.Context(), theirs))
	isvc := newService(t, namespace, "chat", candidate("worker-a", 1, 1))
	expectCondition(t, isvc, ome.TrafficMapPublished, metav1.ConditionFalse, "ClaimRejected", "Publisher claims could not be acquired")
	expectEvent(t, "TrafficMap", isvc, "PublicationFailed",
		fmt.Sprintf("Gateway hostname \"chat.%[1]s.example.com\" on ome/global is already published by HTTPRoute %[1]s/theirs", namespace))
	assert.Empty(t, route(t, namespace, "chat-global").Name)
	require.NoError(t, hub.Client.Delete(t.Context(), theirs))
	expectShares(t, isvc, "worker-a.example.com=1")
}

// hostWanted has many services ask for one host at the same moment.
func hostWanted(t *testing.T) {
	const services = 8
	namespace := newNamespace(t)
	host := "one." + namespace + ".example.com"
	var wanting []*ome.InferenceService
	for i := range services {
		isvc := newService(t, namespace, fmt.Sprintf("chat-%d", i), candidate("worker-a", 1, 1))
		expectCondition(t, isvc, ome.TrafficMapPublished, metav1.ConditionTrue, "Published", "")
		wanting = append(wanting, isvc)
	}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{"ome.io/global-host":%q}}}`, host))
	var group sync.WaitGroup
	for _, isvc := range wanting {
		group.Go(func() { assert.NoError(t, hub.Client.Patch(t.Context(), isvc.DeepCopy(), patch)) })
	}
	group.Wait()
	hubtest.Eventually(t, func() string {
		rejected := 0
		for _, isvc := range wanting {
			if c := meta.FindStatusCondition(trafficMap(t, isvc).Status.Conditions, ome.TrafficMapPublished); c.Reason == "ClaimRejected" {
				rejected++
			}
		}
		if rejected != services-1 {
			return fmt.Sprintf("%d of %d services are rejected", rejected, services)
		}
		return ""
	})
	hubtest.Eventually(t, func() string { // the one that is not may still have to write its route
		routes := &gateway.HTTPRouteList{}
		require.NoError(t, hub.Client.List(t.Context(), routes, client.InNamespace(namespace)))
		require.Len(t, routes.Items, services, "who is rejected keeps the route of before")
		have := 0
		for _, r := range routes.Items {
			if string(r.Spec.Hostnames[0]) == host {
				have++
			}
		}
		require.LessOrEqual(t, have, 1)
		if have == 0 {
			return "nobody has the host"
		}
		return ""
	})
}

func routeTaken(t *testing.T) {
	namespace := newNamespace(t)
	theirs := newRoute(namespace, "chat-global", "elsewhere.example.com")
	require.NoError(t, hub.Client.Create(t.Context(), theirs))
	isvc := newService(t, namespace, "chat", candidate("worker-a", 1, 1))
	expectCondition(t, isvc, ome.TrafficMapPublished, metav1.ConditionFalse, "ClaimRejected", "")
	expectEvent(t, "TrafficMap", isvc, "PublicationFailed", "global HTTPRoute "+namespace+"/chat-global belongs to another source")
	assert.Equal(t, theirs.Spec, route(t, namespace, "chat-global").Spec)
	require.NoError(t, hub.Client.Delete(t.Context(), theirs))
	expectShares(t, isvc, "worker-a.example.com=1")
}

func invalidPlans(t *testing.T) {
	namespace := newNamespace(t)
	var many []ome.PlacementCandidate
	for i := range 17 {
		many = append(many, candidate(fmt.Sprintf("worker-%02d", i), 1, 1))
	}
	isvc := newService(t, namespace, "many", many...)
	expectCondition(t, isvc, ome.TrafficMapPublished, metav1.ConditionFalse, "InvalidPlan", "Publisher plan is invalid")
	expectEvent(t, "TrafficMap", isvc, "PublicationFailed", "TrafficMap has 17 entries, Gateway API HTTPRoute rules support at most 16 backendRefs")
	place(t, isvc, many[:16]...)
	expectCondition(t, isvc, ome.TrafficMapPublished, metav1.ConditionTrue, "Published", "")
	place(t, isvc, many...)
	expectCondition(t, isvc, ome.TrafficMapPublished, metav1.ConditionFalse, "InvalidPlan", "")
	assert.Len(t, route(t, namespace, "many-global").Spec.Rules[0].BackendRefs, 16, "a failure leaves the route as it was")

	options := newService(t, namespace, "options", candidate("worker-a", 1, 1))
	update(t, options, func() error {
		options.Spec.Routing = &ome.RoutingSpec{Publisher: &ome.RoutingPublisher{Options: map[string]string{"a": "b"}}}
		return hub.Client.Update(t.Context(), options)
	})
	expectCondition(t, options, ome.TrafficMapPublished, metav1.ConditionFalse, "InvalidOptions", "Publisher options are invalid")
}

func routeEdited(t *testing.T) {
	isvc := newChat(t)
	expectShares(t, isvc, "worker-a.example.com=2 worker-b.example.com=1")
	expectCondition(t, isvc, ome.TrafficMapPublished, metav1.ConditionTrue, "Published", "")
	kubectl(t, "patch", "httproute", "chat-global", "-n", isvc.Namespace, "--type=json", "-p", `[{"op":"replace","path":"/spec/rules/0/backendRefs/0/weight","value":9}]`)
	expectShares(t, isvc, "worker-a.example.com=2 worker-b.example.com=1")
	for _, s := range backends(t, isvc.Namespace) {
		kubectl(t, "patch", "service", s.Name, "-n", isvc.Namespace, "--type=merge", "-p", `{"spec":{"externalName":"evil.example.com"}}`)
	}
	expectShares(t, isvc, "worker-a.example.com=2 worker-b.example.com=1")
}

// routeFrozen changes a service whose drains cannot be read: its map stays behind, and its route as it was.
func routeFrozen(t *testing.T) {
	isvc := newChat(t)
	annotate(t, isvc, `{"a":{"cluster":"worker-a","reason":"r"}}`)
	drained := expectShares(t, isvc, "worker-a.example.com=0 worker-b.example.com=1")
	expectCondition(t, isvc, ome.TrafficMapPublished, metav1.ConditionTrue, "Published", "")
	annotate(t, isvc, `[]`)
	update(t, isvc, func() error {
		isvc.Spec.Routing = &ome.RoutingSpec{CapacityFactors: map[string]resource.Quantity{"worker-b": resource.MustParse("3")}}
		return hub.Client.Update(t.Context(), isvc)
	})
	place(t, isvc, candidate("worker-a", 4, 4), candidate("worker-b", 2, 2), candidate("worker-c", 2, 2))
	expectCondition(t, isvc, ome.TrafficMapPublished, metav1.ConditionFalse, "InvalidOwner", "TrafficMap owner identity is invalid or stale")
	now := expectShares(t, isvc, "worker-a.example.com=0 worker-b.example.com=1")
	assert.Equal(t, drained.ResourceVersion, now.ResourceVersion)
	assert.NotNil(t, trafficMap(t, isvc).Status.GatewayRef, "it says still where the traffic goes")

	annotate(t, isvc, "-")
	expectShares(t, isvc, "worker-a.example.com=2 worker-b.example.com=3 worker-c.example.com=1")
	expectCondition(t, isvc, ome.TrafficMapPublished, metav1.ConditionTrue, "Published", "")
}

// TestWithdrawn checks that a gateway which is no longer configured loses what it had.
func TestWithdrawn(t *testing.T) {
	manager := startManager(t, gatewayConfig)
	isvc := newChat(t)
	expectShares(t, isvc, "worker-a.example.com=2 worker-b.example.com=1")
	expectCondition(t, isvc, ome.TrafficMapPublished, metav1.ConditionTrue, "Published", "")
	manager.Kill()
	startManager(t, "")
	expectCondition(t, isvc, ome.TrafficMapPublished, metav1.ConditionFalse, "Withdrawn", `TrafficMap publication is withdrawn by publisher "gatewayapi"`)
	assert.Empty(t, route(t, isvc.Namespace, "chat-global").Name)
	assert.Empty(t, backends(t, isvc.Namespace))
	hubtest.Eventually(t, func() string {
		if held := trafficMap(t, isvc).Finalizers; len(held) > 0 {
			return fmt.Sprintf("the map is held by %q", held)
		}
		return ""
	})
	tm := trafficMap(t, isvc)
	assert.Nil(t, tm.Status.GatewayRef)
	assert.Equal(t, "worker-a=2 worker-b=1", table(tm))
}
