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

package servingpath

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
)

func TestCondition(t *testing.T) {
	c := shipped(t, `{"components":[
		{"name":"a","minReplicas":2,"match":{"kinds":["Deployment"],"namespaces":["x","team-*"],"labels":{"k":"v.w"}}},
		{"name":"b","single":true,"match":{"kinds":["Deployment"],"namespaces":["y"],"labels":{"k":"v"}}},
		{"name":"c","enabled":false,"minReplicas":2,"match":{"kinds":["Deployment"],"namespaces":["z"],"labels":{"k":"v"}}},
		{"name":"d","rollout":{"maxUnavailable":1},"match":{"kinds":["Deployment"],"namespaces":["*"],"expression":"object.x == 1"}}]}`)
	condition := c.CallsFor(configapi.ComponentDeployment, Everywhere, "own").Condition
	assert.Contains(t, condition, `((request.namespace == "x" || request.namespace.startsWith("team-")) && object.metadata.?labels[?"k"].orValue('') == "v.w")`)
	assert.Contains(t, condition, `(true && (object.x == 1))`)
	assert.NotContains(t, condition, `"y"`, "what nothing is filled into is not sent")
	assert.NotContains(t, condition, `"z"`)
	assert.Equal(t, "false", c.CallsFor(configapi.ComponentPod, Everywhere, "own").Condition)
}

// TestSelectors asks what the selectors let pass: all that a component may be about, and as little else as they can.
func TestSelectors(t *testing.T) {
	type object struct {
		namespace string // "labelled" ones have a label
		labels    map[string]string
	}
	kube, pooled := map[string]string{"k8s-app": "kube-dns"}, map[string]string{"k8s-app": "kube-dns", "pool": "a"}
	const mixed = `{"name":"a","minReplicas":2,"match":{"kinds":["Deployment"],"namespaces":["x","mp-*"],"namespaceLabel":"team","labels":{"k8s-app":"kube-dns"}}},
		{"name":"b","minReplicas":2,"match":{"kinds":["Deployment"],"namespaces":["y"],"labels":{"k8s-app":"kube-dns"}}}`
	for name, tc := range map[string]struct {
		components string
		kind       configapi.ComponentKind
		where      Where
		pass, stop []object
	}{
		"no component of the kind": {
			components: `{"name":"a","minReplicas":2,"match":{"kinds":["Deployment"],"namespaces":["x"],"labels":{"k8s-app":"kube-dns"}}}`,
			kind:       configapi.ComponentPod,
			stop:       []object{{"x", kube}, {"own", kube}, {"y", nil}},
		},
		"one component": {
			components: `{"name":"a","spread":{"topologyKeys":["zone"]},"match":{"kinds":["Pod"],"namespaces":["x","own"],"labels":{"k8s-app":"kube-dns"}}}`,
			kind:       configapi.ComponentPod,
			pass:       []object{{"x", kube}, {"x", pooled}},
			stop: []object{{"y", kube}, {"x", nil}, {"own", kube},
				{"x", map[string]string{"k8s-app": "kube-dns", "modelplane.ai/serving": "r"}},
				{"x", map[string]string{"k8s-app": "kube-dns", "modelplane.ai/workload": "r"}}},
		},
		"only in its own namespace": {
			components: `{"name":"a","minReplicas":2,"match":{"kinds":["Deployment"],"namespaces":["own"],"labels":{"k8s-app":"kube-dns"}}}`,
			kind:       configapi.ComponentDeployment,
			stop:       []object{{"own", kube}, {"x", kube}},
		},
		"labels that they share": {
			components: `{"name":"a","minReplicas":2,"match":{"kinds":["Deployment"],"namespaces":["x"],"labels":{"k8s-app":"kube-dns","pool":"a"}}},
				{"name":"b","minReplicas":2,"match":{"kinds":["Deployment"],"namespaces":["y"],"labels":{"k8s-app":"kube-dns","pool":"b"}}}`,
			kind: configapi.ComponentDeployment,
			pass: []object{{"x", pooled}, {"y", kube}},
			stop: []object{{"z", pooled}, {"x", map[string]string{"pool": "a"}}},
		},
		"an expression beside labels": {
			components: `{"name":"a","minReplicas":2,"match":{"kinds":["Deployment"],"namespaces":["x"],"labels":{"k8s-app":"kube-dns"}}},
				{"name":"b","minReplicas":2,"match":{"kinds":["Deployment"],"namespaces":["x"],"expression":"object.x == 1"}}`,
			kind: configapi.ComponentDeployment,
			pass: []object{{"x", kube}, {"x", nil}},
			stop: []object{{"y", kube}},
		},
		"a pattern": {
			components: `{"name":"a","minReplicas":2,"match":{"kinds":["Deployment"],"namespaces":["x","mp-*"],"labels":{"k8s-app":"kube-dns"}}}`,
			kind:       configapi.ComponentDeployment,
			pass:       []object{{"x", kube}, {"mp-1", kube}},
			stop:       []object{{"own", kube}, {"mp-1", nil}},
		},
		"a pattern, where names are known": {
			components: mixed, kind: configapi.ComponentDeployment, where: Named,
			pass: []object{{"x", kube}, {"y", kube}},
			stop: []object{{"labelled-1", kube}, {"mp-1", kube}, {"own", kube}},
		},
		"a pattern, elsewhere": {
			components: mixed, kind: configapi.ComponentDeployment, where: Patterned,
			pass: []object{{"labelled-1", kube}},
			stop: []object{{"x", kube}, {"y", kube}, {"mp-1", kube}, {"own", kube}},
		},
		"a pattern without a label, elsewhere": {
			components: mixed + `,{"name":"c","minReplicas":2,"match":{"kinds":["Deployment"],"namespaces":["*"],"labels":{"k8s-app":"kube-dns"}}}`,
			kind:       configapi.ComponentDeployment, where: Patterned,
			pass: []object{{"labelled-1", kube}, {"mp-1", kube}},
			stop: []object{{"x", kube}, {"own", kube}},
		},
		"no pattern, elsewhere": {
			components: `{"name":"a","minReplicas":2,"match":{"kinds":["Deployment"],"namespaces":["x"],"labels":{"k8s-app":"kube-dns"}}}`,
			kind:       configapi.ComponentDeployment, where: Patterned,
			stop: []object{{"x", kube}, {"y", kube}, {"labelled-1", kube}},
		},
		"an EnvoyProxy is no engine": {
			components: `{"name":"a","minReplicas":2,"match":{"kinds":["EnvoyProxy"],"namespaces":["x"],"expression":"true"}}`,
			kind:       configapi.ComponentEnvoyProxy,
			pass:       []object{{"x", nil}, {"x", map[string]string{"modelplane.ai/serving": "r"}}},
			stop:       []object{{"y", nil}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			calls := shipped(t, `{"components":[`+tc.components+`]}`).CallsFor(tc.kind, tc.where, "own")
			namespaces, err := metav1.LabelSelectorAsSelector(&calls.Namespaces)
			require.NoError(t, err)
			objects, err := metav1.LabelSelectorAsSelector(&calls.Objects)
			require.NoError(t, err)
			passes := func(o object) bool {
				of := labels.Set{"kubernetes.io/metadata.name": o.namespace}
				if strings.HasPrefix(o.namespace, "labelled") {
					of["team"] = "a"
				}
				return namespaces.Matches(of) && objects.Matches(labels.Set(o.labels))
			}
			for _, o := range tc.pass {
				assert.True(t, passes(o), "%v must pass", o)
			}
			for _, o := range tc.stop {
				assert.False(t, passes(o), "%v must not pass", o)
			}
		})
	}
}

// TestPatternsAreAskedAboutOnlyWhereTheyMayMatch is about the conditions of the two webhooks that share a kind.
func TestPatternsAreAskedAboutOnlyWhereTheyMayMatch(t *testing.T) {
	c := shipped(t, "")
	named, patterned := c.CallsFor(configapi.ComponentDeployment, Named, "own").Condition, c.CallsFor(configapi.ComponentDeployment, Patterned, "own").Condition
	for _, picker := range []string{named, patterned} {
		assert.Contains(t, picker, `request.namespace.startsWith("mp-")`)
		assert.Contains(t, picker, AnnotationServingPath)
	}
	assert.Contains(t, named, "lws-system")
	assert.NotContains(t, patterned, "lws-system")
}
