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

package placement

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func TestReplicaName(t *testing.T) {
	for _, c := range []struct {
		deployment, cluster string
		index               int32
		want                string
	}{
		{"my-model", "cluster-a", 0, "my-model-5ab63"},
		{"my-model", "cluster-a", 1, "my-model-609c5"},
		{"my-model", "cluster-b", 0, "my-model-f0b76"},
		{"chat", "east", 0, "chat-32a9b"},
		{"chat", "east", 1, "chat-f7a54"},
		{"chat", "west", 0, "chat-e86c0"},
		{strings.Repeat("a", 56) + "-b", "east", 0, strings.Repeat("a", 56) + "-ec25c"},
		{strings.Repeat("x", 63), "east", 0, strings.Repeat("x", 57) + "-c2cc7"},
	} {
		got := ReplicaName(c.deployment, c.cluster, c.index)
		assert.Equal(t, c.want, got)
		assert.Empty(t, validation.IsDNS1123Label(got))
	}
	t.Run("long names", func(t *testing.T) {
		long := strings.Repeat("a.", 126) + "a"
		assert.Len(t, ReplicaName(long, long, 0), 57+6)
		assert.NotEqual(t, ReplicaName(long, long, 0), ReplicaName(long, long, 1))
	})
	t.Run("characters are not cut", func(t *testing.T) {
		assert.Equal(t, strings.Repeat("ä", 57), strings.TrimRight(ReplicaName(strings.Repeat("ä", 60), "east", 0), "-0123456789abcdef"))
	})
}

func TestLowestFreeIndex(t *testing.T) {
	taken := func(indices ...int32) func(int32) bool {
		return func(i int32) bool {
			for _, index := range indices {
				if index == i {
					return true
				}
			}
			return false
		}
	}
	assert.EqualValues(t, 0, LowestFreeIndex(taken()))
	assert.EqualValues(t, 1, LowestFreeIndex(taken(0, 2)))
	assert.EqualValues(t, 3, LowestFreeIndex(taken(2, 1, 0)))
	assert.EqualValues(t, 0, LowestFreeIndex(taken(1, 2)))
}

func TestEndpointURL(t *testing.T) {
	for _, c := range []struct {
		name    string
		gateway *modelplane.Gateway
		url     string
		ok      bool
	}{
		{"W3 address", &modelplane.Gateway{Address: "192.0.2.1"}, "http://192.0.2.1/ml/chat-32a9b/v1", true},
		{"address before hostname", &modelplane.Gateway{Address: "192.0.2.1", Hostname: "east.acme.test"}, "http://192.0.2.1/ml/chat-32a9b/v1", true},
		{"address that is a name", &modelplane.Gateway{Address: "lb.acme.test"}, "http://lb.acme.test/ml/chat-32a9b/v1", true},
		{"IPv6", &modelplane.Gateway{Address: "2001:db8::1"}, "http://[2001:db8::1]/ml/chat-32a9b/v1", true},
		{"hostname", &modelplane.Gateway{Hostname: "east.acme.test"}, "https://east.acme.test/ml/chat-32a9b/v1", true},
		{"W4 neither", &modelplane.Gateway{}, "", false},
		{"no gateway", nil, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, rewritePath, ok := EndpointURL(c.gateway, "ml", "chat-32a9b")
			assert.Equal(t, c.url, url)
			assert.Equal(t, c.ok, ok)
			if c.ok {
				assert.Equal(t, "/ml/chat-32a9b/", rewritePath)
			} else {
				assert.Empty(t, rewritePath)
			}
		})
	}
}
