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

package v1alpha1

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheShippedServingPathSpellsOutTheDefaults(t *testing.T) {
	data, err := os.ReadFile("../../../manifests/workload/config.yaml")
	require.NoError(t, err)
	shipped, err := DecodeServingPathConfiguration(data)
	require.NoError(t, err)
	defaults, err := DecodeServingPathConfiguration(nil)
	require.NoError(t, err)
	shipped.TypeMeta = metav1.TypeMeta{}
	shipped.AdditionalComponents = nil
	assert.Equal(t, defaults, shipped)
}

func TestDecodeServingPathConfiguration(t *testing.T) {
	const header = "apiVersion: config.evenkeel.io/v1alpha1\nkind: ServingPathConfiguration\n"
	component := func(rest string) string {
		return header + "components:\n- name: a\n  match: {kinds: [Deployment], namespaces: [x], labels: {a: b}}\n" + rest
	}
	for name, tc := range map[string]struct {
		in      string
		wantErr []string
	}{
		"nothing":                 {in: ""},
		"empty":                   {in: header},
		"one component":           {in: component("")},
		"no components":           {in: header + "components: []\n"},
		"unknown field":           {in: header + "component: []\n", wantErr: []string{`unknown field "component"`}},
		"unknown field deep down": {in: component("  spread: {topologyKey: a}\n"), wantErr: []string{"topologyKey"}},
		"another kind":            {in: "apiVersion: config.evenkeel.io/v1alpha1\nkind: PreemptionArgs\n", wantErr: []string{"PreemptionArgs"}},
		"a name twice": {in: component("- name: a\n  match: {kinds: [Deployment], namespaces: [x], labels: {a: b}}\n"),
			wantErr: []string{"components[1].name", "Duplicate"}},
		"matches everything":                 {in: header + "components: [{name: a, match: {kinds: [Deployment], namespaces: [\"*\"]}}]\n", wantErr: []string{"components[0].match", "match everything"}},
		"matches no kind":                    {in: header + "components: [{name: a, match: {kinds: [], namespaces: [x], labels: {a: b}}}]\n", wantErr: []string{"components[0].match.kinds"}},
		"matches a DaemonSet":                {in: header + "components: [{name: a, match: {kinds: [DaemonSet], namespaces: [x], labels: {a: b}}}]\n", wantErr: []string{"components[0].match.kinds[0]", "DaemonSet"}},
		"matches no namespace":               {in: header + "components: [{name: a, match: {kinds: [Deployment], namespaces: [], labels: {a: b}}}]\n", wantErr: []string{"components[0].match.namespaces"}},
		"a namespace that cannot be":         {in: header + "components: [{name: a, match: {kinds: [Pod], namespaces: [x, a_b], labels: {a: b}}}]\n", wantErr: []string{"components[0].match.namespaces[1]", "a_b"}},
		"a pattern that is none":             {in: header + "components: [{name: a, match: {kinds: [Pod], namespaces: [\"mp-[a\"], labels: {a: b}}}]\n", wantErr: []string{"components[0].match.namespaces[0]", "not a pattern"}},
		"a namespace's label that cannot be": {in: header + "components: [{name: a, match: {kinds: [Pod], namespaces: [x], namespaceLabel: a b, labels: {a: b}}}]\n", wantErr: []string{"components[0].match.namespaceLabel"}},
		"a label that cannot be":             {in: header + "components: [{name: a, match: {kinds: [Pod], namespaces: [x], labels: {a: \"b c\"}}}]\n", wantErr: []string{"components[0].match.labels"}},
		"single with a budget":               {in: component("  single: true\n  budget: {}\n"), wantErr: []string{"components[0]", "no budget"}},
		"gated with replicas":                {in: component("  leaderGated: true\n  minReplicas: 2\n"), wantErr: []string{"components[0]", "minReplicas"}},
		"single, moved apart":                {in: component("  single: true\n  rebalance: true\n"), wantErr: []string{"components[0]", "no rebalance"}},
		"a hopeless budget":                  {in: component("  budget: {maxUnavailable: 0}\n"), wantErr: []string{"components[0].budget.maxUnavailable", "at least 1"}},
		"no replicas":                        {in: component("  minReplicas: 0\n"), wantErr: []string{"components[0].minReplicas"}},
		"a spread over nothing":              {in: component("  spread: {topologyKeys: []}\n"), wantErr: []string{"components[0].spread.topologyKeys"}},
		"a spread that is a wish": {in: component("  spread: {topologyKeys: [\"a b\"], whenUnsatisfiable: Never}\n"),
			wantErr: []string{"topologyKeys[0]", "whenUnsatisfiable"}},
		"pods with replicas": {in: header + "components: [{name: a, minReplicas: 2, match: {kinds: [Pod], namespaces: [x], labels: {a: b}}}]\n",
			wantErr: []string{"components[0]", "of pods only"}},
		"a fallback to nowhere":   {in: header + "fallback: {mode: Moon}\n", wantErr: []string{"fallback.mode", "Moon", "GPUNodes"}},
		"a component's fallback":  {in: component("  fallback: Moon\n"), wantErr: []string{"components[0].fallback"}},
		"a pause that is none":    {in: header + "touch: {interval: -1s}\nrebalance: {settleTime: -1s, backoff: -1s, timeout: -1s}\n", wantErr: []string{"touch.interval", "rebalance.settleTime", "rebalance.backoff", "rebalance.timeout"}},
		"no address":              {in: header + "webhooks: {bindAddress: \"9443\", service: A}\n", wantErr: []string{"webhooks.bindAddress", "webhooks.service"}},
		"no requests":             {in: header + "clientConnection: {qps: 0}\n", wantErr: []string{"clientConnection.qps"}},
		"additional ones checked": {in: header + "additionalComponents: [{name: A, match: {kinds: [Pod], namespaces: [x], labels: {a: b}}}]\n", wantErr: []string{"components[0].name"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := DecodeServingPathConfiguration([]byte(tc.in))
			if len(tc.wantErr) == 0 {
				require.NoError(t, err)
				require.NotNil(t, c)
				return
			}
			for _, part := range tc.wantErr {
				require.ErrorContains(t, err, part)
			}
		})
	}
}

func TestAdditionalComponentsComeFirstAndReplace(t *testing.T) {
	c, err := DecodeServingPathConfiguration([]byte(`{"additionalComponents":[
		{"name":"mine","match":{"kinds":["Deployment"],"namespaces":["x"],"labels":{"a":"b"}}},
		{"name":"coredns","minReplicas":3,"match":{"kinds":["Deployment"],"namespaces":["kube-system"],"labels":{"a":"b"}}}]}`))
	require.NoError(t, err)
	assert.Equal(t, "mine", c.Components[0].Name)
	assert.True(t, *c.Components[0].Enabled)
	var replicas []int32
	for i := range c.Components {
		if c.Components[i].Name == "coredns" {
			replicas = append(replicas, *c.Components[i].MinReplicas)
		}
	}
	assert.Equal(t, []int32{3}, replicas)
	assert.Len(t, c.Components, len(ShippedComponents())+1)
}

func FuzzDecodeServingPathConfiguration(f *testing.F) {
	data, err := os.ReadFile("../../../manifests/workload/config.yaml")
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"components":[{"name":"a","spread":{"topologyKeys":null},"budget":{"maxUnavailable":null}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := DecodeServingPathConfiguration(data)
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v and %v", c, err)
		}
	})
}
