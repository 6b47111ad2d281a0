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

package standin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func TestRoutesFollowTheirOwnCycle(t *testing.T) {
	service, endpoint := prepareRoute(t)
	s := run(t, Options{RouteInterval: time.Hour})
	eventually(t, "the first cycle", func(context.Context) (bool, error) { return s.Counters().RouteCycles == 1, nil })
	assert.Equal(t, 404, get(t, s))

	// The endpoint is ready now, and the route does not know.
	makeEndpoint(t, endpoint)
	eventually(t, "the endpoint has a backend", func(context.Context) (bool, error) { return s.Counters().EndpointsConfigured == 1, nil })
	assert.Equal(t, 404, get(t, s))
	hurry(t, service, "1")
	eventually(t, "the route", func(context.Context) (bool, error) { return get(t, s) == 200, nil })
	assert.Equal(t, []string{"default/routed"}, namedBackends(t))

	// The endpoint is gone, and the route does not know.
	require.NoError(t, cluster.Delete(t.Context(), endpoint))
	eventually(t, "the route names a deleted backend", func(context.Context) (bool, error) { return get(t, s) == 500, nil })
	hurry(t, service, "2")
	eventually(t, "no route", func(context.Context) (bool, error) { return get(t, s) == 404, nil })
	assert.Empty(t, namedBackends(t))
	eventually(t, "the counters", func(context.Context) (bool, error) {
		return s.Counters().RouteCycles >= 3 && s.Counters().Answers[500] > 0, nil
	})
	assert.Equal(t, 3, s.Counters().RouteCycles, "something else than the cycle and the request for it computed the route")
}

func TestRouteCycleNeedsNoRequest(t *testing.T) {
	_, endpoint := prepareRoute(t)
	s := run(t, Options{RouteInterval: 100 * time.Millisecond})
	makeEndpoint(t, endpoint)
	eventually(t, "the route", func(context.Context) (bool, error) { return get(t, s) == 200, nil })
	require.NoError(t, cluster.Delete(t.Context(), endpoint))
	eventually(t, "no route", func(context.Context) (bool, error) { return get(t, s) == 404, nil })
}

// TestRequestIsCutOff deletes a replica while it answers.
func TestRequestIsCutOff(t *testing.T) {
	_, endpoint := prepareRoute(t)
	s := run(t, Options{RouteInterval: 100 * time.Millisecond, RequestTime: time.Hour, HoldTime: time.Hour})
	makeEndpoint(t, endpoint)
	eventually(t, "the route", func(context.Context) (bool, error) { return len(namedBackends(t)) == 1, nil })
	codes := make(chan int, 1)
	go func() {
		code := 404 // until the gateway has read the route
		for code == 404 {
			code = get(t, s)
		}
		codes <- code
	}()
	eventually(t, "the request is in flight", func(context.Context) (bool, error) {
		s.requests.mu.Lock()
		defer s.requests.mu.Unlock()
		return len(s.requests.requests) == 1, nil
	})
	require.NoError(t, cluster.Delete(t.Context(), newReplica("routed", "")))
	select {
	case code := <-codes:
		assert.Equal(t, 503, code)
	case <-time.After(patience):
		require.Fail(t, "the request goes on")
	}
	eventually(t, "the counter", func(context.Context) (bool, error) { return s.Counters().RequestsCutOff == 1, nil })
}

// namedBackends lists what the HTTPRoutes of the hub name.
func namedBackends(t *testing.T) []string {
	list := &gatewayv1.HTTPRouteList{}
	require.NoError(t, cluster.List(t.Context(), list))
	var names []string
	for i := range list.Items {
		for _, r := range rulesOf(&list.Items[i]) {
			for _, b := range r.backends {
				names = append(names, b.key.String())
			}
		}
	}
	return names
}

// prepareRoute makes everything that a route needs except the endpoint.
func prepareRoute(t *testing.T) (*modelplane.ModelService, *modelplane.ModelEndpoint) {
	create(t, newClass("big"))
	create(t, newCluster("east", "big"))
	create(t, newReplica("routed", "east"))
	chat := map[string]string{modelplane.LabelDeployment: "chat"}
	service := &modelplane.ModelService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "chat"},
		Spec:       modelplane.ModelServiceSpec{Endpoints: []modelplane.EndpointGroup{{Selector: modelplane.LabelSelector{MatchLabels: chat}}}},
	}
	create(t, service)
	return service, &modelplane.ModelEndpoint{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "routed", Labels: chat}}
}

// makeEndpoint creates the endpoint of a replica, once it is ready, at the address
// of its cluster's gateway.
func makeEndpoint(t *testing.T, endpoint *modelplane.ModelEndpoint) {
	east, replica := newCluster("east", ""), newReplica(endpoint.Name, "")
	eventually(t, "the replica serves", func(ctx context.Context) (bool, error) {
		err := errors.Join(cluster.Get(ctx, client.ObjectKeyFromObject(east), east), cluster.Get(ctx, client.ObjectKeyFromObject(replica), replica))
		return east.Status.Gateway != nil && isServing(replica), err
	})
	endpoint.Spec.URL = "http://" + east.Status.Gateway.Address + "/default/" + endpoint.Name + "/v1"
	endpoint.Spec.RewritePath = "/default/" + endpoint.Name + "/"
	create(t, endpoint)
}

func hurry(t *testing.T, service *modelplane.ModelService, at string) {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, modelplane.AnnotationReconcileRequestedAt, at)
	require.NoError(t, cluster.Patch(t.Context(), service, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

func get(t *testing.T, s *StandIn) int {
	response, err := http.Get(s.GatewayURL() + "/default/chat/v1/models")
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	return response.StatusCode
}
