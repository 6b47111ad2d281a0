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

package clusterdelete

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func replica(name, specCluster, labelCluster string) *modelplane.ModelReplica {
	return &modelplane.ModelReplica{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, Labels: map[string]string{
			modelplane.LabelDeployment: "chat", modelplane.LabelCluster: labelCluster,
		}},
		Spec: modelplane.ModelReplicaSpec{ClusterName: specCluster},
	}
}

func deletion(t *testing.T, metadata map[string]any) admission.Request {
	t.Helper()
	metadata["name"] = "east"
	r := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Delete, Name: "east"}}
	var err error
	r.OldObject.Raw, err = json.Marshal(map[string]any{"metadata": metadata})
	require.NoError(t, err)
	return r
}

func newGuard(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) *Guard {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, modelplane.AddToScheme(scheme))
	return &Guard{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()}
}

func TestVerdicts(t *testing.T) {
	annotated := func(key, value string) map[string]any {
		return map[string]any{"annotations": map[string]string{key: value}}
	}
	for name, tc := range map[string]struct {
		metadata map[string]any
		replicas []client.Object
		denied   string
		warned   string
	}{
		"nothing on it":      {metadata: map[string]any{}},
		"others elsewhere":   {metadata: map[string]any{}, replicas: []client.Object{replica("chat-a", "west", "west")}},
		"one by its spec":    {metadata: map[string]any{}, replicas: []client.Object{replica("chat-a", "east", "")}, denied: `InferenceCluster "east" has 1 ModelReplica on it: prod/chat-a of ModelDeployment "chat". Drain it`},
		"one by its label":   {metadata: map[string]any{}, replicas: []client.Object{replica("chat-a", "west", "east")}, denied: "prod/chat-a"},
		"sorted":             {metadata: map[string]any{}, replicas: []client.Object{replica("b", "east", "east"), replica("a", "east", "east")}, denied: `has 2 ModelReplicas on it: prod/a of ModelDeployment "chat", prod/b of`},
		"insisted":           {metadata: annotated("evenkeel.io/allow-undrained-delete", "true"), replicas: []client.Object{replica("a", "east", "east")}, warned: "is deleted with 1 ModelReplica on it"},
		"insisted, not true": {metadata: annotated("evenkeel.io/allow-undrained-delete", "yes"), replicas: []client.Object{replica("a", "east", "east")}, denied: "has 1 ModelReplica"},
		"recorded before":    {metadata: annotated(modelplane.AnnotationDeletionAttempt, "Background"), replicas: []client.Object{replica("a", "east", "east")}, denied: "has 1 ModelReplica", warned: "an earlier deletion is on record"},
		"being deleted":      {metadata: map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}, replicas: []client.Object{replica("a", "east", "east")}},
	} {
		t.Run(name, func(t *testing.T) {
			response := newGuard(t, interceptor.Funcs{}, tc.replicas...).Handle(t.Context(), deletion(t, tc.metadata))
			assert.Equal(t, tc.denied == "", response.Allowed)
			if tc.denied != "" {
				assert.Contains(t, response.Result.Message, tc.denied)
			}
			if tc.warned == "" {
				assert.Empty(t, response.Warnings)
				return
			}
			require.Len(t, response.Warnings, 1)
			assert.Contains(t, response.Warnings[0], tc.warned)
		})
	}
}

// TestInDoubtItIsLetThrough is the promise of a webhook that must not be in the way.
func TestInDoubtItIsLetThrough(t *testing.T) {
	broken := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("the cache is not there")
	}}
	assert.True(t, newGuard(t, broken).Handle(t.Context(), deletion(t, map[string]any{})).Allowed)
	r := deletion(t, map[string]any{})
	r.OldObject.Raw = nil
	assert.True(t, newGuard(t, interceptor.Funcs{}).Handle(t.Context(), r).Allowed)
}
