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

package systemnodes

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// Snapshot is what a cluster holds.
type Snapshot struct {
	Nodes       []corev1.Node
	Pods        []corev1.Pod
	Deployments []appsv1.Deployment
	Budgets     []policyv1.PodDisruptionBudget
}

// workload is a Deployment of the serving path.
type workload struct {
	deployment *appsv1.Deployment
	component  *servingpath.Component
	selector   labels.Selector
}

func (w *workload) owns(pod *corev1.Pod) bool {
	return pod.Namespace == w.deployment.Namespace && w.selector.Matches(labels.Set(pod.Labels))
}

func (w *workload) wanted() int32 { return ptr.Deref(w.deployment.Spec.Replicas, 1) }

// counts tells whether requests fail, or cannot be helped, while none of it is Ready.
func (w *workload) counts() bool { return w.component.OnRequestPath || w.component.RecoveryDependency }

func workloads(s *Snapshot, catalogue *servingpath.Catalogue) []*workload {
	var list []*workload
	for i := range s.Deployments {
		d := &s.Deployments[i]
		component := catalogue.ForDeployment(d)
		if component == nil {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		if err != nil {
			continue // the API server has checked it
		}
		list = append(list, &workload{deployment: d, component: component, selector: selector})
	}
	return list
}

// world is a copy of a snapshot that drains are played on.
type world struct {
	nodes       []*corev1.Node
	pods        []*corev1.Pod
	budgets     []policyv1.PodDisruptionBudget
	deployments []appsv1.Deployment // only read
	made        int                 // pods made here, for their names
}

func newWorld(s *Snapshot) *world {
	w := &world{deployments: s.Deployments}
	for i := range s.Nodes {
		w.nodes = append(w.nodes, s.Nodes[i].DeepCopy())
	}
	for i := range s.Pods {
		pod := &s.Pods[i]
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed && pod.DeletionTimestamp == nil {
			w.pods = append(w.pods, pod.DeepCopy())
		}
	}
	for i := range s.Budgets {
		w.budgets = append(w.budgets, *s.Budgets[i].DeepCopy())
	}
	return w
}

func (w *world) node(name string) *corev1.Node {
	i := slices.IndexFunc(w.nodes, func(n *corev1.Node) bool { return n.Name == name })
	return w.nodes[i]
}

// cordon does what kubectl does, and what the node controller adds to it.
func (w *world) cordon(name string, cordoned bool) {
	node := w.node(name)
	node.Spec.Unschedulable = cordoned
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
	if cordoned {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
}

// on gives the pods of a node that a drain evicts: those of DaemonSets and of the node's own files stay.
func (w *world) on(node string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range w.pods {
		if pod.Spec.NodeName != node {
			continue
		}
		_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
		owner := metav1.GetControllerOf(pod)
		if !mirror && (owner == nil || owner.Kind != "DaemonSet") {
			pods = append(pods, pod)
		}
	}
	return pods
}

// replace takes an evicted pod away and, if something makes it anew, adds what takes its place, which is Pending.
func (w *world) replace(pod *corev1.Pod) {
	w.pods = slices.DeleteFunc(w.pods, func(p *corev1.Pod) bool { return p == pod })
	if metav1.GetControllerOf(pod) == nil {
		return
	}
	w.made++
	anew := pod.DeepCopy()
	anew.Name = pod.Name + "-again"
	anew.UID = ""
	anew.Spec.NodeName = ""
	anew.Status = corev1.PodStatus{Phase: corev1.PodPending}
	w.pods = append(w.pods, anew)
}

// updateBudgets does what the disruption controller does.
func (w *world) updateBudgets() {
	for i := range w.budgets {
		budget := &w.budgets[i]
		var healthy, count int32
		for _, pod := range w.pods {
			if pod.Namespace == budget.Namespace && servingpath.Covers(budget, pod.Labels) {
				count++
				if servingpath.PodReady(pod) {
					healthy++
				}
			}
		}
		desired, err := servingpath.DesiredHealthy(budget, max(count, w.expected(budget)))
		if err != nil {
			continue // its status says already that nothing is allowed
		}
		budget.Status.CurrentHealthy, budget.Status.DesiredHealthy = healthy, desired
		budget.Status.DisruptionsAllowed = max(0, healthy-desired)
	}
}

func (w *world) expected(budget *policyv1.PodDisruptionBudget) int32 {
	var expected int32
	for i := range w.deployments {
		if d := &w.deployments[i]; d.Namespace == budget.Namespace && servingpath.Covers(budget, d.Spec.Template.Labels) {
			expected += ptr.Deref(d.Spec.Replicas, 1)
		}
	}
	return expected
}

func (w *world) ready(of *workload) int {
	n := 0
	for _, pod := range w.pods {
		if of.owns(pod) && servingpath.PodReady(pod) {
			n++
		}
	}
	return n
}
