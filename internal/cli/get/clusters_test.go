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

package get

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/golden"
)

var (
	now     = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	created = metav1.NewTime(now.Add(-50 * time.Hour))
)

func clusterCondition(kind string, status metav1.ConditionStatus, generation int64, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, ObservedGeneration: generation, Message: message}
}

func gpuPool(name string, nodes int64) modelplane.GPUPool {
	return modelplane.GPUPool{Name: name, Nodes: nodes, Devices: []modelplane.Device{
		{
			Name: "gpu", Count: ptr.To[int64](8),
			Attributes: map[string]modelplane.DeviceAttribute{"productName": {String: ptr.To("NVIDIA H200")}},
			Capacity:   map[string]modelplane.DeviceCapacity{"memory": {Value: "141Gi"}},
		},
		{Name: "fabric", Claim: modelplane.DeviceClaimSynthetic, Count: ptr.To[int64](8)},
	}}
}

// inferenceCluster makes one of generation 2.
func inferenceCluster(name string, edit func(*modelplane.InferenceCluster)) modelplane.InferenceCluster {
	c := modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 2, CreationTimestamp: created},
		Status: modelplane.InferenceClusterStatus{
			Conditions: []metav1.Condition{clusterCondition(modelplane.ConditionReady, metav1.ConditionTrue, 2, "")},
			GPUPools:   []modelplane.GPUPool{gpuPool("h200", 4)},
		},
	}
	if edit != nil {
		edit(&c)
	}
	return c
}

func tainted(effect modelplane.TaintEffect, conditions ...metav1.Condition) func(*modelplane.InferenceCluster) {
	return func(c *modelplane.InferenceCluster) {
		c.Spec.Taints = []modelplane.Taint{{Key: "modelplane.ai/maintenance", Effect: effect}}
		c.Status.Conditions = append(c.Status.Conditions, conditions...)
		c.Annotations = map[string]string{evenkeel.AnnotationDrainReason: "new firmware"}
	}
}

// replica makes one whose two pods take a node each.
func replica(cluster string, ready, terminating bool) modelplane.ModelReplica {
	r := modelplane.ModelReplica{Spec: modelplane.ModelReplicaSpec{
		ClusterName: cluster,
		Engines: []modelplane.ReplicaEngine{{Name: "main", Copies: ptr.To[int32](2), Members: []modelplane.ReplicaMember{{
			NodePoolName: "h200", DeviceRequests: []modelplane.ReplicaDeviceRequest{{Name: "gpu"}},
		}}}},
	}}
	if ready {
		r.Status.Conditions = []metav1.Condition{clusterCondition(modelplane.ConditionReady, metav1.ConditionTrue, 0, "")}
	}
	if terminating {
		r.DeletionTimestamp = &created
	}
	return r
}

func fleet() []clusterSummary {
	drained := clusterCondition(evenkeel.ConditionDrained, metav1.ConditionTrue, 2, "no replica that must leave is left")
	return summarise([]modelplane.InferenceCluster{
		inferenceCluster("drained", tainted(modelplane.TaintEffectNoExecute, drained)),
		inferenceCluster("drained-again", tainted(modelplane.TaintEffectNoExecute, clusterCondition(evenkeel.ConditionDrained, metav1.ConditionTrue, 1, "of an older taint"))),
		inferenceCluster("cordoned", tainted(modelplane.TaintEffectNoSchedule)),
		inferenceCluster("a-new-one", func(c *modelplane.InferenceCluster) { c.Status = modelplane.InferenceClusterStatus{} }),
		inferenceCluster("full", func(c *modelplane.InferenceCluster) {
			c.Status.GPUPools = append(c.Status.GPUPools, gpuPool("spare", -1))
		}),
		inferenceCluster("going", func(c *modelplane.InferenceCluster) { c.DeletionTimestamp = &created }),
	}, []modelplane.ModelReplica{
		replica("full", true, false), replica("full", false, false), replica("full", true, true),
		replica("cordoned", true, false),
	})
}

func TestClustersPrinter(t *testing.T) {
	for _, format := range []string{"table", "wide", "json", "yaml", "name"} {
		t.Run(format, func(t *testing.T) {
			streams, _, out, _ := genericiooptions.NewTestIOStreams()
			o := &clusters{Factory: cli.NewFactory(cli.Evenkeel, streams), output: format, now: func() time.Time { return now }}
			require.NoError(t, o.print(fleet()))
			golden.Equal(t, "clusters-"+format, out.String())
		})
	}
}

func TestClustersJSONPath(t *testing.T) {
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	o := &clusters{Factory: cli.NewFactory(cli.Evenkeel, streams), output: `jsonpath={range .items[?(@.name=="full")].pools[*]}{.name}={.free}{"\n"}{end}`}
	require.NoError(t, o.print(fleet()))
	assert.Equal(t, "h200=0\nspare=0\n", out.String())
}

func TestNoClusters(t *testing.T) {
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	o := &clusters{Factory: cli.NewFactory(cli.Evenkeel, streams), output: "table", now: time.Now}
	require.NoError(t, o.print(summarise(nil, nil)))
	assert.Empty(t, out.String())
	assert.Equal(t, "No clusters found.\n", errOut.String())
	out.Reset()
	o.output = "json"
	require.NoError(t, o.print(summarise(nil, nil)))
	assert.True(t, bytes.Contains(out.Bytes(), []byte(`"items": []`)), "a program that reads it needs a list: %s", out)
}
