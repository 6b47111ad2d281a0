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

package serving

import (
	"context"
	"crypto/x509"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var secretKey = types.NamespacedName{Namespace: "evenkeel-system", Name: "hooks"}

func emptySecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secretKey.Namespace, Name: secretKey.Name}}
}

func clientConfig(service string) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{Namespace: "evenkeel-system", Name: service},
	}
}

func validating(webhooks ...string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	c := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "ours"}}
	for _, service := range webhooks {
		c.Webhooks = append(c.Webhooks, admissionregistrationv1.ValidatingWebhook{Name: service + ".example.com", ClientConfig: clientConfig(service)})
	}
	return c
}

func mutating() *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "ours"},
		Webhooks:   []admissionregistrationv1.MutatingWebhook{{Name: "hooks.example.com", ClientConfig: clientConfig("hooks")}},
	}
}

// replica is one of a program's replicas. They share a hub and a clock.
type replica struct {
	*reconciler
	t *testing.T
}

func newReplica(t *testing.T, hub client.Client, now *time.Time) replica {
	t.Helper()
	s, err := New(Options{
		BindAddress: "127.0.0.1:0", Namespace: "evenkeel-system", Service: "hooks", Secret: "hooks", Validating: "ours", Mutating: "ours",
	})
	require.NoError(t, err)
	s.issuer.now = func() time.Time { return *now }
	return replica{reconciler: &reconciler{server: s, client: hub}, t: t}
}

func (r replica) reconcile() ctrl.Result {
	r.t.Helper()
	result, err := r.Reconcile(r.t.Context(), ctrl.Request{NamespacedName: secretKey})
	require.NoError(r.t, err)
	return result
}

// served is the certificate that a handshake gets.
func (r replica) served() *x509.Certificate {
	r.t.Helper()
	pair, err := r.server.certificate(nil)
	require.NoError(r.t, err)
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	require.NoError(r.t, err)
	return certificate
}

func fakeHub(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()
}

// bundles gives what each webhook of both configurations trusts, keyed by kind and name.
func bundles(t *testing.T, hub client.Client) map[string]string {
	t.Helper()
	found := map[string]string{}
	v, m := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}
	require.NoError(t, hub.Get(t.Context(), client.ObjectKey{Name: "ours"}, v))
	require.NoError(t, hub.Get(t.Context(), client.ObjectKey{Name: "ours"}, m))
	for _, w := range v.Webhooks {
		found["validating "+w.Name] = string(w.ClientConfig.CABundle)
	}
	for _, w := range m.Webhooks {
		found["mutating "+w.Name] = string(w.ClientConfig.CABundle)
	}
	return found
}

func TestFromAnEmptySecretToTrust(t *testing.T) {
	now := time.Now()
	hub := fakeHub(t, interceptor.Funcs{}, emptySecret(), validating("other", "hooks"), mutating())
	first, second := newReplica(t, hub, &now), newReplica(t, hub, &now)
	_, err := first.server.certificate(nil)
	assert.ErrorContains(t, err, "no certificate yet: Secret evenkeel-system/hooks")

	assert.Equal(t, ctrl.Result{RequeueAfter: checkInterval}, first.reconcile())
	second.reconcile()
	assert.Equal(t, first.served().Raw, second.served().Raw, "all replicas serve the same")

	secret := &corev1.Secret{}
	require.NoError(t, hub.Get(t.Context(), secretKey, secret))
	authority := string(secret.Data["ca.crt"])
	assert.Equal(t, map[string]string{
		"validating other.example.com": "", "validating hooks.example.com": authority, "mutating hooks.example.com": authority,
	}, bundles(t, hub), "only what calls our Service trusts our authority")

	// A configuration that is applied anew gets the authority again.
	require.NoError(t, hub.Delete(t.Context(), mutating()))
	second.reconcile()
	require.NoError(t, hub.Create(t.Context(), mutating()))
	second.reconcile()
	assert.Equal(t, authority, bundles(t, hub)["mutating hooks.example.com"])
}

// TestAnAuthorityIsReplaced follows both replicas through the rotation: at each step what is served must be trusted.
func TestAnAuthorityIsReplaced(t *testing.T) {
	now := time.Now().Truncate(time.Second) // certificates know no less
	hub := fakeHub(t, interceptor.Funcs{}, emptySecret(), validating("hooks"), mutating())
	replicas := []replica{newReplica(t, hub, &now), newReplica(t, hub, &now)}
	trusted := func() {
		t.Helper()
		for _, r := range replicas {
			for name, bundle := range bundles(t, hub) {
				assert.True(t, verifies(r.served(), certificates([]byte(bundle)), "hooks.evenkeel-system.svc", now), name)
			}
		}
	}
	for _, r := range replicas {
		r.reconcile()
	}
	trusted()
	before := replicas[0].served().Raw

	secret := &corev1.Secret{}
	require.NoError(t, hub.Get(t.Context(), secretKey, secret))
	delete(secret.Data, "ca.key")
	require.NoError(t, hub.Update(t.Context(), secret))
	for _, r := range replicas {
		assert.Equal(t, ctrl.Result{RequeueAfter: overlap}, r.reconcile())
		trusted()
		assert.Equal(t, before, r.served().Raw)
	}
	assert.Equal(t, 2, strings.Count(bundles(t, hub)["mutating hooks.example.com"], "BEGIN CERTIFICATE"))

	now = now.Add(overlap)
	for _, r := range replicas {
		assert.Equal(t, ctrl.Result{RequeueAfter: checkInterval}, r.reconcile())
		trusted()
		assert.NotEqual(t, before, r.served().Raw)
	}
}

func TestOfTwoThatWriteOneLooksAgain(t *testing.T) {
	now := time.Now()
	conflict := interceptor.Funcs{Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
		return apierrors.NewConflict(corev1.Resource("secrets"), "hooks", nil)
	}}
	r := newReplica(t, fakeHub(t, conflict, emptySecret(), validating("hooks"), mutating()), &now)
	assert.Equal(t, ctrl.Result{RequeueAfter: time.Second}, r.reconcile())
	_, err := r.server.certificate(nil)
	assert.Error(t, err, "what was not stored is not served")
}

func TestWithoutASecret(t *testing.T) {
	now := time.Now()
	r := newReplica(t, fakeHub(t, interceptor.Funcs{}), &now)
	assert.Equal(t, ctrl.Result{}, r.reconcile(), "its arrival is watched")
}

func TestNewRefusesBadAddresses(t *testing.T) {
	for _, address := range []string{"", "9443", "host:port"} {
		_, err := New(Options{BindAddress: address})
		assert.ErrorContains(t, err, "webhook server", address)
	}
}

func TestReadiness(t *testing.T) {
	now := time.Now()
	r := newReplica(t, fakeHub(t, interceptor.Funcs{}), &now)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)
	require.NoError(t, err)
	assert.Error(t, r.server.readiness(nil)(request), "the server has not been started")
}
