//go:build integration

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

package webhooks

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

// recorder keeps the warnings of the API server.
type recorder struct {
	mu   sync.Mutex
	list []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (r *recorder) HandleWarningHeaderWithContext(_ context.Context, _ int, _ string, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, text)
}

// take gives the warnings since the last call.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

// namespaced makes a namespace for one test.
func namespaced(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	require.NoError(t, hub.client.Create(t.Context(), ns))
	return ns.Name
}

// entry is one cluster of a service's TrafficMap.
func entry(cluster string, weight int32) ome.TrafficMapEntry {
	e := ome.TrafficMapEntry{Cluster: cluster, Endpoint: "https://" + cluster + ".example", Weight: weight}
	if weight > 0 {
		e.Healthy = true
		e.Capacity = &ome.TrafficMapCapacity{Allocated: weight, Ready: weight, Source: ome.CapacitySourceControlPlane}
	}
	return e
}

// newService makes an InferenceService with a TrafficMap; without entries, without one.
func newService(t *testing.T, namespace string, entries ...ome.TrafficMapEntry) *ome.InferenceService {
	t.Helper()
	service := &ome.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "chat-"}}
	require.NoError(t, hub.client.Create(t.Context(), service))
	if len(entries) == 0 {
		return service
	}
	tm := &ome.TrafficMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: service.Name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(service, ome.GroupVersion.WithKind("InferenceService"))},
		},
		Spec: ome.TrafficMapSpec{Service: service.Name, Entries: entries},
	}
	require.NoError(t, hub.client.Create(t.Context(), tm))
	awaitMap(t, service)
	return service
}

// awaitMap waits until the guard has seen a service's map: until then it would let a drain of an unknown cluster through.
func awaitMap(t *testing.T, service *ome.InferenceService) {
	t.Helper()
	probe := annotate("ome.io/traffic-drain", `{"probe":{"cluster":"no-such-cluster-anywhere","reason":"r"}}`)
	err := wait.PollUntilContextTimeout(t.Context(), hubtest.Interval, hubtest.Patience, true, func(ctx context.Context) (bool, error) {
		err := hub.client.Patch(ctx, service.DeepCopy(), probe, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "unknown cluster"), nil
	})
	require.NoError(t, err, "the guard does not see the TrafficMap")
	hub.warnings.take()
}

// annotate sets annotations, given as keys and values; the value "-" removes one.
func annotate(pairs ...string) client.Patch {
	annotations := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		annotations[pairs[i]] = pairs[i+1]
		if pairs[i+1] == "-" {
			annotations[pairs[i]] = nil
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		panic(err)
	}
	return client.RawPatch(types.MergePatchType, patch)
}

// registerCluster makes a WorkloadCluster for one test, and waits until the guard has seen it.
func registerCluster(t *testing.T, name string) {
	t.Helper()
	cluster := &ome.WorkloadCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	cluster.Spec.ClusterSource.ClusterProfileRef = &ome.ClusterProfileRef{Name: name}
	require.NoError(t, hub.client.Create(t.Context(), cluster))
	t.Cleanup(func() { require.NoError(t, hub.client.Delete(context.Background(), cluster)) })
	service := &ome.InferenceService{ObjectMeta: annotated(key, value(drain("probe", name)))}
	service.Namespace, service.GenerateName = "default", "probe-"
	poll(t, "the guard does not see the WorkloadCluster", func(ctx context.Context) bool {
		err := hub.client.Create(ctx, service.DeepCopy(), client.DryRunAll)
		return err == nil && !strings.Contains(strings.Join(hub.warnings.take(), "\n"), "unknown cluster")
	})
}

func metav1Named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func labelled(key, value string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Labels: map[string]string{key: value}}
}

func annotated(key, value string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Annotations: map[string]string{key: value}}
}
