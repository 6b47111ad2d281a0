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

package inferencecluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// apply makes these the conditions that the controller has in a cluster's status. The list is keyed by type, so that
// those of others are not touched. The UID keeps a report about one cluster from a later one of its name.
func (r *Reconciler) apply(ctx context.Context, cluster *modelplane.InferenceCluster, conditions ...*metav1.Condition) error {
	status := map[string]any{}
	if len(conditions) > 0 {
		list := make([]any, 0, len(conditions))
		for _, c := range conditions {
			converted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c)
			if err != nil {
				return err
			}
			list = append(list, converted)
		}
		status["conditions"] = list
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": modelplane.GroupVersion.String(),
		"kind":       "InferenceCluster",
		"metadata":   map[string]any{"name": cluster.Name, "uid": string(cluster.UID)},
		"status":     status,
	}}
	err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(FieldManager), client.ForceOwnership)
	return client.IgnoreNotFound(err)
}
