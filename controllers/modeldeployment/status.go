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

package modeldeployment

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// setPlacementStatus makes the manager's part of a placement's status exactly this; the scheduler's part stays as it is. It
// replaces the status on exactly the observed resourceVersion, which takes the API server less than to apply it: nobody
// but the scheduler and the manager writes it, and both do it so.
func (r *Reconciler) setPlacementStatus(ctx context.Context, d *modelplane.ModelDeployment, p *evenkeel.ReplicaPlacement, conditions []metav1.Condition, move *evenkeel.Move) error {
	return r.updateStatus(ctx, d, replicas.WithOwnStatus(p, conditions, move))
}

// setDeploymentStatus makes the deployment say how it stands, if it does not already.
func (r *Reconciler) setDeploymentStatus(ctx context.Context, d *modelplane.ModelDeployment, want replicas.DeploymentStatus) error {
	if sameStatus(&d.Status, want) {
		return nil
	}
	status := map[string]any{
		"replicas": map[string]any{"total": int64(want.Total), "ready": int64(want.Ready)},
	}
	if err := putConditions(status, want.Conditions); err != nil {
		return err
	}
	if err := r.applyStatus(ctx, d, status); err != nil {
		return stale(fmt.Errorf("write the deployment's status: %w", err))
	}
	return nil
}

func sameStatus(have *modelplane.ModelDeploymentStatus, want replicas.DeploymentStatus) bool {
	if have.Replicas == nil || have.Replicas.Total != want.Total || have.Replicas.Ready != want.Ready {
		return false
	}
	byType := map[string]metav1.Condition{}
	for _, c := range have.Conditions {
		byType[c.Type] = c
	}
	for _, c := range want.Conditions {
		old, found := byType[c.Type]
		if !found || old.Status != c.Status || old.Reason != c.Reason || old.Message != c.Message || old.ObservedGeneration != c.ObservedGeneration {
			return false
		}
	}
	return true
}

func putConditions(status map[string]any, conditions []metav1.Condition) error {
	list := make([]any, 0, len(conditions))
	for i := range conditions {
		c, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&conditions[i])
		if err != nil {
			return err
		}
		list = append(list, c)
	}
	if len(list) > 0 {
		status["conditions"] = list
	}
	return nil
}
