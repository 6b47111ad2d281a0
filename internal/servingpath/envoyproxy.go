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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// EnvoyProxyKind is Envoy Gateway's settings of a gateway's proxies.
var EnvoyProxyKind = schema.GroupVersionKind{Group: "gateway.envoyproxy.io", Version: "v1alpha1", Kind: "EnvoyProxy"}

// The labels by which Envoy Gateway selects the proxies of a Gateway.
const (
	owningGatewayName      = "gateway.envoyproxy.io/owning-gateway-name"
	owningGatewayNamespace = "gateway.envoyproxy.io/owning-gateway-namespace"
)

// FillEnvoyProxy fills in what an EnvoyProxy lacks, in place: replicas, spread and budget of the Gateway of the same
// name, which is how Modelplane names them. What is there stays, whoever has set it. Doing it twice changes nothing more.
func (c *Catalogue) FillEnvoyProxy(p *unstructured.Unstructured, component *Component) Filled {
	var f Filled
	if component.Single || Off(p) || p.GetDeletionTimestamp() != nil {
		return f
	}
	provider, _, err := unstructured.NestedString(p.Object, "spec", "provider", "type")
	if err != nil || provider != "" && provider != "Kubernetes" {
		return f
	}
	kubernetes := child(child(child(p.Object, "spec"), "provider"), "kubernetes")
	_, daemons := kubernetes["envoyDaemonSet"]
	if kubernetes == nil || daemons {
		return f
	}
	proxies := child(kubernetes, "envoyDeployment")
	pod := child(proxies, "pod")
	if proxies == nil || pod == nil {
		return f
	}
	if _, autoscaled := kubernetes["envoyHpa"]; autoscaled {
		f.leave("its envoyHpa scales it, so it is left alone")
		f.Autoscaled = true
		return f
	}
	if _, set := proxies["replicas"]; !set && component.MinReplicas != nil {
		proxies["replicas"] = int64(*component.MinReplicas)
		f.set("envoyDeployment.replicas")
	}
	gateway := &metav1.LabelSelector{MatchLabels: map[string]string{
		owningGatewayName: p.GetName(), owningGatewayNamespace: p.GetNamespace(),
	}}
	fillProxyPod(&f, pod, component, gateway)
	if _, set := kubernetes["envoyPDB"]; !set && component.Budget != nil {
		kubernetes["envoyPDB"] = map[string]any{"maxUnavailable": int64(*component.Budget.MaxUnavailable)}
		f.set("envoyPDB")
	}
	if len(f.Set) > 0 {
		attach(p, kubernetes, proxies, pod)
	}
	return f
}

func fillProxyPod(f *Filled, pod map[string]any, component *Component, gateway *metav1.LabelSelector) {
	var spec corev1.PodSpec
	// Only the fields that are filled in are read and written, so that fields of newer versions survive.
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(pick(pod, "tolerations", "affinity", "topologySpreadConstraints"), &spec); err != nil {
		f.leave("its envoyDeployment.pod cannot be read: %v", err)
		return
	}
	before := len(f.Set)
	fillSpread(f, &spec, component.Spread, gateway, true)
	fillFallback(f, &spec, component.fallback)
	if len(f.Set) == before {
		return
	}
	filled, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return
	}
	for _, field := range []string{"tolerations", "affinity", "topologySpreadConstraints"} {
		if value, ok := filled[field]; ok {
			pod[field] = value
		}
	}
}

// child gives the object in a field; a new one, not yet attached, if the field is absent; nil if it is something else.
func child(parent map[string]any, field string) map[string]any {
	if parent == nil {
		return nil
	}
	value, ok := parent[field]
	if !ok || value == nil {
		return map[string]any{}
	}
	object, _ := value.(map[string]any)
	return object
}

func attach(p *unstructured.Unstructured, kubernetes, proxies, pod map[string]any) {
	spec := child(p.Object, "spec")
	provider := child(spec, "provider")
	provider["type"] = "Kubernetes"
	if len(pod) > 0 {
		proxies["pod"] = pod
	}
	kubernetes["envoyDeployment"] = proxies
	provider["kubernetes"] = kubernetes
	spec["provider"] = provider
	p.Object["spec"] = spec
}

func pick(object map[string]any, fields ...string) map[string]any {
	picked := map[string]any{}
	for _, field := range fields {
		if value, ok := object[field]; ok {
			picked[field] = value
		}
	}
	return picked
}
