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
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func replicas(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(n) }
}

func TestFillDeployment(t *testing.T) {
	all := []string{"replicas", "strategy.rollingUpdate.maxUnavailable", "containers[epp].readinessProbe", "containers[epp].livenessProbe", "topologySpreadConstraints"}
	withoutReplicas := all[1:]
	for name, tc := range map[string]struct {
		in         *appsv1.Deployment
		settings   string
		autoscaler string
		want       []string
		left       string
		replicas   int32
	}{
		"nobody has set anything":     {in: picker(), want: all, replicas: 2},
		"the provider states one":     {in: picker(ownedBy("provider-kubernetes/chat", "", ownsReplicas)), want: all, replicas: 2},
		"Helm states one":             {in: picker(ownedBy("helm", "", ownsReplicas)), want: all, replicas: 2},
		"a person states one":         {in: picker(ownedBy("kubectl-client-side-apply", "", ownsReplicas)), want: withoutReplicas, left: `"kubectl-client-side-apply"`, replicas: 1},
		"a person scaled to one":      {in: picker(ownedBy("provider-kubernetes/chat", "", ownsReplicas), ownedBy("kubectl", "scale", ownsReplicas)), want: withoutReplicas, left: `"kubectl"`, replicas: 1},
		"a person set something else": {in: picker(ownedBy("kubectl-edit", "", `{"f:spec":{"f:paused":{}}}`)), want: all, replicas: 2},
		"three":                       {in: picker(replicas(3)), want: withoutReplicas, replicas: 3},
		"zero":                        {in: picker(replicas(0)), replicas: 0},
		"autoscaled":                  {in: picker(), autoscaler: "HorizontalPodAutoscaler x", left: "HorizontalPodAutoscaler x", replicas: 1},
		"opted out":                   {in: picker(func(d *appsv1.Deployment) { d.Annotations = map[string]string{AnnotationServingPath: ServingPathOff} }), replicas: 1},
		"going":                       {in: picker(func(d *appsv1.Deployment) { d.DeletionTimestamp = readyPod(0, "", terminating).DeletionTimestamp }), replicas: 1},
		"its own probe":               {in: picker(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].ReadinessProbe = &corev1.Probe{} }), want: []string{all[0], all[1], all[3], all[4]}, replicas: 2},
		"its own spread": {in: picker(func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{}}
		}), want: all[:4], replicas: 2},
		"its own rollout":            {in: picker(func(d *appsv1.Deployment) { d.Spec.Strategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(0)) }), want: []string{all[0], all[2], all[3], all[4]}, replicas: 2},
		"a person's rollout of 25 %": {in: picker(ownedBy("kubectl", "", `{"f:spec":{"f:strategy":{"f:rollingUpdate":{"f:maxUnavailable":{}}}}}`)), want: []string{all[0], all[2], all[3], all[4]}, replicas: 2},
		"recreated": {in: picker(func(d *appsv1.Deployment) {
			d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
		}), want: []string{all[0], all[2], all[3], all[4]}, replicas: 2},
		"leader-gated": {in: picker(args("--ha-enable-leader-election")), replicas: 1},
		"fallback":     {in: picker(), settings: `{"fallback":{"mode":"GPUNodes"}}`, want: append(append([]string{}, all...), "tolerations", "affinity.nodeAffinity"), replicas: 2},
		"fallback, tolerated already": {in: picker(func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}), settings: `{"fallback":{"mode":"GPUNodes"}}`, want: append(append([]string{}, all...), "affinity.nodeAffinity"), replicas: 2},
		"fallback, an affinity of its own": {in: picker(func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
		}), settings: `{"fallback":{"mode":"GPUNodes"}}`, want: append(append([]string{}, all...), "tolerations"), replicas: 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := shipped(t, tc.settings)
			component := c.ForDeployment(tc.in)
			require.NotNil(t, component)
			filled := c.FillDeployment(tc.in, component, tc.autoscaler)
			assert.Equal(t, tc.want, filled.Set)
			assert.Equal(t, tc.replicas, *tc.in.Spec.Replicas)
			if tc.left == "" {
				assert.Empty(t, filled.LeftAlone)
			} else {
				require.Len(t, filled.LeftAlone, 1)
				assert.Contains(t, filled.LeftAlone[0], tc.left)
			}
			// Again: nothing more, so that installers that compare stay quiet.
			once := tc.in.DeepCopy()
			assert.Empty(t, c.FillDeployment(tc.in, component, tc.autoscaler).Set)
			assert.Equal(t, once, tc.in)
		})
	}
}

func TestTheSpreadThatIsFilledIn(t *testing.T) {
	c, d := shipped(t, ""), picker()
	c.FillDeployment(d, c.ForDeployment(d), "")
	constraints := d.Spec.Template.Spec.TopologySpreadConstraints
	require.Len(t, constraints, 2)
	assert.Equal(t, corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: d.Spec.Selector, NodeTaintsPolicy: ptr.To(corev1.NodeInclusionPolicyHonor),
		MatchLabelKeys: []string{"pod-template-hash"},
	}, constraints[0])
	assert.Equal(t, corev1.LabelTopologyZone, constraints[1].TopologyKey)
}

func TestFillPod(t *testing.T) {
	c := shipped(t, `{"additionalComponents":[{"name":"coredns-pods","spread":{"topologyKeys":["kubernetes.io/hostname"]},
		"match":{"kinds":["Pod"],"namespaces":["kube-system"],"labels":{"k8s-app":"kube-dns"}}}]}`)
	pod := dnsPod()
	component := c.ForPod(pod)
	require.NotNil(t, component)
	assert.Equal(t, []string{"topologySpreadConstraints"}, c.FillPod(pod, component).Set)
	constraint := pod.Spec.TopologySpreadConstraints[0]
	assert.Equal(t, map[string]string{"k8s-app": "kube-dns"}, constraint.LabelSelector.MatchLabels, "siblings of every revision")
	assert.Equal(t, []string{"pod-template-hash"}, constraint.MatchLabelKeys)
	assert.Empty(t, c.FillPod(pod, component).Set)

	bound := dnsPod()
	bound.Spec.NodeName = "a"
	assert.Empty(t, c.FillPod(bound, component).Set, "a pod that has a node")
}

func TestFillEnvoyProxy(t *testing.T) {
	c := shipped(t, "")
	for name, tc := range map[string]struct {
		spec     string
		settings *Catalogue
		want     []string
		left     bool
	}{
		"nothing":            {spec: `{}`, want: []string{"envoyDeployment.replicas", "topologySpreadConstraints", "envoyPDB"}},
		"Modelplane's own":   {spec: `{"provider":{"type":"Kubernetes","kubernetes":{"envoyService":{"externalTrafficPolicy":"Cluster"}}}}`, want: []string{"envoyDeployment.replicas", "topologySpreadConstraints", "envoyPDB"}},
		"one, on purpose":    {spec: `{"provider":{"type":"Kubernetes","kubernetes":{"envoyDeployment":{"replicas":1}}}}`, want: []string{"topologySpreadConstraints", "envoyPDB"}},
		"the fleet's":        {spec: `{"provider":{"type":"Kubernetes","kubernetes":{"envoyDeployment":{"replicas":2,"pod":{"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"x","whenUnsatisfiable":"ScheduleAnyway"}]}},"envoyPDB":{"maxUnavailable":1}}}}`},
		"autoscaled":         {spec: `{"provider":{"type":"Kubernetes","kubernetes":{"envoyHpa":{"maxReplicas":5}}}}`, left: true},
		"a DaemonSet":        {spec: `{"provider":{"type":"Kubernetes","kubernetes":{"envoyDaemonSet":{}}}}`},
		"another provider":   {spec: `{"provider":{"type":"Host"}}`},
		"a field unheard of": {spec: `{"provider":{"type":"Kubernetes","kubernetes":{"envoyDeployment":{"pod":{"tolerations":"?"}}}}}`, want: []string{"envoyDeployment.replicas", "envoyPDB"}, left: true},
		"not an object":      {spec: `{"provider":{"type":"Kubernetes","kubernetes":{"envoyDeployment":"?"}}}`},
		"fallback":           {spec: `{}`, settings: shipped(t, `{"fallback":{"mode":"GPUNodes"}}`), want: []string{"envoyDeployment.replicas", "topologySpreadConstraints", "tolerations", "affinity.nodeAffinity", "envoyPDB"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := c
			if tc.settings != nil {
				c = tc.settings
			}
			p := &unstructured.Unstructured{}
			require.NoError(t, json.Unmarshal([]byte(`{"apiVersion":"gateway.envoyproxy.io/v1alpha1","kind":"EnvoyProxy","metadata":{"name":"cluster-gateway","namespace":"modelplane-system"},"spec":`+tc.spec+`}`), &p.Object))
			component := c.ForEnvoyProxy(p)
			require.NotNil(t, component)
			before := p.DeepCopy()
			filled := c.FillEnvoyProxy(p, component)
			assert.Equal(t, tc.want, filled.Set)
			assert.Equal(t, tc.left, len(filled.LeftAlone) > 0)
			if len(tc.want) == 0 {
				assert.Equal(t, before, p)
			}
			once := p.DeepCopy()
			assert.Empty(t, c.FillEnvoyProxy(p, component).Set)
			assert.Equal(t, once, p)
		})
	}
}

// FuzzFillEnvoyProxy makes sure that no EnvoyProxy, whatever is in it, ends the webhook.
func FuzzFillEnvoyProxy(f *testing.F) {
	f.Add(`{"provider":{"type":"Kubernetes","kubernetes":{"envoyDeployment":{"pod":{"affinity":{}}},"envoyPDB":null}}}`)
	f.Add(`[]`)
	c := shipped(f, `{"fallback":{"mode":"GPUNodes"}}`)
	f.Fuzz(func(t *testing.T, spec string) {
		var value any
		if json.Unmarshal([]byte(spec), &value) != nil {
			return
		}
		p := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "cluster-gateway", "namespace": "modelplane-system"}, "spec": value}}
		component := c.ForEnvoyProxy(p)
		c.FillEnvoyProxy(p, component)
		once := p.DeepCopy()
		c.FillEnvoyProxy(p, component)
		assert.Equal(t, once, p)
	})
}
