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

package manager

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/standin"
)

const (
	movedReplicas = 4
	// longLoad is longer than a step must last to be written down for its own sake, as it is with real models.
	longLoad = 6 * time.Second
	// requestGrace is so much shorter that a busy machine does not make that step last as long.
	requestGrace = 2 * time.Second
)

// TestMovesOnAHubWithRoutes moves replicas that ModelServices and HTTPRoutes lead to, with both strategies at the same
// time: requests are kept off each before it is deleted, and a move takes no more than 15 writes of hub-manager and
// hub-scheduler, events and all. The stand-in computes a route only when it is asked to, so that nothing passes that only
// a cycle would have put right.
func TestMovesOnAHubWithRoutes(t *testing.T) {
	// The test's own context ends before what it has to clean up.
	routed, err := startHub(context.Background(), "dev/crds", "dev/crds-gateway-api")
	require.NoError(t, err)
	shared := hub
	hub = routed
	t.Cleanup(func() {
		hub = shared
		assert.NoError(t, routed.Stop())
	})
	w := newIdleWorld(t)
	w.startStandIn(standin.Options{LoadTime: longLoad, RouteInterval: time.Hour})
	w.scheduler = hub.RunScheduler(t)
	w.manager = startManager(t, fmt.Sprintf("  disruption: {requestGracePeriod: %s}\n", requestGrace))
	strategies := map[string]evenkeel.DisruptionStrategy{
		"recreated": evenkeel.StrategyRecreate, "surging": evenkeel.StrategyMakeBeforeBreak,
	}
	w.cluster("east", 2*movedReplicas)
	for name, strategy := range strategies {
		w.policyFor(name, strategy)
		w.service(name)
		w.deploy(name, movedReplicas, func(d *modelplane.ModelDeployment) { d.Labels = map[string]string{"example.test/name": name} })
	}
	for name := range strategies {
		w.expectServing(name, "east", movedReplicas)
		w.expectRouted(name, movedReplicas)
	}
	w.waitUntilQuiet()
	placing := w.eventNames()

	w.cluster("west", 2*movedReplicas)
	began := time.Now()
	w.setTaints("east", retire)
	fewest := movedReplicas
	w.eventually(func() string {
		fewest = min(fewest, w.routedBackends("surging"))
		return w.notYetMoved()
	})
	w.waitUntilQuiet()
	assert.Equal(t, movedReplicas, fewest, "backends that were routed to under MakeBeforeBreak at the worst moment")
	writes := w.auditedSince(began)
	for name := range strategies {
		counts := counted(writes, func(e *auditv1.Event) bool {
			// A series of events can be written long after what it tells.
			return strings.HasPrefix(e.ObjectRef.Name, name) && !(e.ObjectRef.Resource == "events" && slices.Contains(placing, e.ObjectRef.Name))
		})
		assert.LessOrEqual(t, total(counts), movedReplicas*15, "moving %d %s:\n%s", movedReplicas, name, listed(counts))
		t.Logf("%s: %.2f writes a move\n%s", name, float64(total(counts))/movedReplicas, listed(counts))
		w.checkTrafficFirst(name, writes)
	}
}

func (w *world) policyFor(deployment string, strategy evenkeel.DisruptionStrategy) {
	w.t.Helper()
	require.NoError(w.t, hub.Client.Create(w.ctx, &evenkeel.DisruptionPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: deployment},
		Spec: evenkeel.DisruptionPolicySpec{
			Selector:           &metav1.LabelSelector{MatchLabels: map[string]string{"example.test/name": deployment}},
			DisruptionSettings: evenkeel.DisruptionSettings{Strategy: strategy},
		},
	}))
}

func (w *world) eventNames() []string {
	w.t.Helper()
	list := &eventsv1.EventList{}
	require.NoError(w.t, hub.Client.List(w.ctx, list, client.InNamespace(w.namespace)))
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

func (w *world) service(deployment string) {
	w.t.Helper()
	require.NoError(w.t, hub.Client.Create(w.ctx, &modelplane.ModelService{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: deployment},
		Spec: modelplane.ModelServiceSpec{Endpoints: []modelplane.EndpointGroup{{
			Selector: modelplane.LabelSelector{MatchLabels: map[string]string{modelplane.LabelDeployment: deployment}},
		}}},
	}))
}

func (w *world) expectRouted(service string, n int) {
	w.t.Helper()
	w.eventually(func() string {
		if got := w.routedBackends(service); got != n {
			return fmt.Sprintf("%d backends of %s are routed to", got, service)
		}
		return ""
	})
}

// routedBackends counts the backends that a service's route names, and fails the test if one of them is gone.
func (w *world) routedBackends(service string) int {
	w.t.Helper()
	before := w.backendsOf(service)
	endpoints := &modelplane.ModelEndpointList{}
	require.NoError(w.t, hub.Client.List(w.ctx, endpoints, client.InNamespace(w.namespace)))
	after := w.backendsOf(service) // the test may have slept between the two looks for as long as an endpoint takes to go
	for _, backend := range before {
		exists := slices.ContainsFunc(endpoints.Items, func(e modelplane.ModelEndpoint) bool { return e.Name == backend })
		require.True(w.t, exists || !slices.Contains(after, backend), "a route names %s, which is gone", backend)
	}
	return len(before)
}

// backendsOf gives the names in a service's route.
func (w *world) backendsOf(service string) []string {
	w.t.Helper()
	route := &gatewayv1.HTTPRoute{}
	require.NoError(w.t, client.IgnoreNotFound(hub.Client.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: service}, route)))
	var names []string
	for _, rule := range route.Spec.Rules {
		for i := range rule.BackendRefs {
			names = append(names, string(rule.BackendRefs[i].Name))
		}
	}
	return names
}

// notYetMoved says what is missing until all replicas serve on west and no other is there.
func (w *world) notYetMoved() string {
	replicas := w.replicas()
	if len(replicas) != 2*movedReplicas {
		return fmt.Sprint(replicas)
	}
	for _, r := range replicas {
		if !strings.Contains(r, "@west/") || strings.HasSuffix(r, "terminating") {
			return fmt.Sprint(replicas)
		}
	}
	if n := w.routedBackends("recreated"); n != movedReplicas {
		return fmt.Sprintf("%d recreated backends are routed to", n)
	}
	return ""
}

// waitUntilQuiet waits until hub-manager and hub-scheduler have nothing more to write.
func (w *world) waitUntilQuiet() {
	w.t.Helper()
	written, since := 0, time.Now()
	w.eventually(func() string {
		if now := total(w.writesSince(time.Time{})); now != written {
			written, since = now, time.Now()
		}
		if time.Since(since) < 2*time.Second {
			return "they go on writing"
		}
		return ""
	})
}

// checkTrafficFirst checks on what was written that each replica was deleted in this order: its labels were taken off its
// endpoint, a route was written, requests in flight had their time, endpoint and replica were deleted.
func (w *world) checkTrafficFirst(deployment string, writes []auditv1.Event) {
	w.t.Helper()
	stripped, unrouted, withdrawn := map[string]bool{}, map[string]time.Time{}, map[string]bool{}
	deleted := 0
	for i := range writes {
		e := &writes[i]
		name := e.ObjectRef.Name
		if !strings.HasPrefix(name, deployment) || e.ResponseStatus == nil || e.ResponseStatus.Code >= http.StatusBadRequest {
			continue // somebody else's, or refused and tried again
		}
		switch e.Verb + " " + e.ObjectRef.Resource + "/" + e.ObjectRef.Subresource {
		case "patch modelendpoints/":
			stripped[name] = true
		case "update httproutes/", "delete httproutes/":
			for endpoint := range stripped {
				if unrouted[endpoint].IsZero() {
					unrouted[endpoint] = e.RequestReceivedTimestamp.Time
				}
			}
		case "delete modelendpoints/":
			withdrawn[name] = true
			assert.False(w.t, unrouted[name].IsZero(), "endpoint %s was deleted before its route went", name)
			// The time is kept in whole seconds.
			assert.GreaterOrEqual(w.t, e.RequestReceivedTimestamp.Sub(unrouted[name]), requestGrace-time.Second, "endpoint %s", name)
		case "delete modelreplicas/":
			deleted++
			assert.True(w.t, withdrawn[name], "replica %s was deleted before its endpoint", name)
		}
	}
	assert.Equal(w.t, movedReplicas, deleted, "replicas of %s that were deleted", deployment)
}
