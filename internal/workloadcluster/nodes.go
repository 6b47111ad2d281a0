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

package workloadcluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// kwok plays the kubelets of nodes with this annotation.
const (
	managedBy = "kwok.x-k8s.io/node"
	managed   = "fake"
)

func newNode(name, pool, zone string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:        name,
		Annotations: map[string]string{managedBy: managed},
		Labels: map[string]string{
			corev1.LabelHostname:     name,
			corev1.LabelTopologyZone: zone,
			"modelplane.ai/pool":     pool,
		},
	}}
}

func gpuNode(name string) *corev1.Node {
	node := newNode(name, "h100", "zone-1")
	node.Labels["nvidia.com/gpu.present"] = "true"
	node.Spec.Taints = []corev1.Taint{{Key: "nvidia.com/gpu", Value: "true", Effect: corev1.TaintEffectNoSchedule}}
	return node
}

// AddSystemNode makes a node without a GPU, as a cloud that replaces one does.
func (c *Cluster) AddSystemNode(ctx context.Context, name string) error {
	return c.addNode(ctx, newNode(name, "system", "zone-1"))
}

func (c *Cluster) addNode(ctx context.Context, node *corev1.Node) error {
	if err := c.Client.Create(ctx, node); err != nil {
		return fmt.Errorf("create node %s: %w", node.Name, err)
	}
	return c.setStatus(ctx, node.Name, func(s *corev1.NodeStatus) {
		s.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("4"),
			corev1.ResourceMemory: resource.MustParse("16Gi"),
			corev1.ResourcePods:   resource.MustParse("500"),
		}
		s.Capacity = s.Allocatable
	})
}

func (c *Cluster) setStatus(ctx context.Context, name string, change func(*corev1.NodeStatus)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node := &corev1.Node{}
		if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
			return err
		}
		change(&node.Status)
		return c.Client.Status().Update(ctx, node)
	})
}

// StopNode ends a node's kubelet: the node is not Ready from then on.
func (c *Cluster) StopNode(ctx context.Context, name string) error {
	if err := c.setManaged(ctx, name, nil); err != nil {
		return err
	}
	return c.setStatus(ctx, name, func(s *corev1.NodeStatus) {
		for i := range s.Conditions {
			if s.Conditions[i].Type == corev1.NodeReady {
				s.Conditions[i].Status, s.Conditions[i].Reason = corev1.ConditionFalse, "KubeletStopped"
			}
		}
	})
}

// StartNode starts a node's kubelet again and waits until it is Ready.
func (c *Cluster) StartNode(ctx context.Context, name string) error {
	if err := c.setManaged(ctx, name, managed); err != nil {
		return err
	}
	return c.await(ctx, "node "+name+" to be Ready", func(ctx context.Context) (bool, error) {
		node := &corev1.Node{}
		err := c.Client.Get(ctx, client.ObjectKey{Name: name}, node)
		return err == nil && allReady([]corev1.Node{*node}), err
	})
}

func (c *Cluster) setManaged(ctx context.Context, name string, value any) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, managedBy)
	if value != nil {
		patch = fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, managedBy, value)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	return c.Client.Patch(ctx, node, client.RawPatch("application/merge-patch+json", []byte(patch)))
}

// allReady tells whether all nodes are Ready and free of the taints that a node controller puts on those that are not.
func allReady(nodes []corev1.Node) bool {
	for i := range nodes {
		if !servingpath.NodeReady(&nodes[i]) {
			return false
		}
		for _, taint := range nodes[i].Spec.Taints {
			if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
				return false
			}
		}
	}
	return true
}
