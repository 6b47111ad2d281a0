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

package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

const (
	testDriver = "gpu.example.com"
	testTaint  = "modelplane.ai/maintenance"
)

var testNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// testCluster is ready and has one pool of nodes with eight GPUs each.
func testCluster(name string, nodes int64) modelplane.InferenceCluster {
	return modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1", Labels: map[string]string{"name": name}},
		Status: modelplane.InferenceClusterStatus{
			Conditions: []metav1.Condition{{Type: modelplane.ConditionReady, Status: metav1.ConditionTrue}},
			Gateway:    &modelplane.Gateway{Address: "203.0.113.1"},
			GPUPools: []modelplane.GPUPool{{Name: "h100", Nodes: nodes, Devices: []modelplane.Device{{
				Name: "gpu", Claim: modelplane.DeviceClaimDRA, Driver: testDriver, DeviceClassName: "gpu", Count: ptr.To[int64](8),
				Attributes: map[string]modelplane.DeviceAttribute{"model": {String: ptr.To("h100")}},
			}}}},
		},
	}
}

// testDeployment wants replicas that take nodes each.
func testDeployment(namespace, name string, replicas, nodes int32) modelplane.ModelDeployment {
	requests := []modelplane.DeviceRequest{{
		Name: "gpu", Count: ptr.To[int64](8),
		Selectors: []modelplane.DeviceSelector{{CEL: fmt.Sprintf("device.attributes[%q].model == 'h100'", testDriver)}},
	}}
	return modelplane.ModelDeployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name), ResourceVersion: "1", Generation: 1,
			Labels: map[string]string{"app": name},
		},
		Spec: modelplane.ModelDeploymentSpec{
			Replicas: replicas,
			Template: modelplane.ModelDeploymentTemplate{Spec: modelplane.ModelDeploymentTemplateSpec{
				SchedulerName: evenkeel.DefaultSchedulerName,
				Engines: []modelplane.Engine{{Name: "main", Copies: ptr.To(nodes), Members: []modelplane.Member{{
					Role: modelplane.MemberRoleStandalone, NodeSelector: &modelplane.NodeSelector{Devices: requests},
				}}}},
			}},
		},
	}
}

func testPolicy(namespace, name string, settings evenkeel.DisruptionSettings) evenkeel.DisruptionPolicy {
	p := evenkeel.DisruptionPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name)}}
	p.Spec.Selector = &metav1.LabelSelector{}
	p.Spec.DisruptionSettings = settings
	return p
}

func testOptions(t testing.TB) Options {
	t.Helper()
	options, err := DefaultOptions()
	require.NoError(t, err)
	return options
}

// settled gives a fleet on which all that its deployments want has been placed, as far as there is room.
func settled(t testing.TB, snapshot Snapshot) *Snapshot {
	t.Helper()
	if snapshot.Now.IsZero() {
		snapshot.Now = testNow
	}
	ctx := quiet(t.Context())
	s, err := newSimulation(ctx, &snapshot, testOptions(t))
	require.NoError(t, err)
	s.record.begin(s)
	unfinished, err := s.settle(ctx)
	require.NoError(t, err)
	require.Empty(t, unfinished)
	return s.snapshot(snapshot.Policies)
}

// snapshot reads the hub in memory as one reads a real one. Its objects count as real.
func (s *simulation) snapshot(policies []evenkeel.DisruptionPolicy) *Snapshot {
	out := &Snapshot{Now: s.clock.Now(), Policies: policies}
	for _, o := range all[modelplane.InferenceCluster](s.store) {
		out.Clusters = append(out.Clusters, *o)
	}
	for _, o := range all[modelplane.ModelDeployment](s.store) {
		out.Deployments = append(out.Deployments, *o)
	}
	for _, o := range all[modelplane.ModelReplica](s.store) {
		o := o.DeepCopy()
		makeReal(o)
		out.Replicas = append(out.Replicas, *o)
	}
	for _, o := range all[modelplane.ModelEndpoint](s.store) {
		o := o.DeepCopy()
		makeReal(o)
		out.Endpoints = append(out.Endpoints, *o)
	}
	for _, o := range all[evenkeel.ReplicaPlacement](s.store) {
		o := o.DeepCopy()
		makeReal(o)
		out.Placements = append(out.Placements, *o)
	}
	return out
}

func makeReal(o client.Object) {
	o.SetUID("real-" + o.GetUID())
	o.SetResourceVersion("1")
}

// told writes what a plan says about replicas, one line each.
func told(plan *Plan) []string {
	out := []string{}
	for i := range plan.Replicas {
		r := &plan.Replicas[i]
		line := fmt.Sprintf("%d %s/%s-%d %s", r.Order, r.Namespace, r.Deployment, r.Slot, r.Outcome)
		if r.From != nil {
			line += fmt.Sprintf(" from %s/%d", r.From.Cluster, r.From.Index)
		}
		if r.To != nil {
			line += fmt.Sprintf(" to %s/%d", r.To.Cluster, r.To.Index)
		}
		out = append(out, line)
	}
	return out
}
