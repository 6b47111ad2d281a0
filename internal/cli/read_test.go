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
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func TestList(t *testing.T) {
	replicas := modelplane.GroupVersion.WithResource("modelreplicas")
	answers := map[string]string{
		"":       `{"kind":"ModelReplicaList","metadata":{"continue":"second"},"items":[{"metadata":{"name":"a"},"spec":{"clusterName":"east"}}]}`,
		"second": `{"kind":"ModelReplicaList","metadata":{},"items":[{"metadata":{"name":"b","creationTimestamp":"2026-03-01T12:00:00Z"},"unknown":{"x":[1]}},{"metadata":{"name":"c"}}]}`,
	}
	code, path, query := http.StatusOK, "", url.Values{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, query = r.URL.Path, r.URL.Query()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprint(w, answers[query.Get("continue")])
	}))
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	read := func(namespace string, options metav1.ListOptions) ([]modelplane.ModelReplica, error) {
		return List[modelplane.ModelReplica](t.Context(), client, replicas, namespace, options)
	}

	all, err := read("", metav1.ListOptions{LabelSelector: "a=b"})
	require.NoError(t, err)
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	assert.Equal(t, []string{"a", "b", "c"}, names)
	assert.Equal(t, "east", all[0].Spec.ClusterName)
	assert.False(t, all[1].CreationTimestamp.IsZero())
	assert.Equal(t, "/apis/modelplane.ai/v1alpha1/modelreplicas", path)
	assert.Equal(t, url.Values{"continue": {"second"}, "labelSelector": {"a=b"}}, query)

	answers[""] = `{"metadata":{},"items":[]}`
	none, err := read("ml", metav1.ListOptions{FieldSelector: "metadata.name=x"})
	require.NoError(t, err)
	assert.Empty(t, none)
	assert.Equal(t, "/apis/modelplane.ai/v1alpha1/namespaces/ml/modelreplicas", path)
	assert.Equal(t, url.Values{"fieldSelector": {"metadata.name=x"}}, query)
	_, err = List[corev1.Node](t.Context(), client, corev1.SchemeGroupVersion.WithResource("nodes"), "", metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, "/api/v1/nodes", path)

	answers[""] = `{"metadata":{"continue":"second"},"items":[]}`
	answers["second"] = `{"metadata":{},"items":[{"spec":{"clusterName":7}}]}`
	_, err = read("", metav1.ListOptions{})
	assert.ErrorContains(t, err, "decode a list of modelreplicas")

	for broken, said := range map[string]string{
		``:                        "unexpected EOF",
		`[]`:                      "[ where { belongs",
		`{"items":7}`:             "items is 7, not a list",
		`{"items":[{},`:           "EOF",
		`{"items":[{}]`:           "unexpected EOF",
		`{"items":[{}],"metadata`: "unexpected EOF",
	} {
		answers[""] = broken
		_, err = read("", metav1.ListOptions{})
		assert.ErrorContains(t, err, "decode a list of modelreplicas: ", broken)
		assert.ErrorContains(t, err, said, broken)
	}
	answers[""] = `{"items":null,"metadata":null,"other":{"items":[1]}}`
	none, err = read("", metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, none)

	code = http.StatusForbidden
	answers[""] = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}`
	_, err = read("", metav1.ListOptions{})
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.EqualError(t, err, "no")
	code = http.StatusNotFound
	answers[""] = "404 page not found"
	_, err = read("", metav1.ListOptions{})
	assert.True(t, NotServed(err), "%v", err)
}
