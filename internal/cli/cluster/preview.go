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

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
)

// preview shows which replicas are on the cluster.
func (d *drainAction) preview(ctx context.Context, client dynamic.Interface, cluster *modelplane.InferenceCluster, _ modelplane.Taint) error {
	onCluster, err := cli.List[modelplane.ModelReplica](ctx, client.Resource(replicas),
		metav1.ListOptions{LabelSelector: modelplane.LabelCluster + "=" + cluster.Name})
	if err != nil {
		return fmt.Errorf("list modelreplicas: %w", err)
	}
	counts := map[types.NamespacedName]int{}
	for i := range onCluster {
		counts[types.NamespacedName{Namespace: onCluster[i].Namespace, Name: onCluster[i].Labels[modelplane.LabelDeployment]}]++
	}
	if _, err := fmt.Fprintf(d.Out, "%s on %s\n", count(len(onCluster), "replica is", "replicas are"), cluster.Name); err != nil {
		return err
	}
	for _, key := range slices.SortedFunc(maps.Keys(counts), func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) }) {
		if _, err := fmt.Fprintf(d.Out, "  %s: %d\n", key, counts[key]); err != nil {
			return err
		}
	}
	return nil
}
