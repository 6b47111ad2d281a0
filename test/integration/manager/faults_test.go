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

package manager

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/standin"
)

func (w *world) placements() []evenkeel.ReplicaPlacement {
	w.t.Helper()
	list := &evenkeel.ReplicaPlacementList{}
	require.NoError(w.t, hub.Client.List(w.ctx, list, client.InNamespace(w.namespace)))
	return list.Items
}

func (w *world) expectPlacements(n int) {
	w.t.Helper()
	w.eventually(func() string {
		if got := len(w.placements()); got != n {
			return "another number of placements"
		}
		return ""
	})
}

// TestFaults are bad input and what people do to objects by hand: a clear word on the object, and nothing that runs is
// touched.
func TestFaults(t *testing.T) {
	w := newWorld(t, standin.Options{})

	w.run("V14 a device selector that does not compile", func(w *world) {
		w.cluster("east", 4)
		w.deploy("chat", 1)
		w.expect("chat@east/0(h)")
		w.edit("chat", func(d *modelplane.ModelDeployment) {
			d.Spec.Replicas = 2
			d.Spec.Template.Spec.Engines = []modelplane.Engine{engine("main", "not ) valid (")}
		})
		w.expectCondition("chat", replicasScheduled, metav1.ConditionFalse, "InvalidNodeSelector", "Invalid nodeSelector CEL expression: ...")
		w.expectEvent("chat", "InvalidNodeSelector", "Invalid nodeSelector CEL expression: ")
		w.stays("chat@east/0(h)")
		w.edit("chat", func(d *modelplane.ModelDeployment) {
			d.Spec.Template.Spec.Engines = []modelplane.Engine{engine("main", atLeast80Gi)}
		})
		w.stays("chat@east/0(h)", "chat@east/1(h)")
		w.expectCondition("chat", replicasScheduled, metav1.ConditionTrue, "ReplicasCreated", "Scheduled 2 of 2 replicas")
	})

	w.run("a selector that selects nothing", func(w *world) {
		w.cluster("east", 4)
		w.deploy("chat", 1)
		w.expect("chat@east/0(h)")
		w.edit("chat", func(d *modelplane.ModelDeployment) { selector(map[string]string{"no": "cluster"})(d) })
		w.expectCondition("chat", replicasScheduled, metav1.ConditionFalse, "NoClusters", "none of 1 InferenceClusters has the labels that the clusterSelector asks for")
		w.expectEvent("chat", "NoClusters", "No InferenceClusters found")
		w.always(2*time.Second, func() string { return differ(w.replicas(), "chat@east/0(h)") })
	})

	w.run("no cluster at all", func(w *world) {
		c := w.cluster("east", 4)
		w.deploy("chat", 1)
		w.expect("chat@east/0(h)")
		require.NoError(t, hub.Client.Delete(w.ctx, c))
		w.expectCondition("chat", replicasScheduled, metav1.ConditionFalse, "NoClusters", "there are no InferenceClusters")
		w.always(2*time.Second, func() string { return differ(w.replicas(), "chat@east/0(h)") })
	})

	w.run("a pool that is gone while its cluster is not Ready", func(w *world) {
		w.cluster("east", 4)
		w.cluster("west", 4)
		w.deploy("chat", 1)
		w.expect("chat@east/0(h)")
		w.setClusterStatus("east", func(c *modelplane.InferenceCluster) { notReady(c); c.Status.GPUPools = nil })
		w.always(2*time.Second, func() string { return differ(w.replicas(), "chat@east/0(h)") })
		w.setClusterStatus("east", func(c *modelplane.InferenceCluster) { c.Status.Conditions[0].Status = metav1.ConditionTrue })
		w.stays("chat@west/0(h)")
	})

	w.run("a malformed device", func(w *world) {
		bad := pool("bad", 2)
		bad.Devices[0].Capacity["memory"] = modelplane.DeviceCapacity{Value: "10Mo"}
		bad.Devices[0].Attributes = map[string]modelplane.DeviceAttribute{"cc": {Version: ptr.To("9.0")}}
		negative := pool("negative", -3)
		negative.Devices[0].Count = ptr.To[int64](-1)
		w.cluster("east", 0, pools(bad, negative, pool("good", 1)))
		w.deploy("chat", 2)
		w.stays("chat@east/0(good)")
		w.expectCondition("chat", replicasScheduled, metav1.ConditionFalse, "InsufficientCapacity", "1 of 2 replicas scheduled: ...")
	})

	w.run("a name that is no label", func(w *world) {
		name := strings.Repeat("x", 64)
		w.cluster("east", 4)
		w.deploy(name, 1)
		w.expectCondition(name, replicasScheduled, metav1.ConditionFalse, "InvalidName", "the name has 64 characters; ...")
		w.expectEvent(name, "InvalidName", "use a shorter name")
		w.stays()
		assert.Empty(t, w.placements())
	})

	w.run("the longest name that is a label", func(w *world) {
		w.cluster("east", 4)
		w.deploy(strings.Repeat("x", 63), 1)
		w.expect(strings.Repeat("x", 63) + "@east/0(h)")
		assert.Equal(t, strings.Repeat("x", 57)+"-c2cc7", w.replica(strings.Repeat("x", 57)+"-c2cc7").Name)
	})

	w.run("a cluster whose name is no label", func(w *world) {
		w.cluster(strings.Repeat("e", 64), 4)
		w.deploy("chat", 1)
		w.expectCondition("chat", replicasScheduled, metav1.ConditionFalse, "InsufficientCapacity", "0 of 1 replicas scheduled (checked 1 clusters): ...")
		w.stays()
	})

	w.run("a replica edited by hand", func(w *world) {
		w.cluster("east", 4)
		w.deploy("chat", 1)
		w.expectCondition("chat", replicasReady, metav1.ConditionTrue, "AllReplicasReady", "1 of 1 ready")
		r := w.replica("chat-32a9b")
		update(w, r, func(r *modelplane.ModelReplica) {
			r.Spec.Engines[0].Copies = ptr.To[int32](5)
			r.Labels["mine"] = "stays"
		})
		w.eventually(func() string {
			if *w.replica("chat-32a9b").Spec.Engines[0].Copies != 1 {
				return "the edit is still there"
			}
			return ""
		})
		w.expectEvent("chat", "ReplicaDrifted", "ModelReplica chat-32a9b was edited by somebody else and is brought back: spec.engines")
		assert.Equal(t, "stays", w.replica("chat-32a9b").Labels["mine"])
		assert.Equal(t, r.UID, w.replica("chat-32a9b").UID)
	})

	w.run("a replica whose label is taken away by hand", func(w *world) {
		w.cluster("east", 4)
		w.deploy("chat", 1)
		w.expect("chat@east/0(h)")
		update(w, w.replica("chat-32a9b"), func(r *modelplane.ModelReplica) { delete(r.Labels, modelplane.LabelDeployment) })
		w.stays("chat@east/0(h)")
	})

	w.run("a template that can be followed in place", func(w *world) {
		w.cluster("east", 1)
		w.deploy("chat", 1, func(d *modelplane.ModelDeployment) {
			d.Spec.Template.Metadata = &modelplane.TemplateMetadata{Labels: map[string]string{"old": "1", "both": "1"}}
		})
		w.expect("chat@east/0(h)")
		uid := w.replica("chat-32a9b").UID
		w.edit("chat", func(d *modelplane.ModelDeployment) {
			d.Spec.Template.Spec.Engines[0].Copies = ptr.To[int32](3)
			d.Spec.Template.Metadata.Labels = map[string]string{"new": "1", "both": "2"}
		})
		w.eventually(func() string {
			r := w.replica("chat-32a9b")
			if *r.Spec.Engines[0].Copies != 3 || r.Labels["new"] != "1" || r.Labels["both"] != "2" {
				return "not followed"
			}
			if _, found := r.Labels["old"]; found {
				return "a label of the old template is left"
			}
			return ""
		})
		assert.Equal(t, uid, w.replica("chat-32a9b").UID)
		w.stays("chat@east/0(h)")
		for _, e := range w.events("ModelDeployment", "chat") {
			assert.NotEqual(t, "ReplicaDrifted", e.Reason, e.Note)
		}
	})

	w.run("a replica deleted by hand", func(w *world) {
		w.cluster("east", 4)
		w.deploy("chat", 1)
		w.expectCondition("chat", replicasReady, metav1.ConditionTrue, "AllReplicasReady", "1 of 1 ready")
		old := w.replica("chat-32a9b").UID
		require.NoError(t, hub.Client.Delete(w.ctx, w.replica("chat-32a9b")))
		w.eventually(func() string {
			list := &modelplane.ModelReplicaList{}
			require.NoError(t, hub.Client.List(w.ctx, list, client.InNamespace(w.namespace)))
			if len(list.Items) != 1 || list.Items[0].UID == old {
				return "not replaced"
			}
			return ""
		})
		w.expectEvent("chat", "ReplicaDeleted", `the ModelReplica "chat-32a9b" was deleted by somebody else`)
		w.expectCondition("chat", replicasReady, metav1.ConditionTrue, "AllReplicasReady", "1 of 1 ready")
	})

	w.run("all placements deleted by hand", func(w *world) {
		w.cluster("east", 4)
		w.deploy("chat", 2)
		w.expectCondition("chat", replicasReady, metav1.ConditionTrue, "AllReplicasReady", "2 of 2 ready")
		uids := []any{w.replica("chat-32a9b").UID, w.replica("chat-f7a54").UID}
		require.NoError(t, hub.Client.DeleteAllOf(w.ctx, &evenkeel.ReplicaPlacement{}, client.InNamespace(w.namespace)))
		w.expectPlacements(2)
		w.stays("chat@east/0(h)", "chat@east/1(h)")
		assert.Equal(t, uids, []any{w.replica("chat-32a9b").UID, w.replica("chat-f7a54").UID})
	})

	w.run("an endpoint deleted by hand", func(w *world) {
		w.cluster("east", 4)
		w.deploy("chat", 1)
		w.eventually(func() string {
			e := w.endpoint("chat-32a9b")
			if e == nil {
				return "no endpoint"
			}
			require.NoError(t, client.IgnoreNotFound(hub.Client.Delete(w.ctx, e)))
			return ""
		})
		w.expectEndpoint("chat-32a9b", "http://192.0.2.1/"+w.namespace+"/chat-32a9b/v1", "/"+w.namespace+"/chat-32a9b/")
	})

	w.run("a replica's name that belongs to somebody else", func(w *world) {
		foreign := w.existing("search", "east", 0, "h", named("chat-32a9b"))
		w.cluster("east", 4)
		w.deploy("chat", 1)
		w.expect("chat@east/1(h)", "search@east/0(h)")
		assert.Equal(t, foreign.UID, w.replica("chat-32a9b").UID)
	})

	w.run("a placement's name that belongs to somebody else", func(w *world) {
		foreign := &evenkeel.ReplicaPlacement{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "chat-0-1"},
			Spec: evenkeel.ReplicaPlacementSpec{
				DeploymentName: "other", Attempt: 1, SchedulerName: "nobody",
				Engines: placement.RequirementsOf([]modelplane.Engine{engine("main", atLeast80Gi)}),
			},
		}
		require.NoError(t, hub.Client.Create(w.ctx, foreign))
		w.cluster("east", 4)
		w.deploy("chat", 1)
		w.stays("chat@east/0(h)")
	})

	w.run("a priority class that does not exist", func(w *world) {
		w.cluster("east", 4)
		w.deploy("chat", 1, func(d *modelplane.ModelDeployment) { d.Spec.Template.Spec.PriorityClassName = "urgent" })
		w.expectCondition("chat", replicasScheduled, metav1.ConditionFalse, "PriorityClassNotFound", "PriorityClass urgent not found; holding replica placement")
		w.stays()
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 7, PreemptionPolicy: ptr.To(corev1.PreemptNever)}
		require.NoError(t, hub.Client.Create(w.ctx, class))
		defer func() { require.NoError(t, hub.Client.Delete(w.ctx, class)) }()
		w.stays("chat@east/0(h)")
		spec := w.placements()[0].Spec
		assert.Equal(t, int32(7), *spec.Priority)
		assert.Equal(t, corev1.PreemptNever, *spec.PreemptionPolicy)
	})

	w.run("a replica that the API server refuses", func(w *world) {
		w.cluster("east", 4)
		w.cluster("west", 4)
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "none"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/modelreplicas.modelplane.ai": resource.MustParse("0")}},
		}
		require.NoError(t, hub.Client.Create(w.ctx, quota))
		w.eventually(func() string {
			require.NoError(t, hub.Client.Get(w.ctx, client.ObjectKeyFromObject(quota), quota))
			if len(quota.Status.Hard) == 0 {
				return "the quota is not in force"
			}
			return ""
		})
		w.deploy("chat", 1)
		w.expectEvent("chat", "ReplicaRejected", "exceeded quota")
		w.eventually(func() string {
			for _, p := range w.placements() {
				for _, c := range p.Status.Conditions {
					if c.Type == evenkeel.ConditionReplicaRejected {
						return ""
					}
				}
			}
			return "no placement says so"
		})
		require.NoError(t, hub.Client.Delete(w.ctx, quota))
		// After a pause the next attempt goes to the other cluster.
		w.expect("chat@west/0(h)")
	})

	w.run("an edited toleration wakes what waits", func(w *world) {
		w.cluster("east", 4, taints(maintSoon))
		w.deploy("chat", 1)
		w.expectCondition("chat", replicasScheduled, metav1.ConditionFalse, "InsufficientCapacity", "...")
		w.edit("chat", func(d *modelplane.ModelDeployment) { tolerations(exists("acme.test/maint"))(d) })
		w.stays("chat@east/0(h)")
	})
}

// TestAClusterDeletedAndMadeAgainInTime is about the time that a cluster may be away: longer than any machine stands still.
func TestAClusterDeletedAndMadeAgainInTime(t *testing.T) {
	w := newIdleWorld(t)
	w.startStandIn(standin.Options{})
	w.scheduler = hub.RunScheduler(t)
	w.manager = startManagerWith(t, alone, "settleTime: 10m", "")
	c := w.cluster("east", 4)
	w.cluster("west", 4)
	w.deploy("chat", 1)
	w.expect("chat@east/0(h)")
	require.NoError(t, hub.Client.Delete(w.ctx, c))
	w.eventually(func() string {
		target := meta.FindStatusCondition(w.placement("chat-0-1").Status.Conditions, evenkeel.ConditionDisruptionTarget)
		if target == nil {
			return "the placement does not say that its cluster is gone"
		}
		return ""
	})
	w.cluster("east", 4)
	w.eventually(func() string {
		if target := meta.FindStatusCondition(w.placement("chat-0-1").Status.Conditions, evenkeel.ConditionDisruptionTarget); target != nil {
			return "the placement says still that its cluster is gone: " + target.Message
		}
		return ""
	})
	w.stays("chat@east/0(h)")
}

func differ(got []string, want ...string) string {
	if strings.Join(got, " ") != strings.Join(want, " ") {
		return "replicas: got " + strings.Join(got, " ") + ", want " + strings.Join(want, " ")
	}
	return ""
}

func TestImmutableFields(t *testing.T) {
	w := newIdleWorld(t)
	p := &evenkeel.ReplicaPlacement{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "chat-0-1"},
		Spec: evenkeel.ReplicaPlacementSpec{
			DeploymentName: "chat", Attempt: 1, SchedulerName: "nobody",
			Engines: placement.RequirementsOf([]modelplane.Engine{engine("main", atLeast80Gi)}),
		},
	}
	require.NoError(t, hub.Client.Create(w.ctx, p))
	p.Status.Assignment = &evenkeel.Assignment{ClusterName: "east", Engines: []evenkeel.EngineAssignment{
		{Name: "main", Members: []evenkeel.MemberAssignment{{NodePoolName: "h"}}},
	}}
	require.NoError(t, hub.Client.Status().Update(w.ctx, p))
	moved := p.DeepCopy()
	moved.Status.Assignment.ClusterName = "west"
	assert.True(t, apierrors.IsInvalid(hub.Client.Status().Update(w.ctx, moved)))
	unassigned := p.DeepCopy()
	unassigned.Status.Assignment = nil
	assert.True(t, apierrors.IsInvalid(hub.Client.Status().Update(w.ctx, unassigned)))
	renamed := p.DeepCopy()
	renamed.Spec.Slot = 5
	assert.True(t, apierrors.IsInvalid(hub.Client.Update(w.ctx, renamed)))
}
