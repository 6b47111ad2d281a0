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

package admission

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

const (
	namespace   = "default"
	serviceName = "chat"
)

// kind is one of the two that are compared.
type kind string

const (
	guarded kind = "ome.io"
	bare    kind = bareGroup
)

// object is the service after so many updates.
func (k kind) object(number int, u update) *unstructured.Unstructured {
	replicas := int64(1)
	drain := 0
	switch u {
	case ofDrains:
		drain = number
	default:
		replicas = int64(1 + number)
	}
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": string(k) + "/v1beta1",
		"kind":       "InferenceService",
		"metadata": map[string]any{
			"namespace": namespace,
			"name":      serviceName,
			"labels":    map[string]any{"team": "inference", "tier": "gold"},
		},
		"spec": spec(replicas),
	}}
	service.SetAnnotations(map[string]string{
		"example.com/owner": "inference",
		// Each number is a drain with an ID of its own, so that one ends and one begins.
		ome.TrafficDrainAnnotation: fmt.Sprintf(`{"maintenance-%d":{"cluster":"worker-a","reason":"planned maintenance"}}`, drain),
	})
	return service
}

// spec is about as large as those of real services.
func spec(replicas int64) map[string]any {
	var environment []any
	for i := range 24 {
		environment = append(environment, map[string]any{"name": fmt.Sprintf("SETTING_%02d", i), "value": strings.Repeat("x", 40)})
	}
	return map[string]any{
		"model":  map[string]any{"name": "llama-3-3-70b-instruct"},
		"engine": map[string]any{"minReplicas": replicas, "maxReplicas": replicas + 8, "runner": map[string]any{"name": "engine", "image": "engine:1", "env": environment}},
		"placement": map[string]any{
			"mode": "Split", "requirements": "gpu.memory>=80Gi", "split": map[string]any{"replicas": int64(8)},
		},
	}
}

func (h *hub) createServices(ctx context.Context) error {
	for _, k := range []kind{guarded, bare} {
		service := k.object(0, ofSpec)
		if err := h.client.Create(ctx, service); err != nil {
			return fmt.Errorf("create a service of %s: %w", k, err)
		}
		h.versions[k] = service.GetResourceVersion()
	}
	tm := &ome.TrafficMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: serviceName}}
	tm.Spec.Service = serviceName
	for _, cluster := range []string{"worker-a", "worker-b", "worker-c"} {
		tm.Spec.Entries = append(tm.Spec.Entries, ome.TrafficMapEntry{
			Cluster: cluster, Endpoint: "https://" + cluster + ".example", Weight: 4, Healthy: true,
			Capacity: &ome.TrafficMapCapacity{Allocated: 4, Ready: 4},
		})
	}
	if err := h.client.Create(ctx, tm); err != nil {
		return fmt.Errorf("create the TrafficMap: %w", err)
	}
	return nil
}

// update replaces a service by its next state.
func (h *hub) update(ctx context.Context, service *unstructured.Unstructured, options ...client.UpdateOption) error {
	k := kind(service.GroupVersionKind().Group)
	service.SetResourceVersion(h.versions[k])
	if err := h.client.Update(ctx, service, options...); err != nil {
		return err
	}
	h.versions[k] = service.GetResourceVersion()
	return nil
}
