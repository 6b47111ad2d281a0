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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
)

// What the scheduler writes, against the API server's own rules on versions, UIDs and the schema.
func TestStatusWrites(t *testing.T) {
	h := newHub(t, controlplane.Options{AuditPolicy: controlplane.WritesAuditPolicy()})
	config := h.Config()
	config.UserAgent = "hub-scheduler/test"
	resources, err := virtual.NewHub(config)
	require.NoError(t, err)
	nothing := listersv1.NewPodLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}))
	writer := virtual.NewClient(fake.NewClientset(), resources, nothing).Writer()
	to := func(cluster string) evenkeel.Assignment {
		return evenkeel.Assignment{ClusterName: cluster, Engines: []evenkeel.EngineAssignment{{Name: "main", Members: []evenkeel.MemberAssignment{{NodePoolName: "h100"}}}}}
	}
	key := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: namespace, Name: name} }

	t.Run("assigns", func(t *testing.T) {
		h.create(placement("assigns", 0))
		editStatus(h, key("assigns-0-1"), &evenkeel.ReplicaPlacement{}, func(p *evenkeel.ReplicaPlacement) {
			p.Status.NominatedCluster = "west"
			p.Status.Conditions = []metav1.Condition{{Type: "Other", Status: metav1.ConditionTrue, Reason: "Kept", LastTransitionTime: metav1.Now()}}
		})
		before := h.get("assigns-0-1")
		require.NoError(t, writer.Assign(t.Context(), virtual.PodFor(before), to("east")))

		after := h.get("assigns-0-1")
		want := to("east")
		assert.Equal(t, &want, after.Status.Assignment)
		assert.Empty(t, after.Status.NominatedCluster)
		assert.Equal(t, before.Generation, after.Generation)
		assert.True(t, meta.IsStatusConditionTrue(after.Status.Conditions, "Other"))
		assert.True(t, meta.IsStatusConditionTrue(after.Status.Conditions, evenkeel.ConditionScheduled))
		assert.Equal(t, map[string]int{"update replicaplacements/status": 1}, h.schedulerWrites())

		assert.ErrorContains(t, writer.Assign(t.Context(), virtual.PodFor(before), to("west")), `assigned to InferenceCluster "east" by somebody else`)
		require.NoError(t, writer.Assign(t.Context(), virtual.PodFor(before), to("east")), "again what it has already")
		assert.Equal(t, want, *h.get("assigns-0-1").Status.Assignment)
	})
	t.Run("builds on what another has written", func(t *testing.T) {
		h.create(placement("stale", 0))
		stale := virtual.PodFor(h.get("stale-0-1"))
		editStatus(h, key("stale-0-1"), &evenkeel.ReplicaPlacement{}, func(p *evenkeel.ReplicaPlacement) {
			p.Status.Conditions = []metav1.Condition{{Type: "Other", Status: metav1.ConditionTrue, Reason: "Kept", LastTransitionTime: metav1.Now()}}
		})
		require.NoError(t, writer.Assign(t.Context(), stale, to("east")))
		assert.True(t, meta.IsStatusConditionTrue(h.get("stale-0-1").Status.Conditions, "Other"))
	})
	t.Run("refuses an edited placement", func(t *testing.T) {
		h.create(placement("edited", 0))
		stale := virtual.PodFor(h.get("edited-0-1"))
		edit(h, key("edited-0-1"), &evenkeel.ReplicaPlacement{}, func(p *evenkeel.ReplicaPlacement) { p.Spec.Engines[0].Copies = 2 })
		assert.ErrorContains(t, writer.Assign(t.Context(), stale, to("east")), "edited during scheduling (generation 1, now 2)")
		assert.Nil(t, h.get("edited-0-1").Status.Assignment)
	})
	t.Run("refuses another placement of the same name", func(t *testing.T) {
		h.create(placement("recreated", 0))
		stale := virtual.PodFor(h.get("recreated-0-1"))
		require.NoError(t, h.Delete(t.Context(), placement("recreated", 0)))
		h.create(placement("recreated", 0))
		assert.ErrorContains(t, writer.Assign(t.Context(), stale, to("east")), "deleted and created anew")
		assert.Nil(t, h.get("recreated-0-1").Status.Assignment)
	})
	t.Run("reports a placement that is gone", func(t *testing.T) {
		pod := virtual.PodFor(placement("gone", 0))
		pod.UID, pod.ResourceVersion = types.UID("a.g1"), "1"
		assert.ErrorContains(t, writer.Assign(t.Context(), pod, to("east")), "not found")
	})
	t.Run("reports what the schema refuses", func(t *testing.T) {
		h.create(placement("invalid", 0))
		assert.ErrorContains(t, writer.Assign(t.Context(), virtual.PodFor(h.get("invalid-0-1")), to("")), "status.assignment.clusterName")
		assert.Equal(t, corev1.PodPending, virtual.PodFor(h.get("invalid-0-1")).Status.Phase)
	})
}
