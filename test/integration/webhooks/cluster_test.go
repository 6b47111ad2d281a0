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

package webhooks

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

// longAgo is a time that no stamp of this run can have.
var longAgo = time.Date(2020, time.January, 2, 3, 4, 5, 0, time.UTC)

func newCluster(t *testing.T, h *testHub, taints ...modelplane.Taint) *modelplane.InferenceCluster {
	t.Helper()
	c := clusterFor(taints...)
	require.NoError(t, h.client.Create(t.Context(), c))
	t.Cleanup(func() { _ = h.client.Delete(context.Background(), c) })
	return c
}

func clusterFor(taints ...modelplane.Taint) *modelplane.InferenceCluster {
	c := &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{GenerateName: "east-"}}
	c.Spec.Cluster.Source = modelplane.ClusterSourceExisting
	c.Spec.Cluster.Existing = &modelplane.ExistingCluster{SecretRef: modelplane.SecretKeyReference{Name: "kubeconfig"}}
	c.Spec.Taints = taints
	return c
}

// setTaints replaces all taints, as somebody does who knows nothing of times.
func setTaints(t *testing.T, h *testHub, c *modelplane.InferenceCluster, taints ...modelplane.Taint) {
	t.Helper()
	edit(t, h, c, func() { c.Spec.Taints = taints })
}

// edit changes a cluster, of which the manager writes the status meanwhile.
func edit(t *testing.T, h *testHub, c *modelplane.InferenceCluster, change func()) {
	t.Helper()
	var err error
	poll(t, "the change does not go through", func(ctx context.Context) bool {
		if err = h.client.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return true
		}
		h.warnings.take()
		change()
		err = h.client.Update(ctx, c)
		return !apierrors.IsConflict(err)
	})
	require.NoError(t, err)
}

func maintenance(value string) modelplane.Taint {
	return modelplane.Taint{Key: "modelplane.ai/maintenance", Value: value, Effect: modelplane.TaintEffectNoExecute}
}

// sinceOf tells since when a cluster has a NoExecute taint, and whether that is known.
func sinceOf(c *modelplane.InferenceCluster) (time.Time, bool) {
	for i := range c.Spec.Taints {
		if c.Spec.Taints[i].Effect == modelplane.TaintEffectNoExecute {
			return placement.TaintAddedAt(c, &c.Spec.Taints[i])
		}
	}
	return time.Time{}, false
}

// testTaintTimes holds on any hub; backdate gives the only taint of a cluster a time that it was added long ago.
func testTaintTimes(t *testing.T, h *testHub, backdate func(*modelplane.InferenceCluster)) {
	c := newCluster(t, h, maintenance(""), modelplane.Taint{Key: "full", Effect: modelplane.TaintEffectNoSchedule})
	at, known := sinceOf(c)
	require.True(t, known, "a new taint has a time")
	assert.True(t, at.After(longAgo))

	backdate(c)
	at, known = sinceOf(c)
	require.True(t, known)
	require.True(t, at.Equal(longAgo), "a time that a person states is taken over: %s", at)

	edit(t, h, c, func() {
		c.Annotations = nil
		c.Spec.Taints = []modelplane.Taint{{Key: "full", Effect: modelplane.TaintEffectNoSchedule}, maintenance("")}
	})
	at, known = sinceOf(c)
	assert.True(t, known && at.Equal(longAgo), "a taint that stays keeps its time, whatever is left out: %s", at)

	setTaints(t, h, c, maintenance("another"))
	at, known = sinceOf(c)
	assert.True(t, known && at.After(longAgo), "a taint with another value is another taint: %s", at)

	setTaints(t, h, c)
	assert.NotContains(t, c.Annotations, evenkeel.AnnotationTaintsSince, "nothing is left of a taint that is gone")
}

func TestTaintTimesInTheField(t *testing.T) {
	testTaintTimes(t, hub, func(c *modelplane.InferenceCluster) {
		taint := maintenance("")
		taint.TimeAdded = &metav1.Time{Time: longAgo}
		setTaints(t, hub, c, taint)
		assert.NotContains(t, c.Annotations, evenkeel.AnnotationTaintsSince)
	})
}

// TestTaintTimesInTheAnnotation is about a hub whose schema has no field for them.
func TestTaintTimesInTheAnnotation(t *testing.T) {
	portable, err := startHub(t.Context(), "dev/crds-portable")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, portable.stop()) })
	require.NoError(t, portable.startManager(t.Context()))
	testTaintTimes(t, portable, func(c *modelplane.InferenceCluster) {
		require.Nil(t, c.Spec.Taints[0].TimeAdded, "this hub knows the field")
		edit(t, portable, c, func() {
			c.Annotations[evenkeel.AnnotationTaintsSince] = placement.FormatTaintsSince([]placement.TaintSince{
				{Key: "modelplane.ai/maintenance", Effect: modelplane.TaintEffectNoExecute, Since: metav1.Time{Time: longAgo}},
			})
			c.Spec.Taints = []modelplane.Taint{maintenance("")}
		})
	})
}

// newReplica puts a ModelReplica on a cluster.
func newReplica(t *testing.T, namespace, name, cluster string) {
	t.Helper()
	r := &modelplane.ModelReplica{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name,
		Labels: map[string]string{modelplane.LabelDeployment: "chat", modelplane.LabelCluster: cluster},
	}}
	r.Spec.ClusterName = cluster
	r.Spec.Engines = []modelplane.ReplicaEngine{{Name: "main", Members: []modelplane.ReplicaMember{{
		NodePoolName:   "gpus",
		DeviceRequests: []modelplane.ReplicaDeviceRequest{{Name: "gpu", DeviceClassName: "gpu.example.com"}},
	}}}}
	require.NoError(t, hub.client.Create(t.Context(), r))
}

func TestDeletingAClusterWithReplicas(t *testing.T) {
	namespace := namespaced(t)
	c := newCluster(t, hub)
	for _, name := range []string{"chat-f", "chat-a", "chat-b", "chat-c", "chat-d", "chat-e"} {
		newReplica(t, namespace, name, c.Name)
	}
	want := strings.NewReplacer("CLUSTER", c.Name, "NS", namespace).Replace(
		`admission webhook "cluster-delete.evenkeel.io" denied the request: InferenceCluster "CLUSTER" has 6 ModelReplicas on it: ` +
			`NS/chat-a of ModelDeployment "chat", NS/chat-b of ModelDeployment "chat", NS/chat-c of ModelDeployment "chat", ` +
			`NS/chat-d of ModelDeployment "chat", NS/chat-e of ModelDeployment "chat", 1 more. Drain it with a NoExecute taint and delete it when ` +
			"`kubectl get modelreplicas -A -l modelplane.ai/cluster=CLUSTER` lists none. " +
			`To delete it nevertheless: kubectl annotate inferencecluster CLUSTER evenkeel.io/allow-undrained-delete=true`)
	said := ""
	err := wait.PollUntilContextTimeout(t.Context(), hubtest.Interval, hubtest.Patience, true, func(ctx context.Context) (bool, error) {
		err := hub.client.Delete(ctx, c.DeepCopy(), client.DryRunAll)
		said = ""
		if err != nil {
			said = err.Error()
		}
		return said == want, nil
	})
	require.NoError(t, err, said)
	err = hub.client.Delete(t.Context(), c.DeepCopy())
	require.EqualError(t, err, want)
	assert.True(t, apierrors.IsForbidden(err))

	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"evenkeel.io/allow-undrained-delete":"true"}}}`))
	require.NoError(t, hub.client.Patch(t.Context(), c, patch))
	hub.warnings.take()
	require.NoError(t, hub.client.Delete(t.Context(), c.DeepCopy()))
	assert.Equal(t, []string{`InferenceCluster "` + c.Name + `" is deleted with 6 ModelReplicas on it, as annotation evenkeel.io/allow-undrained-delete allows`}, hub.warnings.take())
}

func TestDeletingAnEmptyCluster(t *testing.T) {
	c := newCluster(t, hub)
	assert.NoError(t, hub.client.Delete(t.Context(), c))
}

// TestARecordedDeletionIsToldBeforeTheDrain is about what Crossplane would carry out at its end.
func TestARecordedDeletionIsToldBeforeTheDrain(t *testing.T) {
	c := newCluster(t, hub)
	edit(t, hub, c, func() { c.Annotations = map[string]string{modelplane.AnnotationDeletionAttempt: "Background"} })
	setTaints(t, hub, c, maintenance(""))
	assert.Equal(t, []string{"a refused deletion of this cluster is on record: Crossplane deletes it once its last replica is gone; " +
		"to keep it, remove annotation usage.crossplane.io/deletion-attempt-with-policy"}, hub.warnings.take())
	setTaints(t, hub, c, maintenance(""), modelplane.Taint{Key: "full", Effect: modelplane.TaintEffectNoSchedule})
	assert.Empty(t, hub.warnings.take(), "it is told once, when the drain begins")
}

// maintenanceAnew is a taint that no cluster had before.
func maintenanceAnew() modelplane.Taint {
	return modelplane.Taint{Key: "example.com/broken", Effect: modelplane.TaintEffectNoExecute}
}
