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

package controlplane

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// serveHealth answers as a component of cp does, with the given status code.
func serveHealth(t *testing.T, cp *ControlPlane, component Component, status *int) {
	t.Helper()
	pair, err := cp.authority.issueServing()
	require.NoError(t, err)
	certificate, err := tls.X509KeyPair(pair.certificatePEM, pair.keyPEM)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the body", *status)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it reports the clients that do not trust it
	server.StartTLS()
	t.Cleanup(server.Close)
	address, ok := server.Listener.Addr().(*net.TCPAddr)
	require.True(t, ok)
	cp.ports[component] = &portReservation{port: address.Port}
}

func TestControllerManagerIsReadyWhenPodsAreAdmitted(t *testing.T) {
	cp := testControlPlane(t)
	admin := fake.NewClientset()
	cp.admin = admin
	status := http.StatusInternalServerError
	serveHealth(t, cp, ControllerManager, &status)
	ready := cp.probe(ControllerManager)

	assert.ErrorContains(t, ready(t.Context()), "answered 500 Internal Server Error: the body")

	status = http.StatusOK
	err := ready(t.Context())
	assert.True(t, apierrors.IsNotFound(err), "without the default service account it is not ready; got %v", err)

	_, err = admin.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.NoError(t, ready(t.Context()))
}

// Whoever got the port by accident must not pass for the component.
func TestProbeTrustsOnlyItsOwnAuthority(t *testing.T) {
	cp, stranger := testControlPlane(t), testControlPlane(t)
	status := http.StatusOK
	serveHealth(t, stranger, Scheduler, &status)
	cp.ports[Scheduler] = stranger.ports[Scheduler]

	assert.NoError(t, stranger.probe(Scheduler)(t.Context()))
	assert.ErrorContains(t, cp.probe(Scheduler)(t.Context()), "certificate")
}

func TestEtcdProbeUsesTheSocket(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	f, err := createFolder()
	require.NoError(t, err)
	cp := &ControlPlane{folder: f}
	assert.ErrorContains(t, cp.probe(Etcd)(t.Context()), filepath.Base(f.etcdHTTPSocket()))
}
