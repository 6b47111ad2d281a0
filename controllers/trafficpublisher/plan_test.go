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

package trafficpublisher

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

var chat = types.NamespacedName{Namespace: "prod", Name: "chat"}

// TestNames are OME's, so that a hub can switch between the two publishers.
func TestNames(t *testing.T) {
	assert.Equal(t, "chat-global", routeName(chat, "prod"))
	assert.Equal(t, "chat-ba4cb5d6-global", routeName(chat, "routes"))
	assert.Equal(t, "tmb-b70ae8415bbe92d52fe7db87e85f63cf0fd52863ced1dd233b54", backendName(chat, "worker-a"))
	assert.Len(t, backendName(chat, strings.Repeat("a", 253)), 56)

	long := types.NamespacedName{Namespace: "prod", Name: strings.Repeat("a", 60)}
	longer := types.NamespacedName{Namespace: "prod", Name: strings.Repeat("a", 61)}
	assert.Len(t, routeName(long, "prod"), 63)
	assert.NotEqual(t, routeName(long, "prod"), routeName(longer, "prod"))

	route, ok := routeOf(targetOf(types.NamespacedName{Namespace: "prod", Name: "chat-global"}))
	assert.True(t, ok)
	assert.Equal(t, "prod/chat-global", route.String())
	_, ok = routeOf("v1:other:prod/chat")
	assert.False(t, ok)
}

func mapOf(entries ...ome.TrafficMapEntry) *ome.TrafficMap {
	return &ome.TrafficMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "chat"}, Spec: ome.TrafficMapSpec{Entries: entries}}
}

func entry(cluster, endpoint string, weight int32) ome.TrafficMapEntry {
	return ome.TrafficMapEntry{Cluster: cluster, Endpoint: endpoint, Weight: weight}
}

func TestPlan(t *testing.T) {
	g := &Gateway{Namespace: "gateways", Name: "global", BackendPort: 8443, RewriteHostname: true}
	p, err := g.newPlan(mapOf(entry("worker-a", "https://a.example.com:9000/v1", 0), entry("worker-b", "https://b.example.com", 3)), "chat.example.com")
	require.NoError(t, err)
	require.Len(t, p.route.Spec.Rules, 1)
	refs := p.route.Spec.Rules[0].BackendRefs
	require.Len(t, refs, 2)
	assert.EqualValues(t, 0, *refs[0].Weight, "a weight of 0 is written")
	assert.EqualValues(t, 3, *refs[1].Weight)
	assert.EqualValues(t, backendName(chat, "worker-a"), refs[0].Name)
	assert.EqualValues(t, "prod", *refs[0].Namespace)
	assert.EqualValues(t, 8443, *refs[0].Port)
	assert.EqualValues(t, "a.example.com", *refs[0].Filters[0].URLRewrite.Hostname)
	assert.EqualValues(t, "/", *p.route.Spec.Rules[0].Matches[0].Path.Value)
	parent := p.route.Spec.ParentRefs[0]
	assert.Equal(t, "gateway.networking.k8s.io Gateway gateways global", fmt.Sprint(*parent.Group, " ", *parent.Kind, " ", *parent.Namespace, " ", parent.Name))
	assert.Equal(t, map[string]string{
		"ome.io/managed-by": "placement-endpoint", "ome.io/placement-endpoint-isvc": "chat", "ome.io/placement-endpoint-isvc-namespace": "prod",
	}, p.route.Labels)
	backend := p.backends[0]
	assert.Equal(t, "worker-a", backend.Labels["ome.io/placement-cluster"])
	assert.Equal(t, corev1.ServiceTypeExternalName, backend.Spec.Type)
	assert.Equal(t, "a.example.com", backend.Spec.ExternalName)
	assert.EqualValues(t, 8443, backend.Spec.Ports[0].Port)

	g.RewriteHostname, g.RouteNamespace = false, "routes"
	q, err := g.newPlan(mapOf(entry("worker-a", "https://a.example.com", 1)), "chat.example.com")
	require.NoError(t, err)
	assert.Empty(t, q.route.Spec.Rules[0].BackendRefs[0].Filters)
	assert.Equal(t, "routes/chat-ba4cb5d6-global", q.key().String())
	assert.Equal(t, "routes", q.backends[0].Namespace)
	assert.NotEqual(t, p.digest, q.digest)
}

func TestPlansThatCannotBe(t *testing.T) {
	g := &Gateway{Namespace: "gateways", Name: "global", BackendPort: 443}
	var many []ome.TrafficMapEntry
	for i := range 17 {
		many = append(many, entry(fmt.Sprintf("worker-%d", i), "https://a.example.com", 1))
	}
	for want, tc := range map[string]struct {
		tm   *ome.TrafficMap
		host string
	}{
		"TrafficMap has 17 entries, Gateway API HTTPRoute rules support at most 16 backendRefs": {mapOf(many...), "chat.example.com"},
		`the global host "Chat_" is no host name`:                                               {mapOf(), "Chat_"},
		"the endpoint of cluster worker-a has no host name that a Service can point to":         {mapOf(entry("worker-a", "https://[::1]:80", 1)), "chat.example.com"},
		"the endpoint of cluster worker-b is no URL":                                            {mapOf(entry("worker-b", "https://a b", 1)), "chat.example.com"},
	} {
		_, err := g.newPlan(tc.tm, tc.host)
		assert.ErrorContains(t, err, want)
	}
}

func TestHosts(t *testing.T) {
	isvc := &ome.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "chat"}}
	for _, tc := range []struct{ template, annotation, want string }{
		{"", "", ""},
		{"{{.Name}}.{{.Namespace}}.example.com", "", "chat.prod.example.com"},
		{"{{.Name}}.example.com", "special.example.com", "special.example.com"},
	} {
		isvc.Annotations = map[string]string{ome.GlobalHostAnnotation: tc.annotation}
		host, err := (&Gateway{HostTemplate: tc.template}).hostOf(isvc)
		require.NoError(t, err)
		assert.Equal(t, tc.want, host)
	}
	_, err := (&Gateway{HostTemplate: "{{.Nobody}}"}).hostOf(&ome.InferenceService{})
	assert.ErrorContains(t, err, "the host template")
}
