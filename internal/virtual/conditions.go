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

package virtual

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// A Pod carries all conditions of its placement, not only the one that the scheduler reads: a status write replaces
// the whole list, so the writer must know the others.

// scheduledCondition returns the condition that tells whether a placement has a cluster, or nil.
func scheduledCondition(p *evenkeel.ReplicaPlacement) *metav1.Condition {
	return meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionScheduled)
}

// podConditions translates a placement's conditions, so that placementConditions gives them back.
func podConditions(conditions []metav1.Condition) []corev1.PodCondition {
	if len(conditions) == 0 {
		return nil
	}
	out := make([]corev1.PodCondition, 0, len(conditions))
	for _, condition := range conditions {
		out = append(out, corev1.PodCondition{
			Type:               podConditionType(condition.Type),
			Status:             corev1.ConditionStatus(condition.Status),
			ObservedGeneration: condition.ObservedGeneration,
			LastTransitionTime: condition.LastTransitionTime,
			Reason:             condition.Reason,
			Message:            condition.Message,
		})
	}
	return out
}

// placementConditions translates a Pod's conditions back.
func placementConditions(conditions []corev1.PodCondition) []metav1.Condition {
	out := make([]metav1.Condition, 0, len(conditions)+1)
	for _, condition := range conditions {
		out = append(out, metav1.Condition{
			Type:               placementConditionType(condition.Type),
			Status:             metav1.ConditionStatus(condition.Status),
			ObservedGeneration: condition.ObservedGeneration,
			LastTransitionTime: condition.LastTransitionTime,
			Reason:             condition.Reason,
			Message:            condition.Message,
		})
	}
	return out
}

func podConditionType(placementType string) corev1.PodConditionType {
	if placementType == evenkeel.ConditionScheduled {
		return corev1.PodScheduled
	}
	return corev1.PodConditionType(placementType)
}

func placementConditionType(podType corev1.PodConditionType) string {
	if podType == corev1.PodScheduled {
		return evenkeel.ConditionScheduled
	}
	return string(podType)
}

// findCondition returns the condition of a type, or nil.
func findCondition(conditions []corev1.PodCondition, conditionType corev1.PodConditionType) *corev1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == conditionType {
			return &conditions[i]
		}
	}
	return nil
}

// foreignChange returns the type of a condition, other than PodScheduled, that is new or differs.
func foreignChange(before, after []corev1.PodCondition) corev1.PodConditionType {
	for i := range after {
		if after[i].Type == corev1.PodScheduled {
			continue
		}
		was := findCondition(before, after[i].Type)
		if was == nil || !equality.Semantic.DeepEqual(*was, after[i]) {
			return after[i].Type
		}
	}
	return ""
}
