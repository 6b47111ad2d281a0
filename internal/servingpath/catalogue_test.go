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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
)

func named(c *Component) string {
	if c == nil {
		return ""
	}
	return c.Name
}

func chart(namespace, name string, labels map[string]string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
}

func TestWhichComponent(t *testing.T) {
	c := shipped(t, "")
	proxy := map[string]string{
		"app.kubernetes.io/name": "envoy", "app.kubernetes.io/component": "proxy", "app.kubernetes.io/managed-by": "envoy-gateway",
		"gateway.envoyproxy.io/owning-gateway-namespace": "modelplane-system",
	}
	for name, tc := range map[string]struct {
		in   *appsv1.Deployment
		want string
	}{
		"picker":                   {picker(), "endpoint-picker"},
		"picker of v0.3.1":         {picker(func(d *appsv1.Deployment) { d.Namespace = "default" }), "endpoint-picker"},
		"picker elsewhere":         {picker(func(d *appsv1.Deployment) { d.Namespace = "team" }), ""},
		"by name alone":            {chart("default", "my-epp", nil), ""},
		"no container epp":         {picker(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Name = "main" }), ""},
		"another name":             {picker(func(d *appsv1.Deployment) { d.Name = "chat" }), ""},
		"with election":            {picker(args("--v=2", "--ha-enable-leader-election")), "endpoint-picker-with-election"},
		"with election, spelled":   {picker(args("--ha-enable-leader-election=true")), "endpoint-picker-with-election"},
		"election switched off":    {picker(args("--ha-enable-leader-election=false")), "endpoint-picker"},
		"an engine that poses":     {picker(func(d *appsv1.Deployment) { d.Spec.Template.Labels["modelplane.ai/serving"] = "chat" }), ""},
		"gateway proxy":            {chart("envoy-gateway-system", "envoy-x", proxy), "cluster-gateway-proxy"},
		"envoy gateway":            {chart("envoy-gateway-system", "envoy-gateway", map[string]string{"control-plane": "envoy-gateway"}), "envoy-gateway"},
		"ai gateway":               {chart("envoy-ai-gateway-system", "x", map[string]string{"app.kubernetes.io/name": "ai-gateway-helm"}), "ai-gateway-controller"},
		"lws":                      {chart("lws-system", "x", map[string]string{"app.kubernetes.io/name": "lws"}), "lws-controller"},
		"cert-manager":             {chart("cert-manager", "x", map[string]string{"app.kubernetes.io/instance": "mp-cert-manager"}), "cert-manager"},
		"a user's cert-manager":    {chart("cert-manager", "x", map[string]string{"app.kubernetes.io/instance": "cert-manager"}), ""},
		"trust-manager":            {chart("modelplane-system", "x", map[string]string{"app.kubernetes.io/instance": "mp-trust-manager"}), "trust-manager"},
		"collector":                {chart("modelplane-system", "x", map[string]string{"app.kubernetes.io/name": "modelplane-collector"}), "collector"},
		"coredns":                  {chart("kube-system", "coredns", map[string]string{"k8s-app": "kube-dns"}), "coredns"},
		"a DNS of somebody else's": {chart("team", "coredns", map[string]string{"k8s-app": "kube-dns"}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, named(c.ForDeployment(tc.in)))
		})
	}
	assert.Nil(t, c.ForPod(dnsPod()), "pods are opt-in")
	assert.True(t, c.Has(configapi.ComponentEnvoyProxy))
	assert.False(t, c.Has(configapi.ComponentPod))
}

func args(list ...string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Args = list }
}

func dnsPod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", GenerateName: "coredns-",
		Labels: map[string]string{"k8s-app": "kube-dns", "pod-template-hash": "abc"}}}
}

func TestAnExpressionThatDoesNotCompile(t *testing.T) {
	for expression, want := range map[string]string{
		"object.": "Syntax error", "1 + 1": "must be a bool", "other.a == 1": "undeclared reference",
	} {
		config, err := configapi.DecodeServingPathConfiguration(nil)
		require.NoError(t, err)
		config.Components = config.Components[:1]
		config.Components[0].Match.Expression = expression
		_, err = New(config)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, `components[0] "collector"`)
	}
}

func TestForStoredRemembersStates(t *testing.T) {
	c := shipped(t, "")
	stored := func(uid, version, name string) *appsv1.Deployment {
		return picker(func(d *appsv1.Deployment) { d.UID, d.ResourceVersion, d.Name = types.UID(uid), version, name })
	}
	assert.Equal(t, "endpoint-picker", named(c.ForStored(stored("1", "1", "a-epp"))))
	assert.Equal(t, "endpoint-picker", named(c.ForStored(stored("1", "1", "remembered"))), "the same state is the same object")
	assert.Empty(t, named(c.ForStored(stored("1", "2", "no-picker"))), "it has changed")
	assert.Empty(t, named(c.ForStored(stored("2", "1", "no-picker"))), "another one")
	assert.Empty(t, named(c.ForStored(stored("2", "1", "b-epp"))), "that it is no part is remembered too")
	for _, nowhere := range [][2]string{{"", "1"}, {"3", ""}} {
		assert.Equal(t, "endpoint-picker", named(c.ForStored(stored(nowhere[0], nowhere[1], "a-epp"))))
		assert.Empty(t, named(c.ForStored(stored(nowhere[0], nowhere[1], "no-picker"))), "not stored yet")
	}
}

func TestEnvoyProxyByName(t *testing.T) {
	c := shipped(t, "")
	for name, want := range map[string]string{"cluster-gateway": "cluster-gateway", "inference-gateway": "cluster-gateway", "mine": ""} {
		p := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name, "namespace": "modelplane-system"}}}
		assert.Equal(t, want, named(c.ForEnvoyProxy(p)), name)
	}
}
