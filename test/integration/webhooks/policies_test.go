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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

const policies = hubtest.Root + "/manifests/hub/policies/"

// withPolicy installs an admission policy for one test, and waits until the API server refuses an attempt in its words:
// one that has no right yet is refused as well.
func withPolicy(t *testing.T, file, name, words string, attempt func(context.Context) error) {
	t.Helper()
	require.NoError(t, hub.InstallWebhooks(t.Context(), hub.port, policies+file))
	t.Cleanup(func() {
		for _, kind := range []string{"validatingadmissionpolicybinding", "validatingadmissionpolicy"} {
			assert.NoError(t, hub.Kubectl(context.Background(), "delete", kind, name))
		}
	})
	poll(t, name+" does not come into force", func(ctx context.Context) bool {
		err := attempt(ctx)
		return err != nil && strings.Contains(err.Error(), words)
	})
}

// userClient is one who may do what the rules say; the rules are those of kubectl create clusterrole.
func userClient(t *testing.T, user string, rules ...string) client.Client {
	t.Helper()
	for i, rule := range rules {
		role := strings.ReplaceAll(user, "@", "-") + string(rune('a'+i))
		args := append([]string{"create", "clusterrole", role}, strings.Fields(rule)...)
		require.NoError(t, hub.Kubectl(t.Context(), args...))
		require.NoError(t, hub.Kubectl(t.Context(), "create", "clusterrolebinding", role, "--clusterrole="+role, "--user="+user))
	}
	require.NoError(t, hub.AwaitRights(t.Context(), user))
	return clientOf(t, user)
}

func clientOf(t *testing.T, user string) client.Client {
	t.Helper()
	config, err := hub.AddUser(user, "system:authenticated")
	require.NoError(t, err)
	c, err := client.New(config, client.Options{Scheme: hub.Client.Scheme()})
	require.NoError(t, err)
	return c
}

// TestTheSecondLineOfTrafficDrains has the API server check by itself, with the webhook away.
func TestTheSecondLineOfTrafficDrains(t *testing.T) {
	namespace := namespaced(t)
	service := newService(t, namespace, entry("worker-a", 7), entry("worker-b", 3))
	removeGuard(t)
	t.Cleanup(func() {
		require.NoError(t, hub.InstallWebhooks(context.Background(), hub.port, webhookFile))
		require.NoError(t, hub.awaitTrust(context.Background()))
	})
	huge := value(drain("a", "worker-a")) + strings.Repeat("ä", 16384)
	require.NoError(t, hub.client.Patch(t.Context(), service, annotate(key, huge)))
	withPolicy(t, "traffic-drain.yaml", "evenkeel-traffic-drain", "at most 32768 are allowed", func(ctx context.Context) error {
		return hub.client.Patch(ctx, service.DeepCopy(), annotate(key, huge+" "), client.DryRunAll)
	})

	err := hub.client.Patch(t.Context(), service.DeepCopy(), annotate(key, huge+" "))
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, "annotation ome.io/traffic-drain has 32828 bytes, at most 32768 are allowed: shorten reasons or remove drains")
	assert.NoError(t, hub.client.Patch(t.Context(), service, annotate(key, huge[:len(huge)-2])), "a smaller value than before")
	assert.NoError(t, hub.client.Patch(t.Context(), service, annotate(key, value(drain("a", "worker-a")))))
	assert.NoError(t, hub.client.Patch(t.Context(), service, annotate(key, "-")))

	for name, marks := range map[string]ome.InferenceService{
		"label":         {ObjectMeta: labelled(ome.PlacementOriginLabel, "chat")},
		"another label": {ObjectMeta: labelled(ome.PlacementControlPlaneLabel, "")},
		"annotation":    {ObjectMeta: annotated(ome.PlacementOriginUIDAnnotation, "u")},
	} {
		copied := marks.DeepCopy()
		copied.Namespace, copied.GenerateName = namespace, "copy-"
		require.NoError(t, hub.client.Create(t.Context(), copied), name)
		err := hub.client.Patch(t.Context(), copied, annotate(key, value(drain("a", "worker-a"))))
		assert.ErrorContains(t, err, "annotation ome.io/traffic-drain has no effect on a copy that placement made for a workload cluster", name)
	}
}

// TestWhoSaysWhereReplicasGo is about the right to assign, whatever the name of the one who has it.
func TestWhoSaysWhereReplicasGo(t *testing.T) {
	namespace := namespaced(t)
	placement := &evenkeel.ReplicaPlacement{ObjectMeta: metav1Named(namespace, "chat-0-1")}
	placement.Spec = evenkeel.ReplicaPlacementSpec{
		DeploymentName: "chat", Attempt: 1, SchedulerName: "nobody",
		Engines: []evenkeel.EngineRequirements{{Name: "main", Copies: 1, Members: []evenkeel.MemberRequirements{{Nodes: 1}}}},
	}
	require.NoError(t, hub.client.Create(t.Context(), placement))
	assign := client.RawPatch(types.MergePatchType, []byte(`{"status":{"assignment":{"clusterName":"east","index":0,`+
		`"engines":[{"name":"main","members":[{"nodePoolName":"gpus"}]}]}}}`))
	nominate := client.RawPatch(types.MergePatchType, []byte(`{"status":{"nominatedCluster":"east"}}`))
	someone := userClient(t, "someone@example.com", "--verb=patch,update --resource=replicaplacements.evenkeel.io/status")
	withPolicy(t, "placement-assignment.yaml", "evenkeel-placement-assignment", "may not say where replicas go", func(ctx context.Context) error {
		return someone.Status().Patch(ctx, placement.DeepCopy(), assign, client.DryRunAll)
	})

	err := someone.Status().Patch(t.Context(), placement.DeepCopy(), assign)
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, "user someone@example.com may not say where replicas go: only those who may update replicaplacements/assignment in API group evenkeel.io, as the hub scheduler may")
	assert.NoError(t, someone.Status().Patch(t.Context(), placement.DeepCopy(), nominate), "the rest of the status")

	require.NoError(t, hub.client.Get(t.Context(), client.ObjectKeyFromObject(placement), placement))
	for _, program := range []string{"hub-scheduler", "hub-manager"} {
		assigned := placement.DeepCopy()
		assigned.Status.Assignment = &evenkeel.Assignment{ClusterName: "east", Engines: []evenkeel.EngineAssignment{
			{Name: "main", Members: []evenkeel.MemberAssignment{{NodePoolName: "gpus"}}},
		}}
		c := clientOf(t, "system:serviceaccount:evenkeel-system:"+program)
		assert.NoError(t, c.Status().Update(t.Context(), assigned, client.DryRunAll), program)
	}
	trusted := userClient(t, "trusted@example.com", "--verb=patch,update --resource=replicaplacements.evenkeel.io/status",
		"--verb=update --resource=replicaplacements.evenkeel.io/assignment")
	assert.NoError(t, trusted.Status().Patch(t.Context(), placement.DeepCopy(), assign))
}

// TestThePermissionToDrain is opt-in.
func TestThePermissionToDrain(t *testing.T) {
	service := newService(t, namespaced(t), entry("worker-a", 7), entry("worker-b", 3))
	edit := annotate(key, value(drain("a", "worker-a")))
	editor := userClient(t, "editor@example.com", "--verb=patch --resource=inferenceservices.ome.io")
	withPolicy(t, "drain-permission/policy.yaml", "evenkeel-drain-permission", "may not edit the drains", func(ctx context.Context) error {
		return editor.Patch(ctx, service.DeepCopy(), edit, client.DryRunAll)
	})

	err := editor.Patch(t.Context(), service.DeepCopy(), edit)
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, "user editor@example.com may not edit the drains of InferenceService "+service.Namespace+"/"+service.Name+
		`: it takes the verb "drain" on inferenceservices in API group ome.io, which ClusterRole evenkeel-traffic-drainer grants`)
	assert.NoError(t, editor.Patch(t.Context(), service.DeepCopy(), annotate("example.com/note", "x")), "another annotation")

	require.NoError(t, hub.Kubectl(t.Context(), "apply", "-f", policies+"drain-permission/role.yaml"))
	require.NoError(t, hub.Kubectl(t.Context(), "create", "clusterrolebinding", "drainers", "--clusterrole=evenkeel-traffic-drainer", "--user=editor@example.com"))
	poll(t, "the role does not come into force", func(ctx context.Context) bool {
		return editor.Patch(ctx, service.DeepCopy(), edit, client.DryRunAll) == nil
	})
	assert.NoError(t, editor.Patch(t.Context(), service, edit))
}
