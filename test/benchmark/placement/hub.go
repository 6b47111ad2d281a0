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

package placement

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
	"github.com/evenkeel-io/evenkeel/test/benchmark/programs"
)

// hubSide is the hub scheduler, which assigns ReplicaPlacements to InferenceClusters.
type hubSide struct{}

const deviceDriver = "gpu.nvidia.com"

func (hubSide) name() string   { return hubName }
func (hubSide) binary() string { return "hub-scheduler" }

// user is the service account of the scheduler's manifests, by which it has the
// rights that they give it and no other.
func (hubSide) user() string {
	return programs.SchedulerUser
}

// credentials are a token, as a pod has it.
func (hubSide) credentials(ctx context.Context, cp *controlplane.ControlPlane) (*rest.Config, error) {
	return harness.ServiceAccount(ctx, cp, programs.SchedulerUser)
}

// prepare installs the CRDs and the scheduler's role.
func (hubSide) prepare(ctx context.Context, environment *harness.Environment, cp *controlplane.ControlPlane, c client.Client) error {
	if err := cp.InstallCRDs(ctx, environment.Manifest("hub", "crds"), environment.Manifest("dev", "crds")); err != nil {
		return err
	}
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: programs.Namespace}}); err != nil {
		return fmt.Errorf("create namespace %s: %w", programs.Namespace, err)
	}
	return harness.CreateAll(ctx, c, environment.Manifest("hub", "scheduler", "base", "rbac.yaml"))
}

func (hubSide) createTarget(ctx context.Context, c client.Client, i int) error {
	cluster := inferenceCluster(i)
	status := cluster.Status
	if err := c.Create(ctx, cluster); err != nil {
		return err
	}
	// A create drops the status.
	cluster.Status = status
	return c.Status().Update(ctx, cluster)
}

func inferenceCluster(i int) *modelplane.InferenceCluster {
	cluster := &modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{
			Name:   clusterName(i),
			Labels: map[string]string{"region": regionOf(i)},
		},
		Spec: modelplane.InferenceClusterSpec{
			Cluster: modelplane.ClusterSpec{
				Source:   modelplane.ClusterSourceExisting,
				Existing: &modelplane.ExistingCluster{SecretRef: modelplane.SecretKeyReference{Name: clusterName(i), Key: "kubeconfig"}},
			},
		},
		Status: modelplane.InferenceClusterStatus{
			Conditions:        []metav1.Condition{condition(modelplane.ConditionReady, "Available")},
			Gateway:           &modelplane.Gateway{Address: fmt.Sprintf("203.0.113.%d", i%250+1)},
			ProviderConfigRef: &modelplane.NameReference{Name: clusterName(i)},
			Namespace:         "modelplane-system",
		},
	}
	for _, k := range kinds {
		cluster.Spec.NodePools = append(cluster.Spec.NodePools, modelplane.NodePool{
			Name: k.pool, ClassName: k.pool, NodeCount: ptr.To[int32](roomPerKind),
		})
		cluster.Status.GPUPools = append(cluster.Status.GPUPools, modelplane.GPUPool{
			Name: k.pool, Nodes: roomPerKind, Devices: []modelplane.Device{device(k)},
		})
	}
	return cluster
}

func condition(conditionType, reason string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.Now()}
}

func device(k kind) modelplane.Device {
	return modelplane.Device{
		Name:            "gpu",
		Claim:           modelplane.DeviceClaimDRA,
		Driver:          deviceDriver,
		DeviceClassName: deviceDriver,
		Count:           ptr.To(k.devicesPerNode),
		Attributes: map[string]modelplane.DeviceAttribute{
			"architecture":  {String: ptr.To(k.architecture)},
			"driverVersion": {Version: ptr.To("580.65.6")},
		},
		Capacity: map[string]modelplane.DeviceCapacity{"memory": {Value: k.memory}},
	}
}

func (hubSide) createReplica(ctx context.Context, c client.Client, r replica) error {
	return c.Create(ctx, replicaPlacement(r))
}

func replicaPlacement(r replica) *evenkeel.ReplicaPlacement {
	return &evenkeel.ReplicaPlacement{
		ObjectMeta: metav1.ObjectMeta{
			Name:      r.name(),
			Namespace: namespace,
			Labels:    map[string]string{modelplane.LabelDeployment: r.deployment},
			// As the manager sets it, which would have made the placement. The deployment itself is not needed.
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: modelplane.GroupVersion.String(), Kind: "ModelDeployment", Name: r.deployment,
				UID: types.UID(r.deployment), Controller: ptr.To(true),
			}},
		},
		Spec: evenkeel.ReplicaPlacementSpec{
			DeploymentName: r.deployment,
			Slot:           int32(r.slot),
			Attempt:        1,
			SchedulerName:  evenkeel.DefaultSchedulerName,
			Engines: []evenkeel.EngineRequirements{{
				Name:   "main",
				Copies: 1,
				Members: []evenkeel.MemberRequirements{{
					Role:    modelplane.MemberRoleStandalone,
					Nodes:   1,
					Devices: []modelplane.DeviceRequest{deviceRequest(r.kind)},
				}},
			}},
		},
	}
}

func deviceRequest(k kind) modelplane.DeviceRequest {
	return modelplane.DeviceRequest{
		Name:  "gpu",
		Count: ptr.To(k.devicesPerNode),
		Selectors: []modelplane.DeviceSelector{
			{CEL: fmt.Sprintf("device.attributes[%q].architecture == %q", deviceDriver, k.architecture)},
			{CEL: fmt.Sprintf("device.capacity[%q].memory.compareTo(quantity(%q)) >= 0", deviceDriver, k.memory)},
		},
	}
}

func isPlacement(r *harness.Request) bool {
	return r.Group == evenkeel.GroupVersion.Group && r.Resource == "replicaplacements"
}

func (hubSide) isCreate(r *harness.Request) bool {
	return r.Verb == "create" && isPlacement(r) && r.Subresource == ""
}

// isBind does not care whether the status was patched or updated.
func (hubSide) isBind(r *harness.Request) bool {
	return isPlacement(r) && r.Subresource == "status"
}

func (hubSide) verify(ctx context.Context, c client.Client, s shape) error {
	var placements evenkeel.ReplicaPlacementList
	if err := c.List(ctx, &placements, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list the placements: %w", err)
	}
	all := make([]landed, 0, len(placements.Items))
	for i := range placements.Items {
		l, err := landedPlacement(&placements.Items[i])
		if err != nil {
			return err
		}
		all = append(all, l)
	}
	if err := checkLanded(s, all); err != nil {
		return err
	}
	if err := checkIndexes(all); err != nil {
		return err
	}
	return checkSpread(s, all)
}

func landedPlacement(p *evenkeel.ReplicaPlacement) (landed, error) {
	l := landed{name: p.Name, deployment: p.Spec.DeploymentName}
	assignment := p.Status.Assignment
	if assignment == nil {
		return l, nil
	}
	if !meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionScheduled) {
		return l, fmt.Errorf("%s has an assignment but its condition %s is not True", p.Name, evenkeel.ConditionScheduled)
	}
	if len(assignment.Engines) != 1 || len(assignment.Engines[0].Members) != 1 {
		return l, fmt.Errorf("%s has one engine of one member, its assignment has others: %+v", p.Name, assignment.Engines)
	}
	l.cluster, l.index = assignment.ClusterName, assignment.Index
	l.pool = assignment.Engines[0].Members[0].NodePoolName
	return l, nil
}
