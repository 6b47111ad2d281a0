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

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func TestReadAll(t *testing.T) {
	replicas := modelplane.GroupVersion.WithResource("modelreplicas")
	answers := map[string]string{
		"":       `{"kind":"ModelReplicaList","metadata":{"continue":"second"},"items":[{"metadata":{"name":"a"},"spec":{"clusterName":"east"}}]}`,
		"second": `{"kind":"ModelReplicaList","metadata":{},"items":[{"metadata":{"name":"b","creationTimestamp":"2026-03-01T12:00:00Z"},"unknown":{"x":[1]}},{"metadata":{"name":"c"}}]}`,
	}
	code, selector := http.StatusOK, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/apis/modelplane.ai/v1alpha1/modelreplicas", r.URL.Path)
		assert.Equal(t, "500", r.URL.Query().Get("limit"))
		selector = r.URL.Query().Get("labelSelector")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprint(w, answers[r.URL.Query().Get("continue")])
	}))
	defer server.Close()
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	f := NewFactory(Evenkeel, streams)
	f.Flags.APIServer = ptr.To(server.URL)
	reader, err := f.Reader()
	require.NoError(t, err)

	all, err := ReadAll[modelplane.ModelReplica](t.Context(), reader, replicas, "a=b")
	require.NoError(t, err)
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	assert.Equal(t, []string{"a", "b", "c"}, names)
	assert.Equal(t, "east", all[0].Spec.ClusterName)
	assert.False(t, all[1].CreationTimestamp.IsZero())
	assert.Equal(t, "a=b", selector)

	answers["second"] = `{"metadata":{},"items":[{"spec":{"clusterName":7}}]}`
	_, err = ReadAll[modelplane.ModelReplica](t.Context(), reader, replicas, "")
	assert.ErrorContains(t, err, "decode a list of modelreplicas")

	code = http.StatusForbidden
	answers[""] = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}`
	_, err = ReadAll[modelplane.ModelReplica](t.Context(), reader, replicas, "")
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.EqualError(t, err, "no")
	code = http.StatusNotFound
	answers[""] = "404 page not found"
	_, err = ReadAll[modelplane.ModelReplica](t.Context(), reader, replicas, "")
	assert.True(t, NotServed(err), "%v", err)
}
