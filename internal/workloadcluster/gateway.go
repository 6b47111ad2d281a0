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
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// GatewayName is that of the EnvoyProxy and its Gateway.
const GatewayName = "cluster-gateway"

const envoyGatewayManager = "envoy-gateway"

// envoyGateway plays Envoy Gateway's part: it applies the proxies' Deployment, and their budget if the EnvoyProxy wants
// one, by server-side apply with only those fields that the EnvoyProxy sets.
type envoyGateway struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

func (g *envoyGateway) stop() error {
	if g != nil {
		g.cancel()
		g.ended.Wait()
	}
	return nil
}

// installGateway applies the EnvoyProxy as provider-kubernetes does and starts the one who turns it into proxies.
func (c *Cluster) installGateway(ctx context.Context) error {
	if err := c.ApplyEnvoyProxy(ctx); err != nil {
		return err
	}
	if err := c.Client.Create(ctx, service(NamespaceProxies, Proxy, proxyLabels(), 80), client.FieldOwner(envoyGatewayManager)); err != nil {
		return err
	}
	if err := c.reconcileProxies(ctx); err != nil {
		return err
	}
	// It runs until Stop, whatever becomes of the context of the one who installs.
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.proxies = &envoyGateway{cancel: cancel}
	c.proxies.ended.Go(func() {
		ticker := time.NewTicker(2 * Pause)
		defer ticker.Stop()
		for {
			select {
			case <-running.Done():
				return
			case <-ticker.C:
				_ = c.reconcileProxies(running) // tried again at the next tick
			}
		}
	})
	return nil
}

// ApplyEnvoyProxy applies the settings of the cluster's gateway as Modelplane states them.
func (c *Cluster) ApplyEnvoyProxy(ctx context.Context) error {
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": NamespaceModelplane, "name": GatewayName},
		"spec": map[string]any{"provider": map[string]any{
			"type": "Kubernetes",
			"kubernetes": map[string]any{
				"envoyService": map[string]any{"externalTrafficPolicy": "Cluster"},
			},
		}},
	}}
	object.SetGroupVersionKind(servingpath.EnvoyProxyKind)
	_, err := c.apply(ctx, ProviderKubernetes, object)
	return err
}

func proxyLabels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":                         "envoy",
		"app.kubernetes.io/component":                    "proxy",
		"app.kubernetes.io/managed-by":                   "envoy-gateway",
		"gateway.envoyproxy.io/owning-gateway-name":      GatewayName,
		"gateway.envoyproxy.io/owning-gateway-namespace": NamespaceModelplane,
	}
}

func (c *Cluster) reconcileProxies(ctx context.Context) error {
	settings := &unstructured.Unstructured{}
	settings.SetGroupVersionKind(servingpath.EnvoyProxyKind)
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: NamespaceModelplane, Name: GatewayName}, settings); err != nil {
		return err
	}
	proxies, err := toUnstructured(deployment(NamespaceProxies, Proxy, proxyLabels(), proxyLabels()))
	if err != nil {
		return err
	}
	proxies.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	unstructured.RemoveNestedField(proxies.Object, "spec", "replicas")
	unstructured.RemoveNestedField(proxies.Object, "spec", "strategy")
	const kubernetes = "kubernetes"
	at := []string{"spec", "provider", kubernetes}
	if replicas, found, _ := unstructured.NestedFieldCopy(settings.Object, append(at, "envoyDeployment", "replicas")...); found {
		if err := unstructured.SetNestedField(proxies.Object, replicas, "spec", "replicas"); err != nil {
			return err
		}
	}
	for _, field := range []string{"topologySpreadConstraints", "tolerations", "affinity"} {
		if value, found, _ := unstructured.NestedFieldCopy(settings.Object, append(at, "envoyDeployment", "pod", field)...); found {
			if err := unstructured.SetNestedField(proxies.Object, value, "spec", "template", "spec", field); err != nil {
				return err
			}
		}
	}
	if _, err := c.apply(ctx, envoyGatewayManager, proxies); err != nil {
		return err
	}
	wanted, found, _ := unstructured.NestedMap(settings.Object, append(at, "envoyPDB")...)
	if !found {
		return nil
	}
	return c.applyProxyBudget(ctx, wanted)
}

// applyProxyBudget carries the proxies' labels on the budget itself, as Envoy Gateway does.
func (c *Cluster) applyProxyBudget(ctx context.Context, wanted map[string]any) error {
	labels := map[string]any{}
	for key, value := range proxyLabels() {
		labels[key] = value
	}
	spec := map[string]any{"selector": map[string]any{"matchLabels": labels}}
	for key, value := range wanted {
		spec[key] = value
	}
	budget := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": NamespaceProxies, "name": Proxy, "labels": labels},
		"spec":     spec,
	}}
	budget.SetGroupVersionKind(policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"))
	_, err := c.apply(ctx, envoyGatewayManager, budget)
	return err
}

func toUnstructured(object runtime.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("convert %T: %w", object, err)
	}
	u := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(u.Object, "spec", "template", "metadata", "creationTimestamp")
	return u, nil
}

// PodNodes gives the nodes on which pods with these labels run, in no order; "" for one that is Pending. Pods that are
// on their way out count too.
func (c *Cluster) PodNodes(ctx context.Context, namespace string, labels map[string]string) ([]string, error) {
	pods := &corev1.PodList{}
	if err := c.Client.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels(labels)); err != nil {
		return nil, err
	}
	var nodes []string
	for i := range pods.Items {
		nodes = append(nodes, pods.Items[i].Spec.NodeName)
	}
	return nodes, nil
}
