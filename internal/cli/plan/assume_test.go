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

package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func clusterWith(nodes int32) *modelplane.InferenceCluster {
	return &modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu-new"},
		Spec: modelplane.InferenceClusterSpec{
			Cluster: modelplane.ClusterSpec{Existing: &modelplane.ExistingCluster{Cache: &modelplane.ExistingClusterCache{StorageClassName: "fast"}}},
			NodePools: []modelplane.NodePool{
				{Name: "h100", ClassName: "h100", NodeCount: &nodes},
			},
		},
	}
}

func TestWithoutCapacity(t *testing.T) {
	same, larger := clusterWith(1), clusterWith(2)
	reporting := clusterWith(2)
	reporting.Status.GPUPools = []modelplane.GPUPool{}
	hub := []modelplane.InferenceCluster{*clusterWith(1)}
	for name, tc := range map[string]struct {
		file *modelplane.InferenceCluster
		hub  []modelplane.InferenceCluster
		said string
	}{
		"new":                   {file: same, said: "InferenceCluster gpu-new is new and reports no node pools yet"},
		"new, with a status":    {file: reporting},
		"as it is":              {file: same, hub: hub},
		"with other pools":      {file: larger, hub: hub, said: "InferenceCluster gpu-new gets other node pools"},
		"with pools it reports": {file: reporting, hub: hub},
		"another is on the hub": {file: same, hub: []modelplane.InferenceCluster{{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}}, said: "is new"},
	} {
		t.Run(name, func(t *testing.T) {
			said := withoutCapacity([]*modelplane.InferenceCluster{tc.file}, tc.hub)
			if tc.said == "" {
				assert.Empty(t, said)
				return
			}
			require.Len(t, said, 1)
			assert.Contains(t, said[0], tc.said)
			assert.Contains(t, said[0], "--assume-ready")
		})
	}
}

func TestAssumeReady(t *testing.T) {
	classes := []modelplane.InferenceClass{{ObjectMeta: metav1.ObjectMeta{Name: "h100"}}}
	classes[0].Spec.Devices = []modelplane.DeviceTemplate{{Name: "gpu", Driver: "gpu.test", DeviceClassName: "gpu.test", Count: ptr.To[int64](8)}}
	c := clusterWith(3)
	require.NoError(t, assumeReady([]*modelplane.InferenceCluster{c}, classes))
	require.Len(t, c.Status.GPUPools, 1)
	assert.EqualValues(t, 3, c.Status.GPUPools[0].Nodes)
	assert.True(t, meta.IsStatusConditionTrue(c.Status.Conditions, modelplane.ConditionReady))
	assert.NotEmpty(t, c.Status.Gateway.Address)
	assert.Equal(t, "fast", c.Status.Cache.StorageClassName)

	reporting := clusterWith(3)
	reporting.Status.GPUPools = []modelplane.GPUPool{{Name: "h100", Nodes: 1}}
	require.NoError(t, assumeReady([]*modelplane.InferenceCluster{reporting}, classes))
	assert.EqualValues(t, 1, reporting.Status.GPUPools[0].Nodes, "what the file says holds")

	err := assumeReady([]*modelplane.InferenceCluster{clusterWith(3)}, nil)
	assert.ErrorContains(t, err, "neither the files nor the hub have InferenceClass h100")
}
