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
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

var chatService = modelplane.ModelService{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "chat", UID: "1"}}

func chatBackends() []weightedBackend {
	return []weightedBackend{
		{key: types.NamespacedName{Namespace: "ml", Name: "chat-1"}, weight: 2, rewritePath: "/ml/chat-1/"},
		{key: types.NamespacedName{Namespace: "other", Name: "chat-2"}, weight: 1, rewritePath: "/other/chat-2/"},
	}
}

// TestHTTPRouteSaysAll writes a route and reads it back.
func TestHTTPRouteSaysAll(t *testing.T) {
	route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "chat"}, Spec: httpRouteSpec(&chatService, chatBackends())}
	assert.True(t, attached(route))
	rules := rulesOf(route)
	require.Len(t, rules, 1)
	assert.Equal(t, "/ml/chat/", rules[0].prefix)
	assert.Equal(t, chatBackends(), rules[0].backends)
}

// TestForeignHTTPRoutes reads routes that somebody else wrote, who leaves to the
// defaults what has one.
func TestForeignHTTPRoutes(t *testing.T) {
	route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "theirs"}}
	route.Spec.Rules = []gatewayv1.HTTPRouteRule{{
		BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{Name: "a"}}}},
	}, {
		Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Value: ptr.To("/x")}}, {}},
	}}
	rules := rulesOf(route)
	require.Len(t, rules, 3)
	assert.Equal(t, []string{"/", "/x/", "/"}, []string{rules[0].prefix, rules[1].prefix, rules[2].prefix})
	assert.Equal(t, []weightedBackend{{key: types.NamespacedName{Namespace: "ml", Name: "a"}, weight: 1}}, rules[0].backends)

	for name, tc := range map[string]struct {
		parent gatewayv1.ParentReference
		want   bool
	}{
		"another gateway":                       {gatewayv1.ParentReference{Name: "public", Namespace: ptr.To(gatewayv1.Namespace(GatewayNamespace))}, false},
		"the name in the route's own namespace": {gatewayv1.ParentReference{Name: GatewayName}, false},
		"the gateway of ModelServices":          {gatewayv1.ParentReference{Name: GatewayName, Namespace: ptr.To(gatewayv1.Namespace(GatewayNamespace))}, true},
	} {
		route.Spec.ParentRefs = []gatewayv1.ParentReference{tc.parent}
		assert.Equal(t, tc.want, attached(route), name)
	}
}

func TestLongestPrefixWins(t *testing.T) {
	table := newRouteTable()
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	table.set(a, newRule("/", nil), newRule("/ml/chat", nil))
	table.set(b, newRule("/ml", nil))
	for path, want := range map[string]string{
		"/ml/chat/v1/models": "/ml/chat/ v1/models",
		"/ml/chatty/v1":      "/ml/ chatty/v1",
		"/x":                 "/ x",
	} {
		matched, rest := table.match(path)
		require.NotNil(t, matched, path)
		assert.Equal(t, want, matched.prefix+" "+rest)
	}
	table.set(a)
	matched, _ := table.match("/x")
	assert.Nil(t, matched, "a route that was removed")
}

func TestServesHTTPRoutes(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	served, err := servesHTTPRoutes(mapper)
	require.NoError(t, err)
	assert.False(t, served)
	mapper.Add(schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: gatewayv1.GroupVersion.Version, Kind: "HTTPRoute"}, meta.RESTScopeNamespace)
	served, err = servesHTTPRoutes(mapper)
	require.NoError(t, err)
	assert.True(t, served)
	_, err = servesHTTPRoutes(brokenMapper{mapper})
	assert.ErrorContains(t, err, "whether it serves HTTPRoutes: no answer")
}

type brokenMapper struct{ meta.RESTMapper }

func (brokenMapper) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errors.New("no answer")
}

func TestTablePublisher(t *testing.T) {
	p := tablePublisher{routes: newRouteTable()}
	key := client.ObjectKeyFromObject(&chatService)
	matches := func() bool {
		matched, _ := p.routes.match("/ml/chat/v1")
		return matched != nil
	}
	require.NoError(t, p.publish(t.Context(), &chatService, chatBackends()))
	assert.True(t, matches())
	require.NoError(t, p.publish(t.Context(), &chatService, nil))
	assert.False(t, matches(), "a service without endpoints")
	require.NoError(t, p.publish(t.Context(), &chatService, chatBackends()))
	require.NoError(t, p.withdraw(t.Context(), key))
	assert.False(t, matches(), "a service that is gone")
}

func TestHTTPRoutePublisher(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(modelplane.AddToScheme(scheme), gatewayv1.Install(scheme)))
	c := fake.NewClientBuilder().WithScheme(scheme).Build()
	p := &httpRoutePublisher{client: c, counts: &counter{}}
	key := client.ObjectKeyFromObject(&chatService)
	read := func() *gatewayv1.HTTPRoute {
		route := &gatewayv1.HTTPRoute{}
		if err := c.Get(t.Context(), key, route); err != nil {
			return nil
		}
		return route
	}
	require.NoError(t, p.publish(t.Context(), &chatService, chatBackends()))
	require.NoError(t, p.publish(t.Context(), &chatService, chatBackends()))
	assert.Equal(t, 1, p.counts.read().HTTPRoutesWritten, "a route that is as it should be was written")
	require.NotNil(t, read())
	assert.True(t, metav1.IsControlledBy(read(), &chatService))

	again := chatService
	again.UID = "2"
	require.NoError(t, p.publish(t.Context(), &again, chatBackends()), "the route of a service of the same name that was deleted")
	assert.True(t, metav1.IsControlledBy(read(), &again))
	require.NoError(t, p.publish(t.Context(), &again, nil))
	assert.Nil(t, read(), "a service without endpoints")
	require.NoError(t, p.withdraw(t.Context(), key), "nothing to withdraw")

	theirs := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	require.NoError(t, c.Create(t.Context(), theirs))
	require.NoError(t, p.withdraw(t.Context(), key))
	assert.NotNil(t, read(), "somebody else's route")
}
