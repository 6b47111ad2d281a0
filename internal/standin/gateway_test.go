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

package standin

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// world is a gateway with one cluster's gateway behind it, over objects in memory.
type world struct {
	client  client.Client
	gateway *gateway
	east    string
	// requests in flight on replicas.
	requests *inflight
}

func newWorld(t *testing.T, requestTime time.Duration) *world {
	scheme := runtime.NewScheme()
	require.NoError(t, modelplane.AddToScheme(scheme))
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&modelplane.ModelReplica{}, &modelplane.ModelEndpoint{}).Build()
	requests := newInflight()
	clusters := newClusterGateways(c, requestTime, requests)
	t.Cleanup(func() { assert.NoError(t, clusters.close()) })
	east, err := clusters.addressOf("east")
	require.NoError(t, err)
	g, err := openGateway(c, newRouteTable(), &counter{})
	require.NoError(t, err)
	g.serve()
	t.Cleanup(func() { assert.NoError(t, g.close()) })
	return &world{client: c, gateway: g, east: east, requests: requests}
}

// add makes a serving replica on a cluster, with its endpoint at an address.
func (w *world) add(t *testing.T, name, cluster, address string) *modelplane.ModelReplica {
	replica := &modelplane.ModelReplica{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ml", Name: name,
			Labels: map[string]string{modelplane.LabelDeployment: "chat"},
			// The fake client deletes at once what has none.
			Finalizers: []string{Finalizer},
		},
		Spec: modelplane.ModelReplicaSpec{ClusterName: cluster},
	}
	setConditions(&replica.Status.Conditions, 1, conditionsOf(phaseServing, "")...)
	endpoint := &modelplane.ModelEndpoint{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name},
		Spec:       modelplane.ModelEndpointSpec{URL: "http://" + address + "/ml/" + name + "/v1", RewritePath: "/ml/" + name + "/"},
	}
	configureBackend(endpoint)
	for _, object := range []client.Object{replica, endpoint} {
		require.NoError(t, w.client.Create(t.Context(), object))
		require.NoError(t, w.client.Status().Update(t.Context(), object))
	}
	return replica
}

func (w *world) get(t *testing.T, path string) (int, string) {
	response, err := http.Get(w.gateway.url() + path)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestGateway(t *testing.T) {
	w := newWorld(t, 0)
	chat := types.NamespacedName{Namespace: "ml", Name: "chat"}
	backend := func(name string) []weightedBackend {
		return []weightedBackend{{key: types.NamespacedName{Namespace: "ml", Name: name}, weight: 1, rewritePath: "/ml/" + name + "/"}}
	}
	serving := w.add(t, "chat-1", "east", w.east)
	w.add(t, "chat-west", "west", w.east)
	const nobody = "127.0.0.1:1"
	w.add(t, "chat-dead", "east", nobody)
	loading := w.add(t, "chat-loading", "east", w.east)
	setConditions(&loading.Status.Conditions, 1, conditionsOf(phaseLoading, "")...)
	require.NoError(t, w.client.Status().Update(t.Context(), loading))

	for _, tc := range []struct {
		name     string
		backends []weightedBackend
		path     string
		code     int
		body     string
	}{
		{"not a service's path", nil, "/chat", 404, "/<namespace>/<service>/"},
		{"no route", nil, "/ml/chat/v1/models", 404, "no route for /ml/chat/v1/models"},
		{"a route without backends", []weightedBackend{}, "/ml/chat/v1/models", 500, "no backend with a weight"},
		{"a deleted backend", backend("chat-gone"), "/ml/chat/v1/models", 500, "ml/chat-gone, which was deleted"},
		{"a cluster that does not answer", backend("chat-dead"), "/ml/chat/v1/models", 503, "no answer from the cluster of chat-dead"},
		{"a replica that is not on that cluster", backend("chat-west"), "/ml/chat/v1/models", 404, "no ModelReplica ml/chat-west on east"},
		{"a replica that loads", backend("chat-loading"), "/ml/chat/v1/models", 503, "does not serve"},
		{"a replica that serves", backend("chat-1"), "/ml/chat/v1/models", 200, `"replica":"chat-1"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w.gateway.routes.set(chat)
			if tc.backends != nil {
				w.gateway.routes.set(chat, newRule("/ml/chat", tc.backends))
			}
			before := w.gateway.counts.read().Answers[tc.code]
			code, body := w.get(t, tc.path)
			assert.Equal(t, tc.code, code)
			assert.Contains(t, body, tc.body)
			assert.Equal(t, before+1, w.gateway.counts.read().Answers[tc.code])
		})
	}

	t.Run("the answer says who answered", func(t *testing.T) {
		_, body := w.get(t, "/ml/chat/v1/models?x=y")
		var answer Answer
		require.NoError(t, json.Unmarshal([]byte(body), &answer))
		assert.Equal(t, Answer{Namespace: "ml", Replica: "chat-1", Deployment: "chat", Cluster: "east"}, answer)
	})
	t.Run("a replica that is being deleted", func(t *testing.T) {
		require.NoError(t, w.client.Delete(t.Context(), serving))
		code, _ := w.get(t, "/ml/chat/v1/models")
		assert.Equal(t, 503, code)
	})
}

func TestClusterGatewaysEnd(t *testing.T) {
	gateways := newClusterGateways(nil, 0, newInflight())
	address, err := gateways.addressOf("east")
	require.NoError(t, err)
	again, err := gateways.addressOf("east")
	require.NoError(t, err)
	assert.Equal(t, address, again)
	other, err := gateways.addressOf("west")
	require.NoError(t, err)
	assert.NotEqual(t, address, other)

	require.NoError(t, gateways.closeOf("east"))
	require.NoError(t, gateways.closeOf("never opened"))
	_, err = http.Get("http://" + address)
	assert.Error(t, err)
	require.NoError(t, gateways.close())
	_, err = gateways.addressOf("west")
	assert.ErrorContains(t, err, "the stand-in has ended")
}

func TestInvalidURL(t *testing.T) {
	for url, valid := range map[string]bool{
		"http://192.0.2.1/ml/chat/v1": true, "https://east.test/x": true,
		"": false, "east/ml": false, "ftp://east/ml": false, "http:///ml": false, "http://%zz": false,
	} {
		endpoint := &modelplane.ModelEndpoint{ObjectMeta: metav1.ObjectMeta{Name: "e"}, Spec: modelplane.ModelEndpointSpec{URL: url}}
		configureBackend(endpoint)
		assert.Equal(t, valid, backendOf(endpoint) == "e", url)
		routing := endpoint.Status.Conditions[0]
		assert.Equal(t, modelplane.ConditionRoutingReady, routing.Type)
		if !valid {
			assert.Equal(t, reasonInvalidURL, routing.Reason, url)
			assert.Contains(t, routing.Message, "Invalid spec.url: ")
		}
	}
}

// TestRequestInFlight deletes a replica that has been asked and has not answered yet.
func TestRequestInFlight(t *testing.T) {
	w := newWorld(t, time.Hour)
	w.add(t, "chat-1", "east", w.east)
	key := types.NamespacedName{Namespace: "ml", Name: "chat-1"}
	w.gateway.routes.set(key, newRule("/ml/chat/", []weightedBackend{{key: key, weight: 1, rewritePath: "/ml/chat-1/"}}))
	type reply struct {
		code int
		body string
	}
	replies := make(chan reply)
	go func() {
		code, body := w.get(t, "/ml/chat/v1/models")
		replies <- reply{code, body}
	}()
	eventuallyTrue(t, "the request is in flight", func() bool { return w.requests.cutOff(key) == 1 })
	got := <-replies
	assert.Equal(t, 503, got.code)
	assert.Contains(t, got.body, "was deleted before it had answered")
}

func eventuallyTrue(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return holds(), nil
	})
	require.NoError(t, err, "waiting for: %s", what)
}

func TestRequestTakesItsTime(t *testing.T) {
	g := &clusterGateway{requestTime: time.Millisecond}
	assert.True(t, g.work(t.Context(), make(chan struct{})), "a request that comes to its end")
	g.requestTime = time.Hour
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	assert.False(t, g.work(gone, make(chan struct{})), "a client that has gone away")
}

func TestInflight(t *testing.T) {
	f := newInflight()
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	_, finished := f.begin(a)
	first, firstDone := f.begin(a)
	second, secondDone := f.begin(b)
	finished()
	assert.Equal(t, 1, f.cutOff(a))
	assert.Zero(t, f.cutOff(a), "cut off already")
	assert.True(t, isClosed(first))
	assert.False(t, isClosed(second), "another replica's request")

	again, againDone := f.begin(a)
	firstDone()
	assert.False(t, isClosed(again), "a later replica of the name")
	assert.Equal(t, 1, f.cutOff(a), "the end of an earlier request counted for a later one")
	againDone()
	secondDone()
	assert.Empty(t, f.requests, "requests that have ended are remembered")
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
