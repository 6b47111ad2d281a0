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
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
)

// The keys of the Secret. The first certificate of the authority's bundle is the one that signs.
const (
	authorityKey        = "ca.crt"
	authorityPrivateKey = "ca.key"
	certificateKey      = corev1.TLSCertKey
	privateKey          = corev1.TLSPrivateKeyKey
)

const (
	authorityLife   = 10 * 365 * 24 * time.Hour
	certificateLife = 365 * 24 * time.Hour
	// renewBefore is how long before its end a certificate is replaced.
	renewBefore = 90 * 24 * time.Hour
	// backdated is how far in the past a certificate's life begins, for clocks that are late.
	backdated = time.Hour
	// overlap is how long an authority is known before it signs: API servers learn of a changed configuration by watch.
	overlap = 30 * time.Second
)

const organization = "evenkeel"

// issuer makes the certificates of one server.
type issuer struct {
	rotator rotator.CertRotator
	now     func() time.Time
}

// newIssuer makes one for the DNS name by which API servers call the service.
func newIssuer(service, namespace string) *issuer {
	name := service + "." + namespace + ".svc"
	return &issuer{
		rotator: rotator.CertRotator{
			CAName:         name + "-ca",
			CAOrganization: organization,
			DNSName:        name,
			ExtKeyUsages:   &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		},
		now: time.Now,
	}
}

// keyMaterial is what the Secret holds.
type keyMaterial map[string][]byte

// repair puts right what keeps the server from serving: an authority that is missing, damaged or near its end, and a
// certificate that is missing or that no known authority has signed. It tells whether anything changed. A certificate
// that an older authority has signed stays, since that authority stays in the bundle.
func (i *issuer) repair(m keyMaterial) (bool, error) {
	changed := false
	if !i.authorityValid(m) {
		if err := i.newAuthority(m); err != nil {
			return false, err
		}
		changed = true
	}
	if !i.certificateTrusted(m) {
		if err := i.newCertificate(m); err != nil {
			return false, err
		}
		changed = true
	}
	return changed, nil
}

// due tells whether the certificate should be replaced although it still serves: it comes near its end, or the current
// authority has not signed it. wait is how long to leave it nevertheless, for API servers to learn of a new authority.
func (i *issuer) due(m keyMaterial) (due bool, wait time.Duration) {
	valid, err := rotator.ValidCert(m[authorityKey], m[certificateKey], m[privateKey], i.rotator.DNSName, i.rotator.ExtKeyUsages, i.now().Add(renewBefore))
	if err == nil && valid {
		return false, 0
	}
	authorities := certificates(m[authorityKey])
	if len(authorities) == 0 {
		return true, 0
	}
	known := i.now().Sub(authorities[0].NotBefore.Add(backdated))
	return true, max(0, overlap-known)
}

func (i *issuer) authorityValid(m keyMaterial) bool {
	valid, err := rotator.ValidCert(m[authorityKey], m[authorityKey], m[authorityPrivateKey], i.rotator.CAName, nil, i.now().Add(renewBefore))
	return err == nil && valid
}

// certificateTrusted tells whether the certificate is good now for those who trust any authority of the bundle.
func (i *issuer) certificateTrusted(m keyMaterial) bool {
	if _, err := tls.X509KeyPair(m[certificateKey], m[privateKey]); err != nil {
		return false
	}
	return verifies(certificates(m[certificateKey])[0], certificates(m[authorityKey]), i.rotator.DNSName, i.now())
}

func verifies(certificate *x509.Certificate, authorities []*x509.Certificate, name string, at time.Time) bool {
	pool := x509.NewCertPool()
	for _, authority := range authorities {
		pool.AddCert(authority)
	}
	_, err := certificate.Verify(x509.VerifyOptions{DNSName: name, Roots: pool, CurrentTime: at})
	return err == nil
}

// newAuthority puts a new authority in front of the one that has signed the certificate in use, if any.
func (i *issuer) newAuthority(m keyMaterial) error {
	begin := i.now().Add(-backdated)
	authority, err := i.rotator.CreateCACert(begin, i.now().Add(authorityLife))
	if err != nil {
		return fmt.Errorf("make a certificate authority: %w", err)
	}
	bundle := bytes.Clone(authority.CertPEM)
	if i.certificateTrusted(m) {
		leaf := certificates(m[certificateKey])[0]
		for _, previous := range certificates(m[authorityKey]) {
			if verifies(leaf, []*x509.Certificate{previous}, i.rotator.DNSName, i.now()) {
				bundle = append(bundle, encode(previous)...)
			}
		}
	}
	m[authorityKey], m[authorityPrivateKey] = bundle, authority.KeyPEM
	return nil
}

// newCertificate has the current authority sign a certificate.
func (i *issuer) newCertificate(m keyMaterial) error {
	authority, err := signer(m)
	if err != nil {
		return fmt.Errorf("read the certificate authority: %w", err)
	}
	certificate, key, err := i.rotator.CreateCertPEM(authority, i.now().Add(-backdated), i.now().Add(certificateLife))
	if err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	m[certificateKey], m[privateKey] = certificate, key
	return nil
}

func signer(m keyMaterial) (*rotator.KeyPairArtifacts, error) {
	authorities := certificates(m[authorityKey])
	block, _ := pem.Decode(m[authorityPrivateKey])
	if len(authorities) == 0 || block == nil {
		return nil, errors.New("not in PEM form")
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	return &rotator.KeyPairArtifacts{Cert: authorities[0], Key: key}, nil
}

// certificates reads a bundle. What is no certificate is skipped: it would count for nobody.
func certificates(bundle []byte) []*x509.Certificate {
	var list []*x509.Certificate
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return list
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
			list = append(list, certificate)
		}
	}
}

func encode(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}
