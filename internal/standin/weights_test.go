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
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func endpointWithLabels(name string, ready bool, set map[string]string) modelplane.ModelEndpoint {
	endpoint := modelplane.ModelEndpoint{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, Labels: set}}
	if ready {
		endpoint.Status.Routing = &modelplane.EndpointRouting{BackendName: name}
	}
	return endpoint
}

func group(weight int32, set map[string]string) modelplane.EndpointGroup {
	return modelplane.EndpointGroup{Weight: ptr.To(weight), Selector: modelplane.LabelSelector{MatchLabels: set}}
}

func TestResolve(t *testing.T) {
	a, b := map[string]string{"m": "a"}, map[string]string{"m": "b"}
	both := map[string]string{"m": "a", "tier": "x"}
	for name, tc := range map[string]struct {
		groups    []modelplane.EndpointGroup
		endpoints []modelplane.ModelEndpoint
		want      map[string]int64
		waiting   int
	}{
		"nothing selected": {
			groups:    []modelplane.EndpointGroup{group(1, a)},
			endpoints: []modelplane.ModelEndpoint{endpointWithLabels("1", true, b)},
			want:      map[string]int64{},
		},
		"one group is spread evenly": {
			groups:    []modelplane.EndpointGroup{group(100, a)},
			endpoints: []modelplane.ModelEndpoint{endpointWithLabels("1", true, a), endpointWithLabels("2", true, a)},
			want:      map[string]int64{"1": 1, "2": 1},
		},
		"a group's weight is its whole share": {
			groups: []modelplane.EndpointGroup{group(3, a), group(1, b)},
			endpoints: []modelplane.ModelEndpoint{
				endpointWithLabels("1", true, a), endpointWithLabels("2", true, a), endpointWithLabels("3", true, b),
			},
			want: map[string]int64{"1": 3, "2": 3, "3": 2},
		},
		"no share becomes zero": {
			groups: []modelplane.EndpointGroup{group(1, a), group(1000000, b)},
			endpoints: []modelplane.ModelEndpoint{
				endpointWithLabels("1", true, a), endpointWithLabels("2", true, a), endpointWithLabels("3", true, a), endpointWithLabels("4", true, b),
			},
			want: map[string]int64{"1": 1, "2": 1, "3": 1, "4": 1000000},
		},
		"an empty group leaves its share": {
			groups:    []modelplane.EndpointGroup{group(9, a), group(1, b)},
			endpoints: []modelplane.ModelEndpoint{endpointWithLabels("1", true, b)},
			want:      map[string]int64{"1": 1},
		},
		"the first group wins": {
			groups:    []modelplane.EndpointGroup{group(1, map[string]string{"tier": "x"}), group(3, a)},
			endpoints: []modelplane.ModelEndpoint{endpointWithLabels("1", true, both), endpointWithLabels("2", true, a)},
			want:      map[string]int64{"1": 1, "2": 3},
		},
		"without a backend it waits": {
			groups:    []modelplane.EndpointGroup{group(1, a)},
			endpoints: []modelplane.ModelEndpoint{endpointWithLabels("1", true, a), endpointWithLabels("2", false, a)},
			want:      map[string]int64{"1": 1},
			waiting:   1,
		},
		"no weight means one": {
			groups:    []modelplane.EndpointGroup{{Selector: modelplane.LabelSelector{MatchLabels: a}}},
			endpoints: []modelplane.ModelEndpoint{endpointWithLabels("1", true, a)},
			want:      map[string]int64{"1": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := resolve(tc.groups, tc.endpoints)
			weights := map[string]int64{}
			for _, backend := range got.backends {
				weights[backend.key.Name] = backend.weight
			}
			assert.Equal(t, tc.want, weights)
			assert.Equal(t, tc.waiting, got.waiting)

			rand.Shuffle(len(tc.endpoints), func(i, j int) { tc.endpoints[i], tc.endpoints[j] = tc.endpoints[j], tc.endpoints[i] })
			assert.Equal(t, got, resolve(tc.groups, tc.endpoints), "the order of the endpoints matters")
		})
	}
}

// TestRouteKeepsWeights counts the requests of three rounds.
func TestRouteKeepsWeights(t *testing.T) {
	weights := []int64{5, 1, 3}
	var backends []weightedBackend
	for i, weight := range weights {
		backends = append(backends, weightedBackend{key: types.NamespacedName{Name: fmt.Sprint(i)}, weight: weight})
	}
	r := newRule("/ml/chat/", backends)
	counts := map[string]int64{}
	longest, run, last := 0, 0, ""
	for range 3 * 9 {
		next, ok := r.next()
		require.True(t, ok)
		name := next.key.Name
		counts[name]++
		if name != last {
			run = 0
		}
		run++
		last, longest = name, max(longest, run)
	}
	for i, weight := range weights {
		assert.Equal(t, 3*weight, counts[fmt.Sprint(i)])
	}
	assert.LessOrEqual(t, longest, 2, "requests to one backend come in bursts")
}

func TestServiceConditions(t *testing.T) {
	one := []weightedBackend{{}}
	for name, tc := range map[string]struct {
		given             resolution
		resolved, routing string
		message           string
	}{
		"none":         {resolution{}, "False/NoEndpoints", "False/Configuring", "No ModelEndpoints matched the configured selectors"},
		"all ready":    {resolution{backends: one}, "True/Resolved", "True/RouteConfigured", "Matched 1 endpoint(s)"},
		"some wait":    {resolution{backends: one, waiting: 2}, "True/Resolved", "True/RouteConfigured", "Matched 3 endpoint(s); 2 waiting for Backend"},
		"all wait yet": {resolution{waiting: 1}, "True/Resolved", "False/Configuring", "Matched 1 endpoint(s); 1 waiting for Backend"},
	} {
		t.Run(name, func(t *testing.T) {
			resolved, routing := serviceConditions(tc.given)
			assert.Equal(t, tc.resolved, string(resolved.Status)+"/"+resolved.Reason)
			assert.Equal(t, tc.message, resolved.Message)
			assert.Equal(t, tc.routing, string(routing.Status)+"/"+routing.Reason)
		})
	}
}
