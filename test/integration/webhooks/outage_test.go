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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// TestNobodyAnswers checks what an outage of the webhooks blocks: edits of drains, and nothing else.
func TestNobodyAnswers(t *testing.T) {
	namespace := namespaced(t)
	service := newService(t, namespace, entry("worker-a", 7), entry("worker-b", 3))
	require.NoError(t, hub.client.Patch(t.Context(), service, annotate(key, value(drain("a", "worker-a")))))
	cluster := newCluster(t, hub)
	newReplica(t, namespace, "chat-a", cluster.Name)

	hub.manager.Kill()
	defer func() { require.NoError(t, hub.startManager(t.Context())) }()

	for name, edit := range map[string]string{"another drain": value(drain("a", "worker-a"), drain("b", "worker-b")), "no drain": "-"} {
		err := hub.client.Patch(t.Context(), service.DeepCopy(), annotate(key, edit))
		assert.ErrorContains(t, err, `failed calling webhook "traffic-drain.evenkeel.io"`, name)
	}

	status := client.RawPatch(types.MergePatchType, []byte(`{"status":{"url":"https://chat.example"}}`))
	assert.NoError(t, hub.client.Status().Patch(t.Context(), service, status))
	spec := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"routing":{"enabled":true},"engine":{"minReplicas":3}}}`))
	assert.NoError(t, hub.client.Patch(t.Context(), service, spec))
	assert.NoError(t, hub.client.Patch(t.Context(), service, annotate("ome.io/global-host", "chat.example")))
	assert.NoError(t, hub.client.Create(t.Context(), &ome.InferenceService{ObjectMeta: metav1Named(namespace, "other")}))

	setTaints(t, hub, cluster, maintenance(""))
	_, known := sinceOf(cluster)
	assert.False(t, known, "nobody has stamped the taint")
	assert.NoError(t, hub.client.Delete(t.Context(), cluster))
	assert.NoError(t, hub.client.Delete(t.Context(), service))
}

// TestATaintThatNobodyStamped gets no time later: it would be too late, and begin the wait anew.
func TestATaintThatNobodyStamped(t *testing.T) {
	hub.manager.Kill()
	cluster := newCluster(t, hub, maintenance(""))
	require.NoError(t, hub.startManager(t.Context()))
	setTaints(t, hub, cluster, maintenance(""), maintenanceAnew())
	_, known := sinceOf(cluster)
	assert.False(t, known)
	assert.NotNil(t, cluster.Spec.Taints[1].TimeAdded, "a taint beside it is stamped")
}
