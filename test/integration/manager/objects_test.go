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

package manager

import (
	"maps"
	"strconv"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/standin"
)

const atLeast80Gi = `device.capacity["gpu.acme.test"].memory.compareTo(quantity("80Gi")) >= 0`

// pool is a node pool whose nodes have one 96Gi device each.
func pool(name string, nodes int64) modelplane.GPUPool {
	return modelplane.GPUPool{Name: name, Nodes: nodes, Devices: []modelplane.Device{device("gpu", "96Gi")}}
}

func device(name, memory string) modelplane.Device {
	return modelplane.Device{
		Name: name, Claim: modelplane.DeviceClaimDRA, Driver: "gpu.acme.test", DeviceClassName: "gpu.acme.test", Count: ptr.To[int64](1),
		Capacity: map[string]modelplane.DeviceCapacity{"memory": {Value: memory}},
	}
}

type clusterOption func(*modelplane.InferenceCluster)

func taints(list ...modelplane.Taint) clusterOption {
	return func(c *modelplane.InferenceCluster) { c.Spec.Taints = list }
}

func labels(m map[string]string) clusterOption {
	return func(c *modelplane.InferenceCluster) { c.Labels = maps.Clone(m) }
}

func pools(list ...modelplane.GPUPool) clusterOption {
	return func(c *modelplane.InferenceCluster) { c.Status.GPUPools = list }
}

func notReady(c *modelplane.InferenceCluster) {
	c.Status.Conditions[0].Status = metav1.ConditionFalse
}

func noGateway(c *modelplane.InferenceCluster) { c.Status.Gateway = nil }

func noStatus(c *modelplane.InferenceCluster) { c.Status = modelplane.InferenceClusterStatus{} }

// failing keeps the replicas on a cluster from getting ready.
func failing(c *modelplane.InferenceCluster) {
	c.Annotations = map[string]string{standin.AnnotationFail: "by the test"}
}

// refuses checks that the API server does not take a cluster.
func (w *world) refuses(id string, options ...clusterOption) {
	w.t.Helper()
	err := hub.Client.Create(w.ctx, clusterFor("east", 1, options...))
	require.True(w.t, apierrors.IsInvalid(err), "%s: %v", id, err)
}

// cluster makes an InferenceCluster that is Ready, with gateway 192.0.2.1 and pool h of the given nodes.
func (w *world) cluster(name string, nodes int64, options ...clusterOption) *modelplane.InferenceCluster {
	w.t.Helper()
	c := clusterFor(name, nodes, options...)
	status := c.Status.DeepCopy()
	require.NoError(w.t, hub.Client.Create(w.ctx, c))
	w.setClusterStatus(name, func(live *modelplane.InferenceCluster) {
		reported := live.Status.Conditions // by the manager, which has seen the cluster already
		live.Status = *status.DeepCopy()
		for _, condition := range reported {
			if meta.FindStatusCondition(live.Status.Conditions, condition.Type) == nil {
				live.Status.Conditions = append(live.Status.Conditions, condition)
			}
		}
		c = live
	})
	return c
}

func clusterFor(name string, nodes int64, options ...clusterOption) *modelplane.InferenceCluster {
	c := &modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: modelplane.InferenceClusterSpec{Cluster: modelplane.ClusterSpec{
			Source:   modelplane.ClusterSourceExisting,
			Existing: &modelplane.ExistingCluster{SecretRef: modelplane.SecretKeyReference{Name: name, Key: "kubeconfig"}},
		}},
		Status: modelplane.InferenceClusterStatus{
			Conditions: []metav1.Condition{{
				Type: modelplane.ConditionReady, Status: metav1.ConditionTrue, Reason: "Available", LastTransitionTime: metav1.Now(),
			}},
			Gateway:  &modelplane.Gateway{Address: "192.0.2.1"},
			GPUPools: []modelplane.GPUPool{pool("h", nodes)},
		},
	}
	for _, option := range options {
		option(c)
	}
	return c
}

func (w *world) setTaints(name string, list ...modelplane.Taint) {
	w.t.Helper()
	update(w, &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(c *modelplane.InferenceCluster) {
		c.Spec.Taints = list
	})
}

func (w *world) setClusterStatus(name string, change func(*modelplane.InferenceCluster)) {
	w.t.Helper()
	w.eventually(func() string {
		c := &modelplane.InferenceCluster{}
		if err := hub.Client.Get(w.ctx, client.ObjectKey{Name: name}, c); err != nil {
			return err.Error()
		}
		change(c)
		if err := hub.Client.Status().Update(w.ctx, c); err != nil {
			return err.Error()
		}
		return ""
	})
}

func engine(name string, selectors ...string) modelplane.Engine {
	request := modelplane.DeviceRequest{Name: "gpu", Count: ptr.To[int64](1)}
	for _, s := range selectors {
		request.Selectors = append(request.Selectors, modelplane.DeviceSelector{CEL: s})
	}
	return modelplane.Engine{Name: name, Copies: ptr.To[int32](1), Members: []modelplane.Member{{
		Role:         modelplane.MemberRoleStandalone,
		NodeSelector: &modelplane.NodeSelector{Devices: []modelplane.DeviceRequest{request}},
		Template: &modelplane.MemberTemplate{Spec: &modelplane.MemberPodSpec{
			Containers: []modelplane.Container{{Name: "engine", Image: "registry.example/engine:1"}},
		}},
	}}}
}

type deploymentOption func(*modelplane.ModelDeployment)

func engines(list ...modelplane.Engine) deploymentOption {
	return func(d *modelplane.ModelDeployment) { d.Spec.Template.Spec.Engines = list }
}

func tolerations(list ...modelplane.Toleration) deploymentOption {
	return func(d *modelplane.ModelDeployment) { d.Spec.Template.Spec.Tolerations = list }
}

func selector(m map[string]string) deploymentOption {
	return func(d *modelplane.ModelDeployment) {
		d.Spec.Template.Spec.ClusterSelector = &modelplane.LabelSelector{MatchLabels: m}
	}
}

func cachedBy(name string) deploymentOption {
	return func(d *modelplane.ModelDeployment) {
		d.Spec.Template.Spec.ModelCacheRef = &modelplane.NameReference{Name: name}
	}
}

func deploymentFor(namespace, name string, replicas int32, options ...deploymentOption) *modelplane.ModelDeployment {
	d := &modelplane.ModelDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: modelplane.ModelDeploymentSpec{
			Replicas: replicas,
			Template: modelplane.ModelDeploymentTemplate{Spec: modelplane.ModelDeploymentTemplateSpec{
				SchedulerName: "evenkeel",
				Engines:       []modelplane.Engine{engine("main", atLeast80Gi)},
			}},
		},
	}
	for _, option := range options {
		option(d)
	}
	return d
}

// deploy makes a ModelDeployment with one engine that wants a device of 80Gi.
func (w *world) deploy(name string, replicas int32, options ...deploymentOption) *modelplane.ModelDeployment {
	w.t.Helper()
	d := deploymentFor(w.namespace, name, replicas, options...)
	require.NoError(w.t, hub.Client.Create(w.ctx, d))
	return d
}

// edit changes a deployment.
func (w *world) edit(name string, change func(*modelplane.ModelDeployment)) {
	w.t.Helper()
	update(w, &modelplane.ModelDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}, change)
}

func (w *world) scale(name string, replicas int32) {
	w.t.Helper()
	w.edit(name, func(d *modelplane.ModelDeployment) { d.Spec.Replicas = replicas })
}

type replicaOption func(*modelplane.ModelReplica)

func named(name string) replicaOption {
	return func(r *modelplane.ModelReplica) { r.Name = name }
}

func indexLabel(value string) replicaOption {
	return func(r *modelplane.ModelReplica) { r.Labels[modelplane.LabelReplicaIndex] = value }
}

// existing makes a replica as Modelplane would have made it: one engine main on the pool.
func (w *world) existing(deployment, cluster string, index int32, onPool string, options ...replicaOption) *modelplane.ModelReplica {
	w.t.Helper()
	r := &modelplane.ModelReplica{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace,
			Name:      placement.ReplicaName(deployment, cluster, index),
			Labels: map[string]string{
				modelplane.LabelDeployment:   deployment,
				modelplane.LabelCluster:      cluster,
				modelplane.LabelReplicaIndex: strconv.Itoa(int(index)),
			},
		},
		Spec: modelplane.ModelReplicaSpec{
			ClusterName: cluster,
			Engines: []modelplane.ReplicaEngine{{Name: "main", Copies: ptr.To[int32](1), Members: []modelplane.ReplicaMember{{
				Role:         modelplane.MemberRoleStandalone,
				NodePoolName: onPool,
				DeviceRequests: []modelplane.ReplicaDeviceRequest{{
					Name: "gpu", DeviceClassName: "gpu.acme.test", Count: ptr.To[int64](1),
					Selectors: []modelplane.DeviceSelector{{CEL: atLeast80Gi}},
				}},
			}}}},
		},
	}
	for _, option := range options {
		option(r)
	}
	require.NoError(w.t, hub.Client.Create(w.ctx, r))
	return r
}
