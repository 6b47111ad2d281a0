//go:build integration

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

package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// smallFleet is a namespace with one deployment, and clusters that only this deployment selects. Many of them share a hub
// without getting into each other's way.
type smallFleet struct {
	name   string
	random *rand.Rand
}

func (f *smallFleet) cluster(i int) string { return fmt.Sprintf("%s-%d", f.name, i) }

// create makes the deployment, and a first cluster with room for all its replicas.
func (f *smallFleet) create(t *testing.T) {
	t.Helper()
	replicas := 1 + f.random.Int32N(4)
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.name}})
	f.createCluster(t, 0, int64(replicas))
	f.createPolicy(t)
	create(t, &modelplane.ModelDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.name, Name: "chat"},
		Spec: modelplane.ModelDeploymentSpec{
			Replicas: replicas,
			Template: modelplane.ModelDeploymentTemplate{Spec: modelplane.ModelDeploymentTemplateSpec{
				SchedulerName:   evenkeel.DefaultSchedulerName,
				ClusterSelector: &modelplane.LabelSelector{MatchLabels: map[string]string{"fleet": f.name}},
				Engines: []modelplane.Engine{{Name: "main", Copies: ptr.To[int32](1), Members: []modelplane.Member{{
					Role: modelplane.MemberRoleStandalone,
					NodeSelector: &modelplane.NodeSelector{Devices: []modelplane.DeviceRequest{{
						Name: "gpu", Count: ptr.To[int64](1), Selectors: []modelplane.DeviceSelector{{CEL: `device.capacity["gpu.acme.test"].memory.compareTo(quantity("80Gi")) >= 0`}},
					}}},
					Template: &modelplane.MemberTemplate{Spec: &modelplane.MemberPodSpec{
						Containers: []modelplane.Container{{Name: "engine", Image: "registry.example/engine:1"}},
					}},
				}}}},
			}},
		},
	})
}

// createPolicy lets some fleets hold what has nowhere to go, and some make before they break.
func (f *smallFleet) createPolicy(t *testing.T) {
	t.Helper()
	p := &evenkeel.DisruptionPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: f.name, Name: "careful"}}
	p.Spec.Selector = &metav1.LabelSelector{}
	switch f.random.IntN(3) {
	case 0:
		return
	case 1:
		p.Spec.WhenUnplaceable = evenkeel.WhenUnplaceableHold
	case 2:
		p.Spec.Strategy = evenkeel.StrategyMakeBeforeBreak
	}
	create(t, p)
}

// grow adds clusters with a little room each.
func (f *smallFleet) grow(t *testing.T) {
	t.Helper()
	for i := range 1 + f.random.IntN(3) {
		f.createCluster(t, i+1, f.random.Int64N(3))
	}
}

func (f *smallFleet) createCluster(t *testing.T, number int, nodes int64) {
	t.Helper()
	name := f.cluster(number)
	c := &modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"fleet": f.name}},
		Spec: modelplane.InferenceClusterSpec{Cluster: modelplane.ClusterSpec{
			Source:   modelplane.ClusterSourceExisting,
			Existing: &modelplane.ExistingCluster{SecretRef: modelplane.SecretKeyReference{Name: name, Key: "kubeconfig"}},
		}},
	}
	create(t, c)
	patch(t, c, true, map[string]any{"status": map[string]any{
		"conditions": []any{map[string]any{
			"type": modelplane.ConditionReady, "status": "True", "reason": "Available", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
		}},
		"gateway": map[string]any{"address": "192.0.2.1"},
		"gpuPools": []any{map[string]any{"name": "h", "nodes": nodes, "devices": []any{map[string]any{
			"name": "gpu", "claim": "DRA", "driver": "gpu.acme.test", "deviceClassName": "gpu.acme.test", "count": 1,
			"capacity": map[string]any{"memory": map[string]any{"value": "96Gi"}},
		}}}},
	}})
}

func create(t *testing.T, o client.Object) {
	t.Helper()
	require.NoError(t, hub.Client.Create(t.Context(), o))
}
