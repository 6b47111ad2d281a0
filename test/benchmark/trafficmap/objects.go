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

package trafficmap

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
	"github.com/evenkeel-io/evenkeel/test/benchmark/programs"
)

const (
	namespace = "default"

	// The two drains have names of the same length.
	drainID, bareID = "maintenance-a", "maintenance-b"
)

func clusterName(i int) string { return fmt.Sprintf("worker-%02d", i) }

// drained is the cluster that all services are drained from: one in the middle.
func (s shape) drained() string { return clusterName(s.clusters / 2) }

func createClusters(ctx context.Context, c client.Client, s shape) error {
	return harness.InParallel(ctx, s.clusters, func(ctx context.Context, i int) error {
		secret := corev1.SecretReference{Namespace: programs.Namespace, Name: clusterName(i)}
		return c.Create(ctx, &ome.WorkloadCluster{
			ObjectMeta: metav1.ObjectMeta{Name: clusterName(i)},
			Spec:       ome.WorkloadClusterSpec{ClusterSource: ome.ClusterSource{KubeConfig: &ome.KubeConfigSource{SecretRef: secret}}},
		})
	})
}

// createServices makes them and places them, as OME's placement does.
func createServices(ctx context.Context, c client.Client, s shape) error {
	return harness.InParallel(ctx, s.services, func(ctx context.Context, i int) error {
		isvc := service(i)
		if err := c.Create(ctx, isvc); err != nil {
			return err
		}
		isvc.Status.Placement = placement(s, i)
		return c.Status().Update(ctx, isvc)
	})
}

func serviceName(i int) string { return fmt.Sprintf("service-%04d", i) }

func service(i int) *ome.InferenceService {
	return &ome.InferenceService{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: serviceName(i)},
		Spec:       ome.InferenceServiceSpec{Placement: &ome.PlacementSpec{Mode: ome.PlacementAll, ClusterSelector: "accelerator=gpu"}},
	}
}

// placement gives a service between one and eight replicas on each cluster.
func placement(s shape, i int) *ome.PlacementStatus {
	const mostReplicas = 8
	status := &ome.PlacementStatus{Phase: ome.PlacementPlaced}
	for c := range s.clusters {
		replicas := int32(1 + (i+c)%mostReplicas)
		status.Candidates = append(status.Candidates, ome.PlacementCandidate{
			Cluster: clusterName(c), Phase: ome.CandidateAdmitted,
			Endpoint:         fmt.Sprintf("https://%s.%s.%s.example.com", serviceName(i), namespace, clusterName(c)),
			AdmittedReplicas: replicas, ReadyReplicas: replicas,
		})
	}
	return status
}

// drainAll sets the same annotation on every service, many at a time, and tells how long that took. Without an ID it
// takes the annotation away.
func drainAll(ctx context.Context, c client.Client, s shape, id string) (time.Duration, error) {
	patch, err := drainPatch(s, id)
	if err != nil {
		return 0, err
	}
	started := time.Now()
	err = harness.InParallel(ctx, s.services, func(ctx context.Context, i int) error {
		return c.Patch(ctx, service(i), client.RawPatch("application/merge-patch+json", patch))
	})
	if err != nil {
		return 0, fmt.Errorf("patch every service: %w", err)
	}
	return time.Since(started), nil
}

func drainPatch(s shape, id string) ([]byte, error) {
	var value any
	if id != "" {
		value = trafficdrain.Drains{{ID: id, Cluster: s.drained(), Reason: "planned maintenance"}}.Encode()
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{ome.TrafficDrainAnnotation: value}}})
}
