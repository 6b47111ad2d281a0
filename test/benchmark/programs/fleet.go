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

package programs

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

const (
	// FleetNamespace is where the deployments of a fleet are.
	FleetNamespace = "bench"

	poolName = "h100"
	driver   = "gpu.nvidia.com"
)

// ClusterName of the i-th cluster of a fleet.
func ClusterName(i int) string { return fmt.Sprintf("cluster-%04d", i) }

// CreateCluster creates the i-th cluster, Ready and with one pool of nodes, each of which one replica takes.
func CreateCluster(ctx context.Context, c client.Client, i, nodes int) error {
	cluster := inferenceCluster(i, nodes)
	status := cluster.Status
	if err := c.Create(ctx, cluster); err != nil {
		return err
	}
	// A create drops the status.
	cluster.Status = status
	return c.Status().Update(ctx, cluster)
}

func inferenceCluster(i, nodes int) *modelplane.InferenceCluster {
	return &modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{Name: ClusterName(i)},
		Spec: modelplane.InferenceClusterSpec{
			Cluster: modelplane.ClusterSpec{
				Source:   modelplane.ClusterSourceExisting,
				Existing: &modelplane.ExistingCluster{SecretRef: modelplane.SecretKeyReference{Name: ClusterName(i), Key: "kubeconfig"}},
			},
			NodePools: []modelplane.NodePool{{Name: poolName, ClassName: poolName, NodeCount: ptr.To(int32(nodes))}},
		},
		Status: modelplane.InferenceClusterStatus{
			Conditions: []metav1.Condition{{
				Type: modelplane.ConditionReady, Status: metav1.ConditionTrue, Reason: "Available", LastTransitionTime: metav1.Now(),
			}},
			Gateway: &modelplane.Gateway{Address: fmt.Sprintf("203.0.113.%d", i%250+1)},
			GPUPools: []modelplane.GPUPool{{Name: poolName, Nodes: int64(nodes), Devices: []modelplane.Device{{
				Name: "gpu", Claim: modelplane.DeviceClaimDRA, Driver: driver, DeviceClassName: driver, Count: ptr.To[int64](8),
				Attributes: map[string]modelplane.DeviceAttribute{"architecture": {String: ptr.To("Hopper")}},
				Capacity:   map[string]modelplane.DeviceCapacity{"memory": {Value: "80Gi"}},
			}}}},
		},
	}
}

// DeviceRequest is what a replica asks of a node.
func DeviceRequest() modelplane.DeviceRequest {
	return modelplane.DeviceRequest{Name: "gpu", Count: ptr.To[int64](8), Selectors: []modelplane.DeviceSelector{
		{CEL: fmt.Sprintf("device.attributes[%q].architecture == %q", driver, "Hopper")},
	}}
}

// DeploymentName of the i-th deployment of a fleet.
func DeploymentName(i int) string { return fmt.Sprintf("model-%04d", i) }

// CreateDeployment creates the i-th deployment, each replica of which takes one node. The engine gets args.
func CreateDeployment(ctx context.Context, c client.Client, i, replicas int, args ...string) error {
	return c.Create(ctx, &modelplane.ModelDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: FleetNamespace, Name: DeploymentName(i)},
		Spec: modelplane.ModelDeploymentSpec{
			Replicas: int32(replicas),
			Template: modelplane.ModelDeploymentTemplate{Spec: modelplane.ModelDeploymentTemplateSpec{
				SchedulerName: evenkeel.DefaultSchedulerName,
				Engines: []modelplane.Engine{{Name: "main", Copies: ptr.To[int32](1), Members: []modelplane.Member{{
					Role:         modelplane.MemberRoleStandalone,
					NodeSelector: &modelplane.NodeSelector{Devices: []modelplane.DeviceRequest{DeviceRequest()}},
					Template: &modelplane.MemberTemplate{Spec: &modelplane.MemberPodSpec{
						Containers: []modelplane.Container{{Name: "engine", Image: "registry.example.com/engine:v1", Args: args}},
					}},
				}}}},
			}},
		},
	})
}
