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
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Covers tells whether a budget is about pods with these labels in its namespace.
func Covers(budget *policyv1.PodDisruptionBudget, podLabels map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	return err == nil && budget.Spec.Selector != nil && selector.Matches(labels.Set(podLabels))
}

// Covering gives those of a namespace's budgets that are about pods with these labels.
func Covering(budgets []policyv1.PodDisruptionBudget, namespace string, podLabels map[string]string) []*policyv1.PodDisruptionBudget {
	var covering []*policyv1.PodDisruptionBudget
	for i := range budgets {
		if budgets[i].Namespace == namespace && Covers(&budgets[i], podLabels) {
			covering = append(covering, &budgets[i])
		}
	}
	return covering
}

// DesiredHealthy is how many of the expected pods a budget wants to be Ready, by the arithmetic of Kubernetes'
// disruption controller: percentages are rounded up.
func DesiredHealthy(budget *policyv1.PodDisruptionBudget, expected int32) (int32, error) {
	if most := budget.Spec.MaxUnavailable; most != nil {
		n, err := intstr.GetScaledValueFromIntOrPercent(most, int(expected), true)
		if err != nil {
			return 0, err
		}
		return max(0, expected-int32(n)), nil
	}
	if least := budget.Spec.MinAvailable; least != nil {
		n, err := intstr.GetScaledValueFromIntOrPercent(least, int(expected), true)
		return int32(n), err
	}
	return 0, nil
}

// Hopeless says why a budget would never allow an eviction even with every one of the replicas Ready; "" if it would.
func Hopeless(budget *policyv1.PodDisruptionBudget, replicas int32) string {
	if replicas == 0 {
		return ""
	}
	desired, err := DesiredHealthy(budget, replicas)
	if err != nil {
		return fmt.Sprintf("PodDisruptionBudget %s cannot be evaluated: %v", budget.Name, err)
	}
	if desired < replicas {
		return ""
	}
	return fmt.Sprintf("PodDisruptionBudget %s wants %d Ready of %d replicas, so no eviction is ever allowed and no drain of their nodes ends. Run at least %d replicas, or give it maxUnavailable: 1",
		budget.Name, desired, replicas, max(desired+1, 2))
}

// Answer is what the API server answers to an eviction.
type Answer string

const (
	// Allowed evicts the pod.
	Allowed Answer = "Allowed"
	// Refused is status 429: a budget does not allow it now.
	Refused Answer = "Refused"
	// Overlap is status 500: the pod is under more than one budget, and no retry will help.
	Overlap Answer = "Overlap"
)

// Evict tells how the API server answers to the eviction of a pod under these budgets, and which one refuses. With
// Allowed it takes the disruption from the budget's status, as the API server does.
func Evict(pod *corev1.Pod, covering []*policyv1.PodDisruptionBudget) (Answer, *policyv1.PodDisruptionBudget) {
	if ignoresBudgets(pod) || len(covering) == 0 {
		return Allowed, nil
	}
	if len(covering) > 1 {
		return Overlap, covering[1]
	}
	budget := covering[0]
	if !PodReady(pod) {
		policy := budget.Spec.UnhealthyPodEvictionPolicy
		if policy != nil && *policy == policyv1.AlwaysAllow {
			return Allowed, nil
		}
		if s := &budget.Status; s.CurrentHealthy >= s.DesiredHealthy && s.DesiredHealthy > 0 {
			return Allowed, nil
		}
	}
	// A status that is older than the spec counts for nothing.
	if budget.Status.ObservedGeneration < budget.Generation || budget.Status.DisruptionsAllowed <= 0 {
		return Refused, budget
	}
	budget.Status.DisruptionsAllowed--
	return Allowed, nil
}

// ignoresBudgets is for pods that no budget protects: over, on their way out, or not running anywhere yet.
func ignoresBudgets(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded ||
		pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodPending
}

// PodReady tells whether a pod serves.
func PodReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// NeverReady tells that the pods look like those of a component of which only a leader becomes Ready: one is, and all
// others have run for a while without a crash and are not.
func NeverReady(pods []*corev1.Pod, ranFor func(*corev1.Pod) bool) bool {
	ready, held := 0, 0
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
			return false
		case PodReady(pod):
			ready++
		case pod.Status.Phase == corev1.PodRunning && restarts(pod) == 0 && running(pod) && ranFor(pod):
			held++
		default:
			return false
		}
	}
	return ready == 1 && held > 0
}

func restarts(pod *corev1.Pod) int32 {
	var n int32
	for i := range pod.Status.ContainerStatuses {
		n += pod.Status.ContainerStatuses[i].RestartCount
	}
	return n
}

func running(pod *corev1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].State.Running == nil {
			return false
		}
	}
	return len(pod.Status.ContainerStatuses) > 0
}
