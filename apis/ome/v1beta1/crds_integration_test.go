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

package v1beta1_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

var (
	services = v1beta1.GroupVersion.WithResource("inferenceservices")
	maps     = v1beta1.GroupVersion.WithResource("trafficmaps")
	clusters = v1beta1.GroupVersion.WithResource("workloadclusters")
)

// TestCRDs runs every check against one API server that has the development CRDs.
func TestCRDs(t *testing.T) {
	cp, err := controlplane.Start(t.Context(), controlplane.Options{DisableControllerManager: true})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cp.Stop()) })
	files, err := filepath.Glob("../../../manifests/dev/crds/ome.io_*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 3)
	require.NoError(t, cp.InstallCRDs(t.Context(), files...))
	client, err := dynamic.NewForConfig(cp.Config())
	require.NoError(t, err)

	t.Run("TrafficMap comes back as written", func(t *testing.T) { trafficMapRoundTrip(t, client) })
	t.Run("InferenceService keeps what is not typed", func(t *testing.T) { serviceKeepsUnknown(t, client) })
	t.Run("defaults", func(t *testing.T) { defaults(t, client) })
	t.Run("refusals", func(t *testing.T) { refusals(t, client) })
	t.Run("columns and short names", func(t *testing.T) { columns(t, cp) })
}

func trafficMapRoundTrip(t *testing.T, client dynamic.Interface) {
	want := &v1beta1.TrafficMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "ome.io/v1beta1", Kind: "TrafficMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "chat", Namespace: "default"},
		Spec: v1beta1.TrafficMapSpec{
			Service: "chat", Mode: v1beta1.PlacementAll, ObservedISVCGeneration: 3,
			Entries: []v1beta1.TrafficMapEntry{
				{Cluster: "worker-a", Endpoint: "https://a.example.com", DrainRefs: []string{"a", "b"}, Healthy: true, Capacity: &v1beta1.TrafficMapCapacity{
					Allocated: 2, Ready: 3, Source: v1beta1.CapacitySourceEndpoint, Reported: ptr.To[int32](2), Factor: ptr.To(resource.MustParse("1.5")),
				}},
				{Cluster: "worker-b", Weight: v1beta1.MaxWeight, Probe: &v1beta1.TrafficMapProbe{Result: v1beta1.ProbeFailing, Gated: true, ConsecutiveFailures: 3}},
			},
		},
		Status: v1beta1.TrafficMapStatus{
			SourceUID: "uid", Published: true, GatewayRef: &v1beta1.TrafficMapGatewayRef{Kind: "HTTPRoute", Name: "chat-global"},
			Publisher: &v1beta1.TrafficMapPublisherStatus{PublisherName: "gatewayapi", ClaimedTargets: []string{"v1:httproute:default/chat-global"}},
		},
	}
	created, err := create(t, client, maps, toUnstructured(t, want))
	require.NoError(t, err)
	entries, _, err := unstructured.NestedSlice(created.Object, "spec", "entries")
	require.NoError(t, err)
	assert.EqualValues(t, 0, entries[0].(map[string]any)["weight"], "a weight of 0 is written")
	assert.Equal(t, false, entries[1].(map[string]any)["healthy"])
	assert.Equal(t, "1500m", entries[0].(map[string]any)["capacity"].(map[string]any)["factor"])

	withStatus := toUnstructured(t, want)
	withStatus.SetResourceVersion(created.GetResourceVersion())
	updated, err := client.Resource(maps).Namespace("default").UpdateStatus(t.Context(), withStatus, metav1.UpdateOptions{})
	require.NoError(t, err)
	var got v1beta1.TrafficMap
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(updated.Object, &got))
	assert.Equal(t, toUnstructured(t, &v1beta1.TrafficMap{Spec: want.Spec, Status: want.Status}),
		toUnstructured(t, &v1beta1.TrafficMap{Spec: got.Spec, Status: got.Status}))
}

func serviceKeepsUnknown(t *testing.T, client dynamic.Interface) {
	created, err := create(t, client, services, parse(t, `
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata: {name: chat}
spec:
  model: {name: llama}
  engine: {minReplicas: 2}
  placement: {mode: All, requirements: gpu, futureField: {x: 1}}
  routing: {capacityFactors: {worker-a: "1.5", worker-b: 2}, futureField: [1]}
`))
	require.NoError(t, err)
	for _, path := range []string{"spec.model.name", "spec.engine.minReplicas", "spec.placement.futureField.x", "spec.routing.futureField"} {
		_, found, err := unstructured.NestedFieldNoCopy(created.Object, strings.Split(path, ".")...)
		assert.NoError(t, err)
		assert.True(t, found, path)
	}
	var typed v1beta1.InferenceService
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(created.Object, &typed))
	assert.Len(t, typed.Spec.Routing.CapacityFactors, 2)
}

func defaults(t *testing.T, client dynamic.Interface) {
	cluster, err := create(t, client, clusters, parse(t, `
apiVersion: ome.io/v1beta1
kind: WorkloadCluster
metadata: {name: worker-a}
spec: {clusterSource: {kubeConfig: {secretRef: {name: worker-a, namespace: ome}}}}
`))
	require.NoError(t, err)
	key, _, _ := unstructured.NestedString(cluster.Object, "spec", "clusterSource", "kubeConfig", "key")
	assert.Equal(t, "kubeconfig", key)

	service, err := create(t, client, services, serviceWith(t, `placement: {requirements: gpu}`))
	require.NoError(t, err)
	mode, _, _ := unstructured.NestedString(service.Object, "spec", "placement", "mode")
	assert.Equal(t, "Single", mode)
}

func refusals(t *testing.T, client dynamic.Interface) {
	const probe = `path: /health, method: GET, acceptStatuses: [200], gateStatuses: [500], failureThreshold: 3, successThreshold: 2, allFailedPolicy: Drain`
	const poll = `path: /capacity, method: GET, format: Report, period: 10s, timeout: 1s`
	for _, tc := range []struct{ name, spec, fault string }{
		{"good probe", `routing: {probe: {` + probe + `, period: 10s, timeout: 1s}}`, ""},
		{"disabled probe", `routing: {probe: {disabled: true}}`, ""},
		{"good poll", `routing: {capacity: {` + poll + `, samples: 5, quorum: 3, maxAge: 30s}}`, ""},
		{"probe without timeout", `routing: {probe: {` + probe + `, period: 10s}}`, "set disabled alone, or all nine of path"},
		{"disabled and path", `routing: {probe: {disabled: true, path: /}}`, "set disabled alone, or all nine of path"},
		{"timeout as long as period", `routing: {probe: {` + probe + `, period: 1s, timeout: 1s}}`, "timeout must be positive and shorter than period"},
		{"gate on 401", `routing: {probe: {` + strings.Replace(probe, "[500]", "[500, 401]", 1) + `, period: 10s, timeout: 1s}}`, "401, 403 and 429 cannot gate"},
		{"status in both lists", `routing: {probe: {` + strings.Replace(probe, "[500]", "[500, 200]", 1) + `, period: 10s, timeout: 1s}}`, "a status cannot both accept and gate"},
		{"quorum above samples", `routing: {capacity: {` + poll + `, samples: 2, quorum: 3, maxAge: 30s}}`, "quorum cannot be larger than samples"},
		{"reading expires before the next", `routing: {capacity: {` + poll + `, samples: 2, quorum: 1, maxAge: 5s}}`, "maxAge must not be shorter than period"},
		{"empty option", `routing: {publisher: {options: {k: ""}}}`, "keys have 1 to 128 characters"},
		{"unknown mode", `placement: {mode: Some}`, "Unsupported value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := create(t, client, services, serviceWith(t, tc.spec))
			expectFault(t, err, tc.fault)
		})
	}

	_, err := create(t, client, maps, parse(t, `
apiVersion: ome.io/v1beta1
kind: TrafficMap
metadata: {generateName: bad-}
spec: {service: x, entries: [{cluster: a, weight: 1000001}]}
`))
	expectFault(t, err, "should be less than or equal to 1000000")
	for _, source := range []string{`{}`, `{clusterProfileRef: {name: x}, kubeConfig: {secretRef: {name: x}}}`} {
		_, err := create(t, client, clusters, parse(t, `
apiVersion: ome.io/v1beta1
kind: WorkloadCluster
metadata: {generateName: bad-}
spec: {clusterSource: `+source+`}
`))
		expectFault(t, err, "set exactly one of kubeConfig and clusterProfileRef")
	}
}

// columns asks kubectl by short name, since the columns are what people see.
func columns(t *testing.T, cp *controlplane.ControlPlane) {
	for name, want := range map[string]string{
		"tm":   "NAME MODE PUBLISHED ROUTABLE OVERRIDE REASON AGE",
		"tmap": "NAME MODE PUBLISHED ROUTABLE OVERRIDE REASON AGE",
		"wlc":  "NAME REACHABLE AGE",
		"isvc": "NAME URL READY AGE",
	} {
		command := exec.CommandContext(t.Context(), filepath.Join(cp.BinDir(), "kubectl"), "--kubeconfig", cp.KubeconfigPath(), "get", name)
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
		header, _, _ := strings.Cut(string(out), "\n")
		assert.Equal(t, want, strings.Join(strings.Fields(header), " "), name)
	}
}

func expectFault(t *testing.T, err error, fault string) {
	t.Helper()
	if fault == "" {
		assert.NoError(t, err)
		return
	}
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	assert.Contains(t, err.Error(), fault)
}

func serviceWith(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, `
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata: {generateName: chat-}
spec: {`+spec+`}
`)
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &object))
	return &unstructured.Unstructured{Object: object}
}

func toUnstructured(t *testing.T, object any) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	require.NoError(t, err)
	return &unstructured.Unstructured{Object: content}
}

func create(t *testing.T, client dynamic.Interface, kind schema.GroupVersionResource, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	t.Helper()
	if kind == clusters {
		return client.Resource(kind).Create(t.Context(), object, metav1.CreateOptions{})
	}
	return client.Resource(kind).Namespace(metav1.NamespaceDefault).Create(t.Context(), object, metav1.CreateOptions{})
}
