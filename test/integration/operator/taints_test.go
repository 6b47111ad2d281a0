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

package operator

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/cluster/taints"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

var inferenceClusters = modelplane.GroupVersion.WithResource("inferenceclusters")

// atomicHub is one whose InferenceClusters have a list of taints that is one value.
func atomicHub(t *testing.T) dynamic.Interface {
	t.Helper()
	content, err := os.ReadFile(hubtest.Root + "/manifests/dev/crds/modelplane.ai_inferenceclusters.yaml")
	require.NoError(t, err)
	before, after, found := strings.Cut(string(content), "                - key\n                - effect\n                x-kubernetes-list-type: map\n")
	require.True(t, found, "the schema has changed")
	before = strings.TrimSuffix(before, "                x-kubernetes-list-map-keys:\n")
	crd := filepath.Join(t.TempDir(), "crd.yaml")
	require.NoError(t, os.WriteFile(crd, []byte(before+"                x-kubernetes-list-type: atomic\n"+after), 0o600))
	plane, err := controlplane.Start(t.Context(), controlplane.Options{DisableControllerManager: true})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, plane.Stop()) })
	require.NoError(t, plane.InstallCRDs(t.Context(), crd))
	client, err := dynamic.NewForConfig(plane.Config())
	require.NoError(t, err)
	return client
}

func createCluster(t *testing.T, client dynamic.Interface, name string) {
	t.Helper()
	clusters := client.Resource(inferenceClusters)
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": modelplane.GroupVersion.String(), "kind": "InferenceCluster", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"cluster": map[string]any{"source": "Existing", "existing": map[string]any{"secretRef": map[string]any{"name": name}}}},
	}}
	_, err := clusters.Create(t.Context(), u, metav1.CreateOptions{FieldManager: "git"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = clusters.Delete(context.Background(), name, metav1.DeleteOptions{}) })
}

// TestNoTaintIsLost writes taints at the same time, on a hub whose list is merged by key and on one where it is one
// value.
func TestNoTaintIsLost(t *testing.T) {
	for name, client := range map[string]dynamic.Interface{
		"merged": hub.dynamic, "atomic": atomicHub(t),
	} {
		t.Run(name, func(t *testing.T) {
			createCluster(t, client, "shared")
			read := func() *modelplane.InferenceCluster {
				c, err := cli.Get[modelplane.InferenceCluster](t.Context(), client, inferenceClusters, "", "shared")
				require.NoError(t, err)
				return c
			}
			const writers = 4
			var all sync.WaitGroup
			planned := read()
			for i := range writers {
				all.Go(func() {
					w := taints.Writer{Client: client, Manager: fmt.Sprintf("person-%d", i)}
					for _, effect := range []modelplane.TaintEffect{modelplane.TaintEffectNoSchedule, modelplane.TaintEffectNoExecute} {
						latest, err := w.Add(t.Context(), planned, modelplane.Taint{Key: fmt.Sprintf("key-%d", i), Effect: effect}, "")
						if assert.NoError(t, err) {
							planned := latest
							_, err = w.Add(t.Context(), planned, modelplane.Taint{Key: fmt.Sprintf("key-%d", i), Effect: effect}, "")
							assert.NoError(t, err, "adding it twice")
						}
					}
				})
			}
			all.Wait()
			require.Len(t, read().Spec.Taints, 2*writers)

			w := taints.Writer{Client: client, Manager: "person-0"}
			_, err := w.Remove(t.Context(), planned, modelplane.Taint{Key: "key-1", Effect: modelplane.TaintEffectNoExecute})
			require.NoError(t, err, "somebody else's taint, from an old copy of the cluster")
			assert.Len(t, read().Spec.Taints, 2*writers-1)
			_, has := taints.Find(read(), "key-1", modelplane.TaintEffectNoExecute)
			assert.False(t, has)

			require.NoError(t, client.Resource(inferenceClusters).Delete(t.Context(), "shared", metav1.DeleteOptions{}))
			createCluster(t, client, "shared")
			_, err = w.Add(t.Context(), planned, modelplane.Taint{Key: "late", Effect: modelplane.TaintEffectNoExecute}, "")
			assert.True(t, apierrors.IsConflict(err), "another cluster of the same name must not be tainted: %v", err)
			assert.Empty(t, read().Spec.Taints)
		})
	}
}
