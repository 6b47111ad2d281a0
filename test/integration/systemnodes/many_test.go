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

package systemnodes

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/internal/workloadcluster"
)

const manyPickers = 200

// TestManyPickers installs Evenkeel on a cluster with many pickers and removes it again.
func TestManyPickers(t *testing.T) {
	c := start(t, workloadcluster.Options{})
	for i := range manyPickers {
		require.NoError(t, c.ApplyPicker(t.Context(), models, fmt.Sprintf("model-%d-epp", i)))
	}
	require.NoError(t, c.AwaitAvailable(t.Context()))
	t.Log("installing Evenkeel")
	engines := engineRestarts(t, c)
	generations := map[string]int64{}
	for name, d := range deployments(t, c) {
		generations[name] = d.Generation
	}

	require.NoError(t, c.InstallEvenkeel(t.Context(), nil))
	// Each of them is rolled out, on two cores.
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		for name, d := range deployments(t, c) {
			if d.Spec.Template.Labels["app"] == "" {
				continue
			}
			require.EqualValues(t, 2, *d.Spec.Replicas, name)
			require.True(t, workloadcluster.Complete(d), name)
		}
		require.Len(t, budgetsOf(t, c, models), manyPickers+2)
	}, 8*time.Minute, time.Second, "two replicas of every picker")
	require.NoError(t, c.AwaitAvailable(t.Context()))
	assert.Equal(t, engines, engineRestarts(t, c), "no engine may be started anew")
	for name, d := range deployments(t, c) {
		before, was := generations[name]
		switch {
		case !was: // workload-manager itself
		case d.Spec.Template.Labels["app"] != "":
			assert.LessOrEqual(t, d.Generation, before+1, "%s: one rollout at most", name)
		case name == "coredns" || name == "modelplane-collector" || d.Spec.Template.Labels["modelplane.ai/serving"] != "":
			assert.Equal(t, before, d.Generation, name)
		}
	}

	t.Log("removing Evenkeel")
	// Removal, as docs/system-nodes.md says. No picker is rolled out for it: only the provider's next apply takes the
	// second replica away.
	pods := podUIDs(t, c)
	require.NoError(t, c.StopManager())
	kubectl(t, c, "delete", "-k", filepath.Join(root, "manifests", "workload"))
	kubectl(t, c, "delete", "poddisruptionbudgets", "--all-namespaces", "--selector=app.kubernetes.io/managed-by=evenkeel-workload-manager")
	require.NoError(t, c.ApplyPickers(t.Context()))
	eventually(t, "nothing left of Evenkeel", func(t *assert.CollectT) {
		assert.Empty(t, budgetsOf(t, c, models))
		configurations, err := c.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().List(context.Background(), metav1.ListOptions{})
		require.NoError(t, err)
		assert.Empty(t, configurations.Items)
		assert.EqualValues(t, 1, *getDeployment(t, c, models, workloadcluster.PickerChat).Spec.Replicas)
	})
	require.NoError(t, c.AwaitAvailable(t.Context()))
	for name, uid := range podUIDs(t, c) {
		assert.Equal(t, pods[name], uid, "%s was started by the removal", name)
	}
	assert.Equal(t, engines, engineRestarts(t, c))
}

func kubectl(t *testing.T, c *workloadcluster.Cluster, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(c.BinDir(), "kubectl"), append([]string{"--kubeconfig=" + c.KubeconfigPath()}, args...)...)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
}

func deployments(t require.TestingT, c *workloadcluster.Cluster) map[string]*appsv1.Deployment {
	list := &appsv1.DeploymentList{}
	require.NoError(t, c.Client.List(context.Background(), list))
	byName := map[string]*appsv1.Deployment{}
	for i := range list.Items {
		byName[list.Items[i].Name] = &list.Items[i]
	}
	return byName
}

func podUIDs(t require.TestingT, c *workloadcluster.Cluster) map[string]string {
	list := &corev1.PodList{}
	require.NoError(t, c.Client.List(context.Background(), list, client.InNamespace(models)))
	uids := map[string]string{}
	for i := range list.Items {
		uids[list.Items[i].Name] = string(list.Items[i].UID)
	}
	return uids
}
