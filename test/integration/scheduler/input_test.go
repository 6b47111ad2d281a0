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

package scheduler

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

// Bad input is said on the object it is about, and everything else goes on.
func TestBadInput(t *testing.T) {
	h := newHub(t, controlplane.Options{})
	long := strings.Repeat("c", 253)
	bad := pool("bad", 4)
	bad.Devices[0].Capacity = map[string]modelplane.DeviceCapacity{"memory": {Value: "10Mo"}}
	bad.Devices[0].Attributes = map[string]modelplane.DeviceAttribute{"firmware": {Version: ptr.To("nine")}}
	negative := pool("negative", -3)
	nothing := cluster("no-status")
	nothing.Status = modelplane.InferenceClusterStatus{}
	unlabelable := of(cluster("unlabelable", pool("h100", 9)), "unlabelable")
	unlabelable.Name = strings.Repeat("d", 253)
	h.create(
		cluster(long[:63], pool("h100", 1)), unlabelable, nothing,
		cluster("malformed", bad, negative, modelplane.GPUPool{Name: "no-devices", Nodes: 4}),
		of(cluster("good", pool("h100", 5)), "good"),
	)
	sched := h.startScheduler("--v=4")

	t.Run("a name that no label can hold", func(t *testing.T) {
		p := placement("long", 0)
		p.Name = long
		p.Spec.DeploymentName = long[:63]
		h.create(on(p, "unlabelable"))
		h.waitUnschedulableSaying(long, "1 cluster(s) had a name of more than 63 characters, which labels cannot hold")
	})
	t.Run("a long name that a label can hold", func(t *testing.T) {
		p := placement("just", 0)
		p.Spec.ClusterSelector = &modelplane.LabelSelector{MatchLabels: map[string]string{"cluster": long[:63]}}
		h.create(p)
		assert.Equal(t, long[:63], h.waitAssigned("just-0-1").Status.Assignment.ClusterName)
	})
	t.Run("a selector that does not compile", func(t *testing.T) {
		p := placement("cel", 0)
		p.Spec.Engines[0].Members[0].Devices[0].Selectors[0].CEL = `device.attributes["gpu.example.com"].model == `
		h.create(p)
		message := h.waitUnschedulable("cel-0-1")
		assert.Contains(t, message, "0/5 clusters are available: invalid device selector")
		assert.Contains(t, message, "main")
		assert.Contains(t, message, "Syntax error")
		assert.LessOrEqual(t, len(message), 1024)
	})
	t.Run("nothing to claim", func(t *testing.T) {
		p := placement("claimless", 0)
		p.Spec.Engines[0].Members[0].Devices = nil
		h.create(p)
		h.waitUnschedulableSaying("claimless-0-1", "0/5 clusters are available")
	})
	t.Run("another scheduler's placement", func(t *testing.T) {
		other := placement("other", 0)
		other.Spec.SchedulerName = "somebody-else"
		h.create(other, on(placement("mine", 0), "good"))
		h.waitAssigned("mine-0-1")
		assert.Empty(t, h.get("other-0-1").Status.Conditions)
	})
	t.Run("an adoption", func(t *testing.T) {
		adoption := placement("adoption", 0)
		adoption.Spec.Adopts = "adoption-12345"
		h.create(adoption, on(placement("mine", 1), "good"))
		h.waitAssigned("mine-1-1")
		assert.Empty(t, h.get("adoption-0-1").Status.Conditions)
	})
	t.Run("deleted while pending", func(t *testing.T) {
		p := on(placement("deleted", 0), "nowhere")
		h.create(p)
		h.waitUnschedulable("deleted-0-1")
		require.NoError(t, h.Delete(t.Context(), p))
		again := on(placement("deleted", 0), "good")
		h.create(again)
		assert.Equal(t, "good", h.waitAssigned("deleted-0-1").Status.Assignment.ClusterName)
	})
	t.Run("terminating while pending", func(t *testing.T) {
		p := on(placement("terminating", 0), "nowhere")
		p.Finalizers = []string{"example.com/hold"}
		h.create(p)
		h.waitUnschedulable("terminating-0-1")
		require.NoError(t, h.Delete(t.Context(), p))
		edit(h, client.ObjectKeyFromObject(p), p, func(p *evenkeel.ReplicaPlacement) { p.Spec.ClusterSelector.MatchLabels["test"] = "good" })
		h.create(on(placement("mine", 2), "good"))
		h.waitAssigned("mine-2-1")
		assert.Nil(t, h.get("terminating-0-1").Status.Assignment)
		edit(h, client.ObjectKeyFromObject(p), p, func(p *evenkeel.ReplicaPlacement) { p.Finalizers = nil })
	})
	t.Run("a cluster that is being deleted", func(t *testing.T) {
		c := of(cluster("leaving", pool("h100", 1)), "leaving")
		c.Finalizers = []string{"example.com/hold"}
		h.create(c)
		require.NoError(t, h.Delete(t.Context(), c))
		sched.waitSaid(`"Update event for node" node="leaving"`, 2) // its status, and that it is being deleted
		p := on(placement("late", 0), "leaving")
		p.Spec.Tolerations = []modelplane.Toleration{{Operator: modelplane.TolerationOpExists}}
		h.create(p)
		h.waitUnschedulableSaying("late-0-1", "1 cluster(s) were being deleted")
		edit(h, client.ObjectKeyFromObject(c), c, func(c *modelplane.InferenceCluster) { c.Finalizers = nil })
	})
	t.Run("no clusters at all", func(t *testing.T) {
		require.NoError(t, h.DeleteAllOf(t.Context(), &modelplane.InferenceCluster{}))
		h.create(placement("alone", 0))
		h.waitUnschedulableSaying("alone-0-1", "0/0 clusters are available: the hub has no InferenceCluster.")
		h.create(cluster("first", pool("h100", 1)))
		assert.Equal(t, "first", h.waitAssigned("alone-0-1").Status.Assignment.ClusterName)
		assert.Equal(t, metav1.ConditionTrue, h.get("alone-0-1").Status.Conditions[0].Status)
	})
}
