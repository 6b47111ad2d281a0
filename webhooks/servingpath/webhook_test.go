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

package servingpath

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

const lws = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"lws-system","name":"lws","labels":{"app.kubernetes.io/name":"lws"}},
	"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"unheardOf":{"x":1},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"main","unheardOf":true}]}}}}`

func newHandler(t testing.TB, reader client.Reader) *Handler {
	config, err := configapi.DecodeServingPathConfiguration([]byte(`{"additionalComponents":[{"name":"coredns-pods","spread":{"topologyKeys":["kubernetes.io/hostname"]},
		"match":{"kinds":["Pod"],"namespaces":["kube-system"],"labels":{"k8s-app":"kube-dns"}}}]}`))
	require.NoError(t, err)
	catalogue, err := servingpath.New(config)
	require.NoError(t, err)
	return &Handler{Catalogue: catalogue, Reader: reader}
}

func request(kind, namespace, object string) admission.Request {
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind{Kind: kind}, Namespace: namespace, Object: runtime.RawExtension{Raw: []byte(object)},
	}}
}

func TestHandle(t *testing.T) {
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lws-system", Name: "hpa"},
		Spec:       autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "lws"}},
	}
	readers := map[string]client.Reader{
		"":           fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(),
		"autoscaled": fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(autoscaler).Build(),
		"broken": fake.NewClientBuilder().WithScheme(scheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return errors.New("no cache")
			},
		}).Build(),
	}
	const pod = `{"metadata":{"labels":{"k8s-app":"kube-dns","pod-template-hash":"1"}},"spec":{"containers":[{"name":"c"}]}}`
	const proxy = `{"apiVersion":"gateway.envoyproxy.io/v1alpha1","kind":"EnvoyProxy","metadata":{"namespace":"modelplane-system","name":"cluster-gateway"},"spec":{}}`
	for name, tc := range map[string]struct {
		reader  string
		request admission.Request
		paths   []string
		filled  string
		warning string
	}{
		"filled in":          {request: request("Deployment", "lws-system", lws), paths: []string{"/spec/replicas", "/spec/template/spec/topologySpreadConstraints"}, filled: "replicas, topologySpreadConstraints"},
		"autoscaled":         {reader: "autoscaled", request: request("Deployment", "lws-system", lws)},
		"nobody can tell":    {reader: "broken", request: request("Deployment", "lws-system", lws), warning: "no cache"},
		"another Deployment": {request: request("Deployment", "x", `{"metadata":{"namespace":"x","name":"x"}}`)},
		"no Deployment":      {request: request("Deployment", "x", `{"spec":[]}`), warning: "left this object as it is"},
		"nothing":            {request: request("Deployment", "x", ``), warning: "left this object as it is"},
		"a new pod":          {request: request("Pod", "kube-system", pod), paths: []string{"/spec/topologySpreadConstraints"}, filled: "topologySpreadConstraints"},
		"a pod elsewhere":    {request: request("Pod", "team", pod)},
		"an EnvoyProxy":      {request: request("EnvoyProxy", "modelplane-system", proxy), paths: []string{"/spec/provider"}, filled: "envoyDeployment.replicas, topologySpreadConstraints, envoyPDB"},
		"no EnvoyProxy":      {request: request("EnvoyProxy", "modelplane-system", `[]`), warning: "left this object as it is"},
		"another kind":       {request: request("DaemonSet", "x", `{}`)},
	} {
		t.Run(name, func(t *testing.T) {
			response := newHandler(t, readers[tc.reader]).Handle(t.Context(), tc.request)
			require.True(t, response.Allowed, "it never refuses")
			var paths []string
			for _, patch := range response.Patches {
				paths = append(paths, patch.Path)
			}
			assert.ElementsMatch(t, tc.paths, paths, "fields that it does not know must survive")
			assert.Equal(t, tc.filled, response.AuditAnnotations[auditFilled])
			if tc.warning == "" {
				assert.Empty(t, response.Warnings)
				return
			}
			require.Len(t, response.Warnings, 1)
			assert.Contains(t, response.Warnings[0], tc.warning)
		})
	}
}

// FuzzHandle makes sure that no object ends the webhook or is refused.
func FuzzHandle(f *testing.F) {
	f.Add("Deployment", lws)
	f.Add("Pod", `{"spec":{"topologySpreadConstraints":[{}]}}`)
	f.Add("EnvoyProxy", `{"metadata":{"name":"cluster-gateway","namespace":"modelplane-system"},"spec":{"provider":{"kubernetes":{"envoyDeployment":{"pod":[]}}}}}`)
	h := newHandler(f, fake.NewClientBuilder().WithScheme(scheme.Scheme).Build())
	f.Fuzz(func(t *testing.T, kind, object string) {
		if !json.Valid([]byte(object)) {
			return
		}
		assert.True(t, h.Handle(t.Context(), request(kind, "modelplane-system", object)).Allowed)
	})
}
