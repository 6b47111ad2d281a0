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
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// maxPods is how many replicas a cluster may hold as far as counting pods goes: more than any fleet has. What limits a
// cluster is its pools.
const maxPods = 1_000_000

var poolsCodec = newCodec(parsePools)

// NodeFor translates a cluster. The Node shares no memory with the cluster that either might change.
//
// Taints are passed on as they are, also those with a key or value that the API server would refuse on a Node: nothing
// validates a Node in memory, and native toleration matching compares plain strings.
func NodeFor(cluster *modelplane.InferenceCluster) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourcePods: *resource.NewQuantity(maxPods, resource.DecimalSI),
		ResourceNodes:       *resource.NewQuantity(publishedNodes(cluster.Status.GPUPools), resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:              cluster.Name,
			UID:               cluster.UID,
			ResourceVersion:   cluster.ResourceVersion,
			Generation:        cluster.Generation,
			CreationTimestamp: cluster.CreationTimestamp,
			DeletionTimestamp: cluster.DeletionTimestamp.DeepCopy(),
			Labels:            copyMap(cluster.Labels, 0),
			Annotations:       nodeAnnotations(cluster),
		},
		Spec: corev1.NodeSpec{Taints: nodeTaints(cluster.Spec.Taints)},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: conditionStatus(placement.Ready(cluster))},
				{Type: NodeConditionRoutable, Status: conditionStatus(placement.Routable(cluster))},
			},
		},
	}
}

// PoolsOf returns the pools that a Node's cluster publishes, none for a Node without the annotation. The result is
// shared and immutable.
func PoolsOf(node *corev1.Node) (*placement.Pools, error) {
	text, ok := node.Annotations[AnnotationPools]
	if !ok {
		text = "null"
	}
	pools, err := poolsCodec.decode(text)
	if err != nil {
		return nil, fmt.Errorf("node %q: annotation %s: %w", node.Name, AnnotationPools, err)
	}
	return pools, nil
}

func parsePools(text string) (*placement.Pools, error) {
	pools, err := parseJSON[[]modelplane.GPUPool](text)
	if err != nil {
		return nil, err
	}
	return placement.PreparePools(*pools), nil
}

func nodeTaints(taints []modelplane.Taint) []corev1.Taint {
	if len(taints) == 0 {
		return nil
	}
	out := make([]corev1.Taint, 0, len(taints))
	for _, taint := range taints {
		out = append(out, corev1.Taint{
			Key:       taint.Key,
			Value:     taint.Value,
			Effect:    corev1.TaintEffect(taint.Effect),
			TimeAdded: taint.TimeAdded.DeepCopy(),
		})
	}
	return out
}

// nodeAnnotations keeps what a plugin might read and leaves out what tools write at every turn, since each changed
// annotation wakes pending placements.
func nodeAnnotations(cluster *modelplane.InferenceCluster) map[string]string {
	out := make(map[string]string, 1)
	for key, value := range cluster.Annotations {
		if key == corev1.LastAppliedConfigAnnotation || strings.HasPrefix(key, "crossplane.io/") {
			continue
		}
		out[key] = value
	}
	out[AnnotationPools] = poolsCodec.encode(cluster.Status.GPUPools)
	delete(out, AnnotationCacheStorage)
	if cache := cluster.Status.Cache; cache != nil && cache.StorageClassName != "" {
		out[AnnotationCacheStorage] = cache.StorageClassName
	}
	return out
}

func publishedNodes(pools []modelplane.GPUPool) int64 {
	var sum int64
	for _, pool := range pools {
		if pool.Nodes <= 0 {
			continue
		}
		if pool.Nodes > math.MaxInt64-sum {
			return math.MaxInt64
		}
		sum += pool.Nodes
	}
	return sum
}

func conditionStatus(is bool) corev1.ConditionStatus {
	if is {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// copyMap copies a map and leaves room for extra keys.
func copyMap(in map[string]string, extra int) map[string]string {
	if len(in)+extra == 0 {
		return nil
	}
	out := make(map[string]string, len(in)+extra)
	for key, value := range in {
		out[key] = value
	}
	return out
}
