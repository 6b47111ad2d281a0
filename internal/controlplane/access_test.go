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
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
)

func testControlPlane(t *testing.T) *ControlPlane {
	t.Helper()
	authority, err := newAuthority()
	require.NoError(t, err)
	return &ControlPlane{authority: authority, ports: map[Component]*portReservation{APIServer: {port: 6443}}}
}

func parseCertificate(t *testing.T, content []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(content)
	require.NotNil(t, block)
	certificate, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return certificate
}

func TestAddUser(t *testing.T) {
	cp := testControlPlane(t)
	config, err := cp.AddUser("jane", "ml", "sre")
	require.NoError(t, err)
	assert.Equal(t, "https://127.0.0.1:6443", config.Host)

	certificate := parseCertificate(t, config.CertData)
	assert.Equal(t, "jane", certificate.Subject.CommonName)
	assert.ElementsMatch(t, []string{"ml", "sre"}, certificate.Subject.Organization)
	roots := x509.NewCertPool()
	roots.AddCert(cp.authority.certificate)
	_, err = certificate.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	assert.NoError(t, err)

	_, err = certificate.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	assert.Error(t, err, "a user could pose as the API server")

	_, err = cp.AddUser("")
	assert.ErrorContains(t, err, "the name is empty")
}

func TestWriteKubeconfig(t *testing.T) {
	config, err := testControlPlane(t).AddUser("jane")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, WriteKubeconfig(path, config))

	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, ownerOnly, info.Mode().Perm())
	read, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	assert.Equal(t, config.Host, read.Host)
	assert.Equal(t, config.TLSClientConfig, read.TLSClientConfig)
}
