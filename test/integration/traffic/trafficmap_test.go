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
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

const inputValid = "evenkeel.io/InputValid"

// TestTrafficMaps runs every test of what a map says against one manager without a gateway.
func TestTrafficMaps(t *testing.T) {
	manager := startManager(t, "")
	t.Run("bad value after a good one keeps the map", frozenByDrains)
	t.Run("bad routing values keep the map", frozenByRouting)
	t.Run("bad value from the start makes no map", frozenFromTheStart)
	t.Run("opting out removes the map also while the drains are bad", optOut)
	t.Run("two drains on one cluster", twoDrains)
	t.Run("a drain comes before its cluster", pendingDrain)
	t.Run("everything drained", allDrained)
	t.Run("an edit of the map is put right", mapEdited)
	t.Run("a map of somebody else stands in the way", nameTaken)
	t.Run("not routed", notRouted)
	t.Run("health probes", healthProbes)
	for _, private := range []string{"sk-", "not ready for it"} {
		assert.NotContains(t, manager.Output(), private, "what is written into the annotation is not logged")
	}
}

func newChat(t *testing.T) *ome.InferenceService {
	t.Helper()
	isvc := newService(t, newNamespace(t), "chat", candidate("worker-a", 4, 4), candidate("worker-b", 2, 2))
	expectTable(t, isvc, "worker-a=2 worker-b=1")
	return isvc
}

func frozenByDrains(t *testing.T) {
	isvc := newChat(t)
	annotate(t, isvc, `{"a":{"cluster":"worker-a","reason":"r"}}`)
	good := expectTable(t, isvc, "worker-a=0[a] worker-b=1")
	annotate(t, isvc, `{"a":{"cluster":"worker-a","reason":"sk-123456789012345678901234"},}`)
	hubtest.Eventually(t, func() string {
		c := meta.FindStatusCondition(trafficMap(t, isvc).Status.Conditions, inputValid)
		if c == nil || c.Status != metav1.ConditionFalse {
			return "the map does not say that it is frozen"
		}
		assert.Equal(t, "InvalidTrafficDrain", c.Reason)
		assert.Contains(t, c.Message, "parse ome.io/traffic-drain: decode override ID")
		return ""
	})
	expectEvent(t, "InferenceService", isvc, "TrafficMapFrozen", "parse ome.io/traffic-drain: ")
	place(t, isvc, candidate("worker-a", 4, 4), candidate("worker-b", 4, 4), candidate("worker-c", 1, 1))
	update(t, isvc, func() error {
		isvc.Spec.Routing = &ome.RoutingSpec{CapacityFactors: map[string]resource.Quantity{"worker-b": resource.MustParse("2")}}
		return hub.Client.Update(t.Context(), isvc)
	})
	// Another service that is handled afterwards shows that this one has been looked at.
	newChat(t)
	frozen := trafficMap(t, isvc)
	assert.Equal(t, good.Spec, frozen.Spec)
	assert.Equal(t, good.Generation, frozen.Generation)
	o := run(t, "ome", "traffic", "undrain", "chat", "-n", isvc.Namespace, "--id=a", "--yes")
	assert.Equal(t, 1, o.code)
	assert.Contains(t, o.stderr, "error: traffic action refused: existing traffic-drain annotation is malformed or unsafe\n")
	assert.NotContains(t, o.stderr, "sk-")
	assert.NotContains(t, kubectl(t, "get", "events", "-n", isvc.Namespace, "-o", "yaml"), "sk-")

	annotate(t, isvc, `{"a":{"cluster":"worker-a","reason":"r"}}`)
	expectTable(t, isvc, "worker-a=0[a] worker-b=8 worker-c=1")
	expectCondition(t, isvc, ome.TrafficMapRoutable, metav1.ConditionTrue, "Routable", "3 home(s) serving")
	hubtest.Eventually(t, func() string {
		if !meta.IsStatusConditionTrue(trafficMap(t, isvc).Status.Conditions, inputValid) {
			return "the map does not say that it follows again"
		}
		return ""
	})
}

func frozenByRouting(t *testing.T) {
	isvc := newChat(t)
	update(t, isvc, func() error {
		isvc.Spec.Routing = &ome.RoutingSpec{CapacityFactors: map[string]resource.Quantity{"worker-b": resource.MustParse("0")}}
		return hub.Client.Update(t.Context(), isvc)
	})
	hubtest.Eventually(t, func() string {
		c := meta.FindStatusCondition(trafficMap(t, isvc).Status.Conditions, inputValid)
		if c == nil || c.Reason != "InvalidRouting" {
			return "the map does not say that it is frozen"
		}
		assert.Contains(t, c.Message, `validate routing policy: spec.routing.capacityFactors["worker-b"] must be positive, got "0"`)
		return ""
	})
	assert.Equal(t, "worker-a=2 worker-b=1", table(trafficMap(t, isvc)))
}

func frozenFromTheStart(t *testing.T) {
	namespace := newNamespace(t)
	isvc := &ome.InferenceService{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "chat", Annotations: map[string]string{ome.TrafficDrainAnnotation: ""}},
		Spec:       ome.InferenceServiceSpec{Placement: &ome.PlacementSpec{Mode: ome.PlacementAll, ClusterSelector: "gpu"}},
	}
	require.NoError(t, hub.Client.Create(t.Context(), isvc))
	expectEvent(t, "InferenceService", isvc, "TrafficMapFrozen", "No TrafficMap is made: parse ome.io/traffic-drain: decode top-level object: EOF")
	assert.Empty(t, trafficMap(t, isvc).Name)
	annotate(t, isvc, "{}")
	expectCondition(t, isvc, ome.TrafficMapRoutable, metav1.ConditionFalse, "NotPlaced", "not Placed")
	require.NoError(t, hub.Client.Delete(t.Context(), isvc))
}

func optOut(t *testing.T) {
	isvc := newChat(t)
	annotate(t, isvc, "null")
	expectEvent(t, "InferenceService", isvc, "TrafficMapFrozen", "")
	update(t, isvc, func() error {
		isvc.Spec.Routing = &ome.RoutingSpec{Enabled: ptr.To(false)}
		return hub.Client.Update(t.Context(), isvc)
	})
	hubtest.Eventually(t, func() string {
		if trafficMap(t, isvc).Name != "" {
			return "the map is still there"
		}
		return ""
	})
	annotate(t, isvc, "-")
	newChat(t) // another service that is handled afterwards
	assert.Empty(t, trafficMap(t, isvc).Name, "the end of a drain brings no map back")
}

func twoDrains(t *testing.T) {
	isvc := newChat(t)
	drain := func(id string) {
		o := run(t, "ome", "traffic", "drain", "chat", "-n", isvc.Namespace, "--workload-cluster=worker-a", "--id="+id, "--reason=r", "--yes")
		require.Zero(t, o.code, o.stderr)
	}
	drain("b")
	drain("a")
	expectTable(t, isvc, "worker-a=0[a,b] worker-b=1")
	expectCondition(t, isvc, ome.TrafficMapOverrideActive, metav1.ConditionTrue, "OverridesApplied",
		"2 of 2 traffic-drain annotation override(s) active across 1 route arm(s)")
	expectEvent(t, "InferenceService", isvc, "TrafficDrained", `Cluster worker-a is held at weight 0 by drain "b"`)
	o := run(t, "ome", "traffic", "undrain", "chat", "-n", isvc.Namespace, "--id=b", "--yes")
	require.Zero(t, o.code, o.stderr)
	expectTable(t, isvc, "worker-a=0[a] worker-b=1")
	annotate(t, isvc, "-")
	expectTable(t, isvc, "worker-a=2 worker-b=1")
	expectEvent(t, "InferenceService", isvc, "TrafficUndrained", "Cluster worker-a is not held any more and has weight 2")
}

func pendingDrain(t *testing.T) {
	isvc := newChat(t)
	annotate(t, isvc, `{"early":{"cluster":"worker-c","reason":"not ready for it"}}`)
	expectCondition(t, isvc, ome.TrafficMapOverrideActive, metav1.ConditionFalse, "OverridesPending", "1 traffic-drain annotation override(s) pending")
	place(t, isvc, candidate("worker-a", 4, 4), candidate("worker-b", 2, 2), candidate("worker-c", 1, 1))
	expectTable(t, isvc, "worker-a=4 worker-b=2 worker-c=0[early]")
}

func allDrained(t *testing.T) {
	isvc := newChat(t)
	annotate(t, isvc, `{"a":{"cluster":"worker-a","reason":"r"},"b":{"cluster":"worker-b","reason":"r"}}`)
	expectTable(t, isvc, "worker-a=0[a] worker-b=0[b]")
	expectCondition(t, isvc, ome.TrafficMapRoutable, metav1.ConditionFalse, "TrafficDrain", "manual traffic-drain overrides set all 2 route arm(s) to zero")
	expectEvent(t, "InferenceService", isvc, "NotRoutable", "Nobody serves")
}

func mapEdited(t *testing.T) {
	isvc := newChat(t)
	kubectl(t, "patch", "trafficmap", "chat", "-n", isvc.Namespace, "--type=merge", "-p", `{"spec":{"entries":[]}}`)
	expectTable(t, isvc, "worker-a=2 worker-b=1")
	kubectl(t, "delete", "trafficmap", "chat", "-n", isvc.Namespace)
	expectTable(t, isvc, "worker-a=2 worker-b=1")
}

func nameTaken(t *testing.T) {
	namespace := newNamespace(t)
	foreign := &ome.TrafficMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "chat"}, Spec: ome.TrafficMapSpec{Service: "chat"}}
	require.NoError(t, hub.Client.Create(t.Context(), foreign))
	isvc := newService(t, namespace, "chat", candidate("worker-a", 4, 4))
	expectEvent(t, "InferenceService", isvc, "TrafficMapNameTaken", "exists but is not controlled by InferenceService UID")
	assert.Empty(t, trafficMap(t, isvc).Spec.Entries)
	require.NoError(t, hub.Client.Delete(t.Context(), foreign))
	expectTable(t, isvc, "worker-a=1")
}

func notRouted(t *testing.T) {
	namespace := newNamespace(t)
	plain := newService(t, namespace, "plain", candidate("worker-a", 1, 1))
	expectTable(t, plain, "worker-a=1")
	update(t, plain, func() error {
		plain.Spec.Placement = &ome.PlacementSpec{Mode: ome.PlacementAll}
		return hub.Client.Update(t.Context(), plain)
	})
	hubtest.Eventually(t, func() string {
		if trafficMap(t, plain).Name != "" {
			return "the map of a service with only a mode is still there"
		}
		return ""
	})
	copied := newService(t, namespace, "copy", candidate("worker-a", 1, 1))
	expectTable(t, copied, "worker-a=1")
	kubectl(t, "label", "inferenceservice", "copy", "-n", namespace, ome.PlacementOriginLabel+"=hub")
	hubtest.Eventually(t, func() string {
		if trafficMap(t, copied).Name != "" {
			return "the map of a derived copy is still there"
		}
		return ""
	})
}

// endpoint answers probes as its test wants it to.
type endpoint struct {
	*httptest.Server
	status atomic.Int32
}

func newEndpoint(t *testing.T) *endpoint {
	e := &endpoint{}
	e.status.Store(http.StatusOK)
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/health") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.WriteHeader(int(e.status.Load()))
	}))
	t.Cleanup(e.Close)
	return e
}

func healthProbes(t *testing.T) {
	a, b := newEndpoint(t), newEndpoint(t)
	at := func(cluster string, e *endpoint) ome.PlacementCandidate {
		c := candidate(cluster, 7, 7)
		c.Endpoint = e.URL
		return c
	}
	isvc := newService(t, newNamespace(t), "chat")
	update(t, isvc, func() error {
		isvc.Spec.Routing = &ome.RoutingSpec{Probe: &ome.RoutingProbe{
			Path: "/health", Method: "GET", AcceptStatuses: []int32{200}, GateStatuses: []int32{500, 503},
			Period: &metav1.Duration{Duration: time.Second}, Timeout: &metav1.Duration{Duration: 900 * time.Millisecond},
			FailureThreshold: 2, SuccessThreshold: 2, AllFailedPolicy: ome.DrainTraffic,
		}}
		return hub.Client.Update(t.Context(), isvc)
	})
	place(t, isvc, at("worker-a", a), at("worker-b", b))
	expectTable(t, isvc, "worker-a=1 worker-b=1")
	a.status.Store(http.StatusServiceUnavailable)
	expectTable(t, isvc, "worker-a=0 worker-b=1")
	// On a busy machine a probe may run into its timeout before it gets this answer.
	hubtest.Eventually(t, func() string {
		p := trafficMap(t, isvc).Spec.Entries[0].Probe
		if p == nil || p.Result != ome.ProbeFailing || !p.Gated || p.Message != "HTTP 503" {
			return fmt.Sprintf("the probe is %+v", p)
		}
		assert.Regexp(t, `^sha256:[0-9a-f]{64}$`, p.PolicyDigest)
		return ""
	})
	b.Close()
	expectTable(t, isvc, "worker-a=0 worker-b=0")
	expectCondition(t, isvc, ome.TrafficMapRoutable, metav1.ConditionFalse, "AllHomesProbeFailed", "2 home(s) have conclusive probe failures; all route weights are zero")
	a.status.Store(http.StatusTeapot)
	hubtest.Eventually(t, func() string {
		if p := trafficMap(t, isvc).Spec.Entries[0].Probe; p.Message != "HTTP 418 (not in accept or gate list)" || !p.Gated {
			return "no verdict has not been told, or has opened the gate: " + p.Message
		}
		return ""
	})
	a.status.Store(http.StatusOK)
	expectTable(t, isvc, "worker-a=1 worker-b=0")
}

// TestBesideOME checks that the manager ends where OME routes, with what to do.
func TestBesideOME(t *testing.T) {
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: omeNamespace, Name: "inferenceservice-config"},
		Data:       map[string]string{"multicluster": `{"routing": {"enabled": true}}`},
	}
	require.NoError(t, hub.Client.Create(t.Context(), config))
	t.Cleanup(func() { assert.NoError(t, hub.Client.Delete(context.Background(), config)) })
	manager := startManager(t, "")
	assert.Error(t, manager.Wait())
	assert.Contains(t, manager.Output(), "trafficMap.enabled is set, but OME's own routing is on")
	assert.Contains(t, manager.Output(), "ConfigMap ome/inferenceservice-config")
}
