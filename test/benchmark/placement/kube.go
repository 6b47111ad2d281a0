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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

// kubeSide is kube-scheduler, which binds pods to Nodes. A Node stands for a cluster:
// it has an extended resource for each kind of hardware, and a pod requests one of
// that, as a replica takes one node of a pool.
type kubeSide struct{}

// extendedResource of a kind, counted in nodes of a pool.
func extendedResource(k kind) corev1.ResourceName {
	return corev1.ResourceName("bench.evenkeel.io/" + k.pool)
}

func (kubeSide) name() string   { return kubeName }
func (kubeSide) binary() string { return "k8s/kube-scheduler" }

func (kubeSide) user() string { return "system:kube-scheduler" }

// credentials are a certificate, as kube-scheduler has it on the machine of a control
// plane.
func (s kubeSide) credentials(_ context.Context, cp *controlplane.ControlPlane) (*rest.Config, error) {
	return cp.AddUser(s.user())
}

// prepare does nothing: every API server has what kube-scheduler needs.
func (kubeSide) prepare(context.Context, *harness.Environment, *controlplane.ControlPlane, client.Client) error {
	return nil
}

func (kubeSide) createTarget(ctx context.Context, c client.Client, i int) error {
	return c.Create(ctx, node(i))
}

func node(i int) *corev1.Node {
	allocatable := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("192"),
		corev1.ResourceMemory:           resource.MustParse("2Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
	for _, k := range kinds {
		allocatable[extendedResource(k)] = *resource.NewQuantity(roomPerKind, resource.DecimalSI)
	}
	now := metav1.Now()
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: clusterName(i),
			Labels: map[string]string{
				corev1.LabelHostname:       clusterName(i),
				corev1.LabelTopologyRegion: regionOf(i),
				corev1.LabelTopologyZone:   regionOf(i) + "-a",
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    allocatable,
			Allocatable: allocatable,
			Conditions: []corev1.NodeCondition{{
				Type:               corev1.NodeReady,
				Status:             corev1.ConditionTrue,
				Reason:             "KubeletReady",
				LastHeartbeatTime:  now,
				LastTransitionTime: now,
			}},
		},
	}
}

func (kubeSide) createReplica(ctx context.Context, c client.Client, r replica) error {
	return c.Create(ctx, pod(r))
}

func pod(r replica) *corev1.Pod {
	resources := corev1.ResourceList{
		corev1.ResourceCPU:       resource.MustParse("2"),
		corev1.ResourceMemory:    resource.MustParse("16Gi"),
		extendedResource(r.kind): resource.MustParse("1"),
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:      r.name(),
			Namespace: namespace,
			Labels:    map[string]string{"app": r.deployment},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name:      "engine",
				Image:     "registry.example.com/engine:v1",
				Resources: corev1.ResourceRequirements{Requests: resources, Limits: resources},
			}},
		},
	}
}

func (kubeSide) isCreate(r *harness.Request) bool {
	return r.Verb == "create" && r.Group == "" && r.Resource == "pods" && r.Subresource == ""
}

func (kubeSide) isBind(r *harness.Request) bool {
	return r.Verb == "create" && r.Group == "" && r.Resource == "pods" && r.Subresource == "binding"
}

func (kubeSide) verify(ctx context.Context, c client.Client, s shape) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list the pods: %w", err)
	}
	all := make([]landed, 0, len(pods.Items))
	for i := range pods.Items {
		all = append(all, landedPod(&pods.Items[i]))
	}
	return checkLanded(s, all)
}

func landedPod(p *corev1.Pod) landed {
	l := landed{name: p.Name, deployment: p.Labels["app"], cluster: p.Spec.NodeName}
	for _, k := range kinds {
		if _, ok := p.Spec.Containers[0].Resources.Requests[extendedResource(k)]; ok {
			l.pool = k.pool
		}
	}
	return l
}
