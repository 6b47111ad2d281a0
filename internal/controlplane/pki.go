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
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// certificateLifetime outlasts any test; nothing rotates these certificates.
const certificateLifetime = 365 * 24 * time.Hour

// clockSkew lets a certificate be used at once where the file system's or a
// virtual machine's clock lags a little.
const clockSkew = time.Minute

// authority is the one certificate authority of a control plane: it signs the
// servers' certificates and the users'.
type authority struct {
	certificate    *x509.Certificate
	key            *ecdsa.PrivateKey
	certificatePEM []byte
}

// keyPair is a certificate and its key, both as PEM.
type keyPair struct {
	certificatePEM, keyPEM []byte
}

func newAuthority() (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	certificate, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: "evenkeel-controlplane"}, key)
	if err != nil {
		return nil, fmt.Errorf("create a certificate authority: %w", err)
	}
	pem, err := certutil.EncodeCertificates(certificate)
	if err != nil {
		return nil, fmt.Errorf("encode the certificate authority: %w", err)
	}
	return &authority{certificate: certificate, key: key, certificatePEM: pem}, nil
}

// issueServing signs a certificate for a server on loopback.
func (a *authority) issueServing() (*keyPair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "localhost"},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// issueClient signs a certificate that the API server reads as a user with groups.
func (a *authority) issueClient(user string, groups []string) (*keyPair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *authority) issue(template *x509.Certificate) (*keyPair, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	const serialBits = 127
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, fmt.Errorf("create a serial number: %w", err)
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-clockSkew)
	template.NotAfter = time.Now().Add(certificateLifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %q: %w", template.Subject.CommonName, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse the certificate of %q: %w", template.Subject.CommonName, err)
	}
	certificatePEM, err := certutil.EncodeCertificates(certificate)
	if err != nil {
		return nil, fmt.Errorf("encode the certificate of %q: %w", template.Subject.CommonName, err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, fmt.Errorf("encode the key of %q: %w", template.Subject.CommonName, err)
	}
	return &keyPair{certificatePEM: certificatePEM, keyPEM: keyPEM}, nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create a key: %w", err)
	}
	return key, nil
}

// writePKI writes what the components read: the authority, one serving certificate
// for all of them, the aggregation layer's client with an authority of its own (or
// every user's certificate could impersonate others), and the key that signs
// service account tokens.
func (a *authority) writePKI(f files) error {
	serving, err := a.issueServing()
	if err != nil {
		return err
	}
	authorityKeyPEM, err := keyutil.MarshalPrivateKeyToPEM(a.key)
	if err != nil {
		return fmt.Errorf("encode the certificate authority's key: %w", err)
	}
	proxyAuthority, err := newAuthority()
	if err != nil {
		return err
	}
	proxyClient, err := proxyAuthority.issueClient(proxyUser, nil)
	if err != nil {
		return err
	}
	serviceAccountKey, err := newKey()
	if err != nil {
		return err
	}
	serviceAccountKeyPEM, err := keyutil.MarshalPrivateKeyToPEM(serviceAccountKey)
	if err != nil {
		return fmt.Errorf("encode the service account key: %w", err)
	}
	for path, content := range map[string][]byte{
		f.authority():         a.certificatePEM,
		f.authorityKey():      authorityKeyPEM,
		f.serving():           serving.certificatePEM,
		f.servingKey():        serving.keyPEM,
		f.proxyAuthority():    proxyAuthority.certificatePEM,
		f.proxyClient():       proxyClient.certificatePEM,
		f.proxyClientKey():    proxyClient.keyPEM,
		f.serviceAccountKey(): serviceAccountKeyPEM,
	} {
		if err := os.WriteFile(path, content, ownerOnly); err != nil {
			return err
		}
	}
	return nil
}
