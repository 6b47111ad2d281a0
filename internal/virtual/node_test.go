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

package virtual

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// gpuPool is a pool with one device a node.
func gpuPool(name string, nodes int64) modelplane.GPUPool {
	return modelplane.GPUPool{Name: name, Nodes: nodes, Devices: []modelplane.Device{{
		Name: "gpu", Claim: modelplane.DeviceClaimDRA, Driver: "gpu.example.com", DeviceClassName: "gpu", Count: ptr.To[int64](1),
		Capacity: map[string]modelplane.DeviceCapacity{"memory": {Value: "96Gi"}},
	}}}
}

// servingCluster is a cluster that new replicas may go to.
func servingCluster(name string, pools ...modelplane.GPUPool) *modelplane.InferenceCluster {
	return &modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-" + "cluster", ResourceVersion: "7", Generation: 3},
		Status: modelplane.InferenceClusterStatus{
			Conditions: []metav1.Condition{{Type: modelplane.ConditionReady, Status: metav1.ConditionTrue}},
			Gateway:    &modelplane.Gateway{Address: "192.0.2.1"},
			GPUPools:   pools,
		},
	}
}

func TestNodeFor(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	cluster := servingCluster("gpu-us-east", gpuPool("h100", 4), gpuPool("l4", 2))
	cluster.Labels = map[string]string{"region": "us-east"}
	cluster.Annotations = map[string]string{
		"example.com/team":                         "serving",
		AnnotationPools:                            "a person cannot set this",
		corev1.LastAppliedConfigAnnotation:         "{}",
		"crossplane.io/composition-resource-name":  "cluster",
		modelplane.AnnotationReconcileRequestedAt:  "now",
		"crossplane.io.example.com/not-crossplane": "kept",
	}
	cluster.DeletionTimestamp = &since
	cluster.Spec.Taints = []modelplane.Taint{
		{Key: "maintenance", Value: "tonight", Effect: modelplane.TaintEffectNoExecute, TimeAdded: &since},
		{Key: "no label could be this: " + strings.Repeat("k", 400), Value: "nor / this\n", Effect: modelplane.TaintEffectNoSchedule},
	}

	node := NodeFor(cluster)

	capacity := corev1.ResourceList{
		corev1.ResourcePods: *resource.NewQuantity(1_000_000, resource.DecimalSI),
		ResourceNodes:       *resource.NewQuantity(6, resource.DecimalSI),
	}
	pools, err := json.Marshal(cluster.Status.GPUPools)
	require.NoError(t, err)
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "gpu-us-east", UID: "uid-cluster", ResourceVersion: "7", Generation: 3, DeletionTimestamp: &since,
			Labels: map[string]string{"region": "us-east"},
			Annotations: map[string]string{
				"example.com/team":                         "serving",
				"crossplane.io.example.com/not-crossplane": "kept",
				AnnotationPools:                            string(pools),
			},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: "maintenance", Value: "tonight", Effect: corev1.TaintEffectNoExecute, TimeAdded: &since},
			{Key: "no label could be this: " + strings.Repeat("k", 400), Value: "nor / this\n", Effect: corev1.TaintEffectNoSchedule},
		}},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
				{Type: NodeConditionRoutable, Status: corev1.ConditionTrue},
			},
		},
	}
	assert.Empty(t, cmp.Diff(want, node))
}

func TestNodeForConditions(t *testing.T) {
	tests := map[string]struct {
		status       modelplane.InferenceClusterStatus
		wantReady    corev1.ConditionStatus
		wantRoutable corev1.ConditionStatus
	}{
		"no status at all": {wantReady: corev1.ConditionFalse, wantRoutable: corev1.ConditionFalse},
		"unknown readiness": {
			status:    modelplane.InferenceClusterStatus{Conditions: []metav1.Condition{{Type: modelplane.ConditionReady, Status: metav1.ConditionUnknown}}},
			wantReady: corev1.ConditionFalse, wantRoutable: corev1.ConditionFalse,
		},
		"another condition": {
			status:    modelplane.InferenceClusterStatus{Conditions: []metav1.Condition{{Type: "Synced", Status: metav1.ConditionTrue}}},
			wantReady: corev1.ConditionFalse, wantRoutable: corev1.ConditionFalse,
		},
		"hostname only": {
			status:    modelplane.InferenceClusterStatus{Gateway: &modelplane.Gateway{Hostname: "east.example.com"}},
			wantReady: corev1.ConditionFalse, wantRoutable: corev1.ConditionTrue,
		},
		"gateway without either": {
			status:    modelplane.InferenceClusterStatus{Gateway: &modelplane.Gateway{}},
			wantReady: corev1.ConditionFalse, wantRoutable: corev1.ConditionFalse,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			node := NodeFor(&modelplane.InferenceCluster{Status: tc.status})
			assert.Equal(t, tc.wantReady, node.Status.Conditions[0].Status, "Ready")
			assert.Equal(t, tc.wantRoutable, node.Status.Conditions[1].Status, "Routable")
		})
	}
}

func TestNodeForCountsNodes(t *testing.T) {
	tests := map[string]struct {
		pools []modelplane.GPUPool
		want  int64
	}{
		"none":                       {want: 0},
		"negative counts as none":    {pools: []modelplane.GPUPool{gpuPool("a", -3), gpuPool("b", 2)}, want: 2},
		"more than a number can say": {pools: []modelplane.GPUPool{gpuPool("a", math.MaxInt64), gpuPool("b", 5)}, want: math.MaxInt64},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			nodes := NodeFor(servingCluster("east", tc.pools...)).Status.Allocatable[ResourceNodes]
			assert.Equal(t, tc.want, nodes.Value())
		})
	}
}

func TestPoolsOf(t *testing.T) {
	node := NodeFor(servingCluster("east", gpuPool("b", 4), gpuPool("a", -1)))
	pools, err := PoolsOf(node)
	require.NoError(t, err)
	assert.Equal(t, []string{"b", "a"}, pools.Names(), "published order is the order in which pools are tried")
	nodes, ok := pools.Nodes("a")
	assert.True(t, ok)
	assert.Zero(t, nodes)

	again, err := PoolsOf(NodeFor(servingCluster("west", gpuPool("b", 4), gpuPool("a", -1))))
	require.NoError(t, err)
	assert.Same(t, pools, again, "clusters that publish the same share one parsed value")

	none, err := PoolsOf(&corev1.Node{})
	require.NoError(t, err)
	assert.Empty(t, none.Names())

	for _, malformed := range []string{"", "{", `"text"`, `[{"name":1}]`, `[{"nodes":"many"}]`} {
		_, err = PoolsOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "east", Annotations: map[string]string{AnnotationPools: malformed}}})
		assert.ErrorContains(t, err, `node "east": annotation evenkeel.io/pools`, "%q", malformed)
	}
}

// A changed pool must be a changed annotation: that is the event that wakes placements.
func TestPoolChangeIsAnAnnotationChange(t *testing.T) {
	published := func(change func(*modelplane.GPUPool)) string {
		pool := gpuPool("h100", 4)
		change(&pool)
		return NodeFor(servingCluster("east", pool)).Annotations[AnnotationPools]
	}
	base := published(func(*modelplane.GPUPool) {})
	assert.Equal(t, base, published(func(*modelplane.GPUPool) {}))
	changes := map[string]func(*modelplane.GPUPool){
		"nodes": func(p *modelplane.GPUPool) { p.Nodes++ },
		"count": func(p *modelplane.GPUPool) { p.Devices[0].Count = ptr.To[int64](8) },
		"capacity": func(p *modelplane.GPUPool) {
			p.Devices[0].Capacity["memory"] = modelplane.DeviceCapacity{Value: "141Gi"}
		},
		"attribute": func(p *modelplane.GPUPool) {
			p.Devices[0].Attributes = map[string]modelplane.DeviceAttribute{"x": {Bool: ptr.To(true)}}
		},
		"claim": func(p *modelplane.GPUPool) { p.Devices[0].Claim = modelplane.DeviceClaimSynthetic },
	}
	for name, change := range changes {
		assert.NotEqual(t, base, published(change), name)
	}
}

func TestNodeForSharesNoMemory(t *testing.T) {
	since := metav1.Now()
	cluster := servingCluster("east", gpuPool("h100", 4))
	cluster.Labels = map[string]string{"region": "us"}
	cluster.DeletionTimestamp = &since
	cluster.Spec.Taints = []modelplane.Taint{{Key: "k", Effect: modelplane.TaintEffectNoSchedule, TimeAdded: &since}}
	node := NodeFor(cluster)
	want := node.DeepCopy()

	cluster.Labels["region"] = "eu"
	cluster.Spec.Taints[0].Key = "other"
	since.Time = since.Add(time.Hour)
	cluster.Status.GPUPools[0].Devices[0].Driver = "other"

	assert.Empty(t, cmp.Diff(want, node))
}

func FuzzNodeFor(f *testing.F) {
	for _, seed := range []string{
		`{}`,
		`{"metadata":{"name":"a"},"spec":{"taints":[{}]},"status":null}`,
		`{"status":{"gpuPools":[{"name":"p","nodes":-9,"devices":[{"count":-1,"attributes":{"a":{}},"capacity":{"":{"value":"10Mo"}}}]}]}}`,
		`{"metadata":{"annotations":null,"labels":{"":""}},"status":{"gateway":{},"conditions":[{}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		cluster := &modelplane.InferenceCluster{}
		if json.Unmarshal(raw, cluster) != nil {
			return
		}
		node := NodeFor(cluster)
		pools, err := PoolsOf(node)
		require.NoError(t, err, "what was translated parses")
		for _, name := range pools.Names() {
			nodes, ok := pools.Nodes(name)
			assert.True(t, ok)
			assert.GreaterOrEqual(t, nodes, int64(0))
		}
	})
}

func FuzzAnnotations(f *testing.F) {
	f.Add("null")
	f.Add(`{"deployment":"chat","engines":[{"members":null}]}`)
	f.Add(`[{"name":"p","devices":[{"capacity":{"a":{"value":"x"}}}]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = PoolsOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationPools: text}}})
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationRequirements: text, AnnotationAssignment: text}}}
		if requirements, err := RequirementsOf(pod); err == nil {
			assert.NotNil(t, requirements)
		}
		_, _ = AssignmentOf(pod)
		assert.False(t, Leaving(pod))
	})
}
