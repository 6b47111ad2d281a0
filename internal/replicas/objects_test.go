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

package replicas

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

func testDeployment(name string, replicas int32) *modelplane.ModelDeployment {
	return &modelplane.ModelDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID("uid-of-" + name), Generation: 1},
		Spec: modelplane.ModelDeploymentSpec{
			Replicas: replicas,
			Template: modelplane.ModelDeploymentTemplate{Spec: modelplane.ModelDeploymentTemplateSpec{
				SchedulerName: "evenkeel",
				Engines:       []modelplane.Engine{testEngine("main", atLeast80Gi)},
			}},
		},
	}
}

func testEngine(name, selector string) modelplane.Engine {
	return modelplane.Engine{Name: name, Copies: ptr.To[int32](1), Members: []modelplane.Member{{
		Role: modelplane.MemberRoleStandalone,
		NodeSelector: &modelplane.NodeSelector{Devices: []modelplane.DeviceRequest{{
			Name: "gpu", Count: ptr.To[int64](1), Selectors: []modelplane.DeviceSelector{{CEL: selector}},
		}}},
	}}}
}

func testCluster(t *testing.T, name string, words []string) *modelplane.InferenceCluster {
	t.Helper()
	c := &modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name)},
		Status: modelplane.InferenceClusterStatus{
			Conditions: []metav1.Condition{{Type: modelplane.ConditionReady, Status: metav1.ConditionTrue, Reason: "Available"}},
			Gateway:    &modelplane.Gateway{Address: "192.0.2.1"},
		},
	}
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case strings.Contains(word, ":"):
			c.Status.GPUPools = testPools(t, word)
		case word == "NotReady":
			c.Status.Conditions[0].Status = metav1.ConditionFalse
		case word == "NoGateway":
			c.Status.Gateway = nil
		case word == "NoStatus":
			c.Status = modelplane.InferenceClusterStatus{}
		case word == "NoSchedule", word == "NoExecute":
			c.Spec.Taints = append(c.Spec.Taints, modelplane.Taint{Key: "acme.test/" + strings.ToLower(word), Effect: modelplane.TaintEffect(word)})
		case word == "added", word == "since":
			i++
			age, err := time.ParseDuration(words[i])
			require.NoError(t, err)
			at := metav1.NewTime(now.Add(-age))
			if word == "added" {
				c.Spec.Taints[len(c.Spec.Taints)-1].TimeAdded = &at
			} else {
				c.Status.Conditions[0].LastTransitionTime = at
			}
		case word == "label":
			i++
			c.Labels = pairs(words[i])
		default:
			t.Fatalf("cluster: what is %q?", word)
		}
	}
	return c
}

// testPools reads "h:2,n:1": nodes of one 96Gi device each; "h:2:40Gi" says what the device has.
func testPools(t *testing.T, text string) []modelplane.GPUPool {
	t.Helper()
	var pools []modelplane.GPUPool
	for _, one := range strings.Split(text, ",") {
		parts := strings.Split(one, ":")
		nodes, err := strconv.ParseInt(parts[1], 10, 64)
		require.NoError(t, err)
		memory := "96Gi"
		if len(parts) > 2 {
			memory = parts[2]
		}
		pools = append(pools, modelplane.GPUPool{Name: parts[0], Nodes: nodes, Devices: []modelplane.Device{{
			Name: "gpu", Driver: "gpu.acme.test", DeviceClassName: "gpu.acme.test", Count: ptr.To[int64](1),
			Capacity: map[string]modelplane.DeviceCapacity{"memory": {Value: memory}},
		}}})
	}
	return pools
}

// testReplica is what the template asks for, as it was stamped for one engine main.
func testReplica(d *modelplane.ModelDeployment, name, cluster string, index int32, pool string) *modelplane.ModelReplica {
	return &modelplane.ModelReplica{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "1",
			Labels: map[string]string{
				modelplane.LabelDeployment:   d.Name,
				modelplane.LabelCluster:      cluster,
				modelplane.LabelReplicaIndex: strconv.Itoa(int(index)),
			},
			Annotations:     map[string]string{modelplane.AnnotationCompositionResourceName: fmt.Sprintf("replica-%s-%d", cluster, index)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, modelplane.GroupVersion.WithKind("ModelDeployment"))},
		},
		Spec: modelplane.ModelReplicaSpec{
			ClusterName:   cluster,
			ModelCacheRef: d.Spec.Template.Spec.ModelCacheRef,
			Engines: []modelplane.ReplicaEngine{{Name: "main", Copies: ptr.To[int32](1), Members: []modelplane.ReplicaMember{{
				Role: modelplane.MemberRoleStandalone, NodePoolName: pool,
				DeviceRequests: []modelplane.ReplicaDeviceRequest{{
					Name: "gpu", DeviceClassName: "gpu.acme.test", Count: ptr.To[int64](1),
					Selectors: []modelplane.DeviceSelector{{CEL: atLeast80Gi}},
				}},
			}}}},
		},
	}
}

func replicaNameOf(cluster string, index int32) string {
	return placement.ReplicaName("chat", cluster, index)
}
