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

package modeldeployment

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func TestRouteBackends(t *testing.T) {
	ref := func(name string, change func(*gatewayv1.BackendObjectReference)) gatewayv1.HTTPBackendRef {
		r := gatewayv1.HTTPBackendRef{}
		r.Name = gatewayv1.ObjectName(name)
		change(&r.BackendObjectReference)
		return r
	}
	nothing := func(*gatewayv1.BackendObjectReference) {}
	route := &gatewayv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: "front"},
		Spec: gatewayv1.HTTPRouteSpec{Rules: []gatewayv1.HTTPRouteRule{
			{BackendRefs: []gatewayv1.HTTPBackendRef{
				ref("here", nothing), ref("here", nothing),
				ref("there", func(r *gatewayv1.BackendObjectReference) { r.Namespace = ptr.To(gatewayv1.Namespace("team")) }),
			}},
			{},
			{BackendRefs: []gatewayv1.HTTPBackendRef{
				ref("service", func(r *gatewayv1.BackendObjectReference) { r.Kind = ptr.To(gatewayv1.Kind("Service")) }),
				ref("pool", func(r *gatewayv1.BackendObjectReference) { r.Kind = ptr.To(gatewayv1.Kind("InferencePool")) }),
			}},
		}},
	}
	assert.Equal(t, []string{"front/here", "team/there", "front/service"}, routeBackends(route))
	assert.Empty(t, routeBackends(&gatewayv1.HTTPRoute{}))
}

// TestSelectedPairs gives one pair for each group, so that whatever the group selects has that pair.
func TestSelectedPairs(t *testing.T) {
	group := func(labels map[string]string) modelplane.EndpointGroup {
		return modelplane.EndpointGroup{Selector: modelplane.LabelSelector{MatchLabels: labels}}
	}
	service := &modelplane.ModelService{Spec: modelplane.ModelServiceSpec{Endpoints: []modelplane.EndpointGroup{
		group(map[string]string{"b": "2", "a": "1"}), group(map[string]string{"a": "1"}), group(nil), group(map[string]string{"c": ""}),
	}}}
	assert.Equal(t, []string{"a=1", "*", "c="}, selectedPairs(service))
}

func TestEndpointBackend(t *testing.T) {
	e := &modelplane.ModelEndpoint{ObjectMeta: metav1.ObjectMeta{Namespace: "team"}}
	assert.Empty(t, endpointBackend(e))
	e.Status.Routing = &modelplane.EndpointRouting{}
	assert.Empty(t, endpointBackend(e))
	e.Status.Routing.BackendName = "chat-32a9b"
	assert.Equal(t, []string{"team/chat-32a9b"}, endpointBackend(e))
}

// TestUnrouted remembers since when no route has named a backend, for as long as none does.
func TestUnrouted(t *testing.T) {
	var u unrouted
	key := types.NamespacedName{Namespace: "team", Name: "chat"}
	a, b := types.NamespacedName{Namespace: "team", Name: "a"}, types.NamespacedName{Namespace: "team", Name: "b"}
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	look := func(after time.Duration, backends map[types.NamespacedName]bool) map[types.NamespacedName]time.Time {
		return u.since(key, backends, start.Add(after))
	}
	assert.Equal(t, map[types.NamespacedName]time.Time{a: start}, look(0, map[types.NamespacedName]bool{a: false, b: true}))
	assert.Equal(t, map[types.NamespacedName]time.Time{a: start, b: start.Add(time.Second)}, look(time.Second, map[types.NamespacedName]bool{a: false, b: false}))
	assert.Equal(t, map[types.NamespacedName]time.Time{b: start.Add(time.Second)}, look(2*time.Second, map[types.NamespacedName]bool{a: true, b: false}))
	assert.Equal(t, map[types.NamespacedName]time.Time{a: start.Add(3 * time.Second)}, look(3*time.Second, map[types.NamespacedName]bool{a: false}), "b is gone")
	assert.Equal(t, map[types.NamespacedName]time.Time{b: start.Add(4 * time.Second)}, look(4*time.Second, map[types.NamespacedName]bool{b: false}))
	assert.Empty(t, look(5*time.Second, nil))
	assert.Empty(t, u.byDeployment)
	look(6*time.Second, map[types.NamespacedName]bool{a: false})
	u.forget(key)
	assert.Empty(t, u.byDeployment)
}
