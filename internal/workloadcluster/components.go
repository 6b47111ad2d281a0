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

package workloadcluster

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// The field managers of the installers.
const (
	ProviderKubernetes = "provider-kubernetes/objects"
	Helm               = "helm"
	Cloud              = "cloud-addon-manager"
)

// Namespaces of the components.
const (
	NamespaceModels     = "mp-ml-team-51733"
	NamespaceProxies    = "envoy-gateway-system"
	NamespaceModelplane = "modelplane-system"
	NamespaceDNS        = "kube-system"
)

// Names of what serves.
const (
	PickerChat  = "chat-32a9b-epp"
	PickerEmbed = "embed-9f2c1-epp"
	Proxy       = "envoy-modelplane-system-cluster-gateway-b26a0919"
	DNS         = "coredns"
	ServiceDNS  = "kube-dns"
)

// ServingServices are those without which requests fail.
func ServingServices() []types.NamespacedName {
	return []types.NamespacedName{
		{Namespace: NamespaceModels, Name: PickerChat},
		{Namespace: NamespaceModels, Name: PickerEmbed},
		{Namespace: NamespaceProxies, Name: Proxy},
		{Namespace: NamespaceDNS, Name: ServiceDNS},
	}
}

// chart is a Deployment that Helm installs.
type chart struct {
	namespace, name string
	labels          map[string]string
}

func charts() []chart {
	release := func(chart string) map[string]string {
		return map[string]string{"app.kubernetes.io/name": chart, "app.kubernetes.io/instance": "mp-" + chart}
	}
	envoyGateway := release("gateway-helm")
	envoyGateway["control-plane"] = "envoy-gateway"
	list := []chart{
		{NamespaceProxies, "envoy-gateway", envoyGateway},
		{"envoy-ai-gateway-system", "ai-gateway-controller", release("ai-gateway-helm")},
		{"lws-system", "mp-lws-controller-manager", release("lws")},
		{NamespaceModelplane, "trust-manager", release("trust-manager")},
	}
	for _, name := range []string{"cert-manager", "cert-manager-cainjector", "cert-manager-webhook"} {
		list = append(list, chart{"cert-manager", name, map[string]string{
			"app.kubernetes.io/name": name, "app.kubernetes.io/instance": "mp-cert-manager"}})
	}
	return list
}

// Install puts the components on the cluster as their installers do, and waits until all of it runs. Pods land on the
// first system node only, as after a maintenance of the other.
func (c *Cluster) Install(ctx context.Context) error {
	for _, name := range c.options.SystemNodes[1:] {
		if err := c.Cordon(ctx, name, true); err != nil {
			return err
		}
	}
	steps := []func(context.Context) error{c.installNamespaces, c.installDNS, c.installCharts, c.ApplyPickers, c.installGateway, c.installEngines, c.installCollector, c.AwaitAvailable}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	for _, name := range c.options.SystemNodes[1:] {
		if err := c.Cordon(ctx, name, false); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) installNamespaces(ctx context.Context) error {
	for _, name := range []string{NamespaceModels, NamespaceProxies, NamespaceModelplane, "envoy-ai-gateway-system", "lws-system", "cert-manager"} {
		if err := c.createNamespace(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) createNamespace(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if name == NamespaceModels { // as Modelplane labels what it makes for a namespace of its users
		ns.Labels = map[string]string{"modelplane.ai/namespace": "ml-team"}
	}
	if err := c.Client.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// deployment is what an installer creates, with one replica unless it says otherwise.
func deployment(namespace, name string, labels, selector map[string]string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1),
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: selector},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: name}}},
			},
		},
	}
}

func (c *Cluster) installCharts(ctx context.Context) error {
	for _, chart := range charts() {
		d := deployment(chart.namespace, chart.name, chart.labels, chart.labels)
		if err := c.Client.Create(ctx, d, client.FieldOwner(Helm)); err != nil {
			return err
		}
	}
	return nil
}

// installDNS is the cloud's: two replicas, no spread, and a budget of its own.
func (c *Cluster) installDNS(ctx context.Context) error {
	labels := map[string]string{"k8s-app": "kube-dns"}
	d := deployment(NamespaceDNS, DNS, labels, labels)
	d.Spec.Replicas = ptr.To[int32](2)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: NamespaceDNS, Name: DNS},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)),
			Selector:     &metav1.LabelSelector{MatchLabels: labels},
		},
	}
	for _, o := range []client.Object{d, budget, service(NamespaceDNS, ServiceDNS, labels, 53)} {
		if err := c.Client.Create(ctx, o, client.FieldOwner(Cloud)); err != nil {
			return err
		}
	}
	return nil
}

func service(namespace, name string, selector map[string]string, port int32) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Port: port}}},
	}
}

// ApplyPickers applies the endpoint pickers with one replica each, by force, as provider-kubernetes does at every look.
func (c *Cluster) ApplyPickers(ctx context.Context) error {
	for _, name := range []string{PickerChat, PickerEmbed} {
		if err := c.ApplyPicker(ctx, NamespaceModels, name); err != nil {
			return err
		}
	}
	return nil
}

// ApplyPicker applies one with its Service.
func (c *Cluster) ApplyPicker(ctx context.Context, namespace, name string) error {
	if _, err := c.apply(ctx, ProviderKubernetes, picker(namespace, name)); err != nil {
		return err
	}
	s := service(namespace, name, map[string]string{"app": name}, 9002)
	s.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
	content, err := toUnstructured(s)
	if err != nil {
		return err
	}
	_, err = c.apply(ctx, ProviderKubernetes, content)
	return err
}

// Picker is a picker as provider-kubernetes states it, for those who create many.
func Picker(namespace, name string) *unstructured.Unstructured { return picker(namespace, name) }

// picker is what provider-kubernetes states: one replica, and nothing of probes, strategy or spread.
func picker(namespace, name string) *unstructured.Unstructured {
	const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {}
spec:
  replicas: 1
  selector: {matchLabels: {app: NAME}}
  template:
    metadata:
      labels: {app: NAME}
      annotations: {modelplane.ai/epp-config-checksum: 1f0c}
    spec:
      containers:
      - name: epp
        image: ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.9.0
        ports:
        - {name: grpc, containerPort: 9002}
        - {name: grpc-health, containerPort: 9003}
`
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		panic(err) // the text above
	}
	object.SetNamespace(namespace)
	object.SetName(name)
	for _, path := range [][]string{{"spec", "selector", "matchLabels"}, {"spec", "template", "metadata", "labels"}} {
		if err := unstructured.SetNestedField(object.Object, name, append(path, "app")...); err != nil {
			panic(err)
		}
	}
	return object
}

// apply does a server-side apply by force, and gives what it has made.
func (c *Cluster) apply(ctx context.Context, manager string, object *unstructured.Unstructured, options ...client.ApplyOption) (*unstructured.Unstructured, error) {
	applied := object.DeepCopy()
	options = append([]client.ApplyOption{client.FieldOwner(manager), client.ForceOwnership}, options...)
	if err := c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), options...); err != nil {
		return nil, fmt.Errorf("apply %s %s/%s as %s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), manager, err)
	}
	return applied, nil
}

// DryRunPicker says what an apply of a picker would make of it, as provider-kubernetes asks before it writes.
func (c *Cluster) DryRunPicker(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	return c.apply(ctx, ProviderKubernetes, picker(namespace, name), client.DryRunAll)
}

// installEngines runs what must never be touched: the engines, on the GPU nodes.
func (c *Cluster) installEngines(ctx context.Context) error {
	for _, name := range []string{"chat-32a9b-main-bb4e3", "embed-9f2c1-main-0c11d"} {
		labels := map[string]string{"modelplane.ai/serving": name[:len(name)-11], "modelplane.ai/workload": name}
		d := deployment(NamespaceModels, name, nil, labels)
		d.Spec.Template.Spec.NodeSelector = map[string]string{"modelplane.ai/pool": "h100"}
		d.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
		if err := c.Client.Create(ctx, d, client.FieldOwner(ProviderKubernetes)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) installCollector(ctx context.Context) error {
	labels := map[string]string{"app.kubernetes.io/name": "modelplane-collector"}
	return c.Client.Create(ctx, deployment(NamespaceModelplane, "modelplane-collector", labels, labels), client.FieldOwner(ProviderKubernetes))
}

// AwaitAvailable waits until every Deployment runs as it should.
func (c *Cluster) AwaitAvailable(ctx context.Context) error {
	return c.await(ctx, "every Deployment to be available", func(ctx context.Context) (bool, error) {
		list := &appsv1.DeploymentList{}
		if err := c.Client.List(ctx, list); err != nil {
			return false, err
		}
		for i := range list.Items {
			if d := &list.Items[i]; !Complete(d) {
				return false, fmt.Errorf("deployment %s/%s has %d of %d", d.Namespace, d.Name, d.Status.AvailableReplicas, *d.Spec.Replicas)
			}
		}
		return true, nil
	})
}

// Complete tells that a Deployment's rollout is over and all of it is there.
func Complete(d *appsv1.Deployment) bool {
	s := &d.Status
	return s.ObservedGeneration >= d.Generation && s.Replicas == *d.Spec.Replicas && s.UpdatedReplicas == s.Replicas && s.AvailableReplicas == s.Replicas
}
