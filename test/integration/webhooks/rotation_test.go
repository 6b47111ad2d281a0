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
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

const (
	// rate of requests while certificates are rotated.
	rate = 100
	// inFlight bounds those that wait for an answer, so that a slow machine does not run into timeouts.
	inFlight = 16
)

// load sends requests until it is stopped, and keeps what went wrong.
type load struct {
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu     sync.Mutex
	sent   int
	faults []string
}

// startLoad has request sent so many times a second.
func startLoad(ctx context.Context, request func(context.Context) error) *load {
	ctx, cancel := context.WithCancel(ctx)
	l := &load{cancel: cancel}
	places := make(chan struct{}, inFlight)
	l.group.Go(func() {
		wait.UntilWithContext(ctx, func(context.Context) {
			places <- struct{}{}
			l.group.Go(func() {
				defer func() { <-places }()
				// One that was sent is waited for, so that the end of the load is no fault.
				l.note(request(context.WithoutCancel(ctx)))
			})
		}, time.Second/rate)
	})
	return l
}

func (l *load) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	if err != nil {
		l.faults = append(l.faults, err.Error())
	}
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent
}

// stop waits for the last answer.
func (l *load) stop() (sent int, faults []string) {
	l.cancel()
	l.group.Wait()
	return l.sent, l.faults
}

// TestCertificatesAreRotatedUnderLoad rotates the certificate several times, and then the authority, while the API server
// asks the guard a hundred times a second, and as often somebody does who makes a connection for each request, as API
// servers do that have just started.
func TestCertificatesAreRotatedUnderLoad(t *testing.T) {
	service := newService(t, namespaced(t), entry("worker-a", 7), entry("worker-b", 3))
	edit := annotate(key, value(drain("a", "worker-a")))
	throughServer := startLoad(t.Context(), func(ctx context.Context) error {
		return hub.client.Patch(ctx, service.DeepCopy(), edit, client.DryRunAll)
	})
	direct := startLoad(t.Context(), reviewOnNewConnection)

	for range 3 {
		certificate := secretData(t)["tls.crt"]
		changeSecret(t, `{"data":{"tls.crt":null,"tls.key":null}}`)
		poll(t, "no new certificate is served", func(context.Context) bool {
			fresh := secretData(t)["tls.crt"]
			return len(fresh) > 0 && !bytes.Equal(fresh, certificate) && servedIs(t, fresh)
		})
		settle(t, throughServer, direct)
	}
	before := secretData(t)
	changeSecret(t, `{"data":{"ca.key":null}}`)
	poll(t, "the new authority is not published beside the old one", func(context.Context) bool {
		return strings.Count(string(publishedAuthority(t)), "BEGIN CERTIFICATE") == 2
	})
	settle(t, throughServer, direct)
	after := secretData(t)
	assert.Equal(t, before["tls.crt"], after["tls.crt"], "the new authority does not sign before it is known everywhere")
	assert.Contains(t, string(after["ca.crt"]), string(before["ca.crt"]))

	for name, l := range map[string]*load{"through the API server": throughServer, "direct": direct} {
		sent, faults := l.stop()
		assert.Empty(t, faults, "%s: %d of %d requests failed", name, len(faults), sent)
	}
}

// settle lets a number of requests go by.
func settle(t *testing.T, loads ...*load) {
	t.Helper()
	for _, l := range loads {
		start := l.count()
		poll(t, "no requests come through", func(context.Context) bool { return l.count() >= start+rate/2 })
	}
}

func poll(t *testing.T, what string, done func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), hubtest.Interval, hubtest.Patience, true, func(ctx context.Context) (bool, error) {
		return done(ctx), nil
	})
	require.NoError(t, err, what)
}

func secretData(t *testing.T) map[string][]byte {
	t.Helper()
	secret := &corev1.Secret{}
	require.NoError(t, hub.client.Get(t.Context(), client.ObjectKey{Namespace: hubtest.SystemNamespace, Name: "hub-manager-webhooks"}, secret))
	return secret.Data
}

func changeSecret(t *testing.T, patch string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1Named(hubtest.SystemNamespace, "hub-manager-webhooks")}
	require.NoError(t, hub.client.Patch(t.Context(), secret, client.RawPatch(types.MergePatchType, []byte(patch))))
}

func publishedAuthority(t *testing.T) []byte {
	t.Helper()
	bundle, err := bundleOf(t.Context())
	require.NoError(t, err)
	return bundle
}

func bundleOf(ctx context.Context) ([]byte, error) {
	c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := hub.client.Get(ctx, client.ObjectKey{Name: "evenkeel-hub-manager"}, c); err != nil {
		return nil, err
	}
	return c.Webhooks[0].ClientConfig.CABundle, nil
}

// servedIs tells whether the server answers with this certificate.
func servedIs(t *testing.T, certificate []byte) bool {
	t.Helper()
	connection, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", hub.port), &tls.Config{InsecureSkipVerify: true})
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	served := connection.ConnectionState().PeerCertificates[0]
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(certificate))
	_, err = served.Verify(x509.VerifyOptions{Roots: pool})
	return err == nil
}

// reviewOnNewConnection asks the guard what an API server would ask, with the trust that the configuration gives.
func reviewOnNewConnection(ctx context.Context) error {
	bundle, err := bundleOf(ctx)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: "hub-manager-webhooks.evenkeel-system.svc"},
		DisableKeepAlives: true,
	}
	defer transport.CloseIdleConnections()
	review := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE","namespace":"default","dryRun":true,` +
		`"object":{"metadata":{"name":"chat","annotations":{"` + ome.TrafficDrainAnnotation + `":"{}"}}}}}`
	url := fmt.Sprintf("https://127.0.0.1:%d/validate-ome-io-v1beta1-inferenceservice-traffic-drain", hub.port)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(review))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if !bytes.Contains(body, []byte(`"allowed":true`)) {
		return fmt.Errorf("answered %s: %s", response.Status, body)
	}
	return nil
}
