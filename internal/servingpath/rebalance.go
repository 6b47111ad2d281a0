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

package servingpath

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// Move is an eviction that spreads a component's replicas better.
type Move struct {
	Pod *corev1.Pod
	// To is a node that would take the replacement now; the scheduler decides.
	To     string
	Reason string
}

// Rebalance gives the one eviction that would spread a workload's pods better, or nil. pods are all of the workload's,
// nodes all of the cluster's, and running all pods by node. The workload must be settled: every replica Ready, no
// rollout under way.
func (c *Catalogue) Rebalance(pods []*corev1.Pod, nodes []*corev1.Node, running map[string][]*corev1.Pod) *Move {
	used := map[string]bool{}
	for _, pod := range pods {
		if !PodReady(pod) || pod.DeletionTimestamp != nil {
			return nil
		}
		used[pod.Spec.NodeName] = true
	}
	if len(pods) < 2 {
		return nil // the only replica is never evicted
	}
	youngestFirst := slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, pod := range youngestFirst {
		if at := findNode(nodes, pod.Spec.NodeName); at != nil && c.IsFallback(at) {
			if to := c.roomFor(pod, nodes, used, running); to != "" {
				return &Move{Pod: pod, To: to, Reason: fmt.Sprintf("it fell back to node %s, and system node %s takes it again", at.Name, to)}
			}
		}
	}
	if len(used) > 1 {
		return nil
	}
	pod := youngestFirst[0]
	if to := c.roomFor(pod, nodes, used, running); to != "" {
		return &Move{Pod: pod, To: to, Reason: fmt.Sprintf("all %d replicas are on node %s, and node %s would take one", len(pods), pod.Spec.NodeName, to)}
	}
	return nil
}

// IsFallback tells whether a node is one on which serving-path pods are only for want of a better one.
func (c *Catalogue) IsFallback(node *corev1.Node) bool {
	for i := range node.Spec.Taints {
		for j := range c.fallback.Tolerations {
			if c.fallback.Tolerations[j].ToleratesTaint(klog.Background(), &node.Spec.Taints[i], false) {
				return true
			}
		}
	}
	return false
}

// roomFor gives the first node by name, no fallback node and not in use, that would take a pod.
func (c *Catalogue) roomFor(pod *corev1.Pod, nodes []*corev1.Node, used map[string]bool, running map[string][]*corev1.Pod) string {
	best := ""
	for _, node := range nodes {
		if !used[node.Name] && !c.IsFallback(node) && (best == "" || node.Name < best) && takes(node, pod, running[node.Name]) {
			best = node.Name
		}
	}
	return best
}

func takes(node *corev1.Node, pod *corev1.Pod, there []*corev1.Pod) bool {
	if node.Spec.Unschedulable || node.DeletionTimestamp != nil || !NodeReady(node) {
		return false
	}
	_, untolerated := v1helper.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations,
		func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }, false)
	if untolerated {
		return false
	}
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !ok {
		return false
	}
	return fits(node, pod, there)
}

func fits(node *corev1.Node, pod *corev1.Pod, there []*corev1.Pod) bool {
	var options resourcehelper.PodResourcesOptions
	free := node.Status.Allocatable.DeepCopy()
	pods := free[corev1.ResourcePods]
	if pods.CmpInt64(int64(len(there))) <= 0 {
		return false
	}
	for _, other := range there {
		for name, quantity := range resourcehelper.PodRequests(other, options) {
			left := free[name]
			left.Sub(quantity)
			free[name] = left
		}
	}
	for name, quantity := range resourcehelper.PodRequests(pod, options) {
		if left := free[name]; left.Cmp(quantity) < 0 {
			return false
		}
	}
	return true
}

// NodeReady tells whether a node's kubelet says that it is.
func NodeReady(node *corev1.Node) bool {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func findNode(nodes []*corev1.Node, name string) *corev1.Node {
	i := slices.IndexFunc(nodes, func(n *corev1.Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return nodes[i]
}
