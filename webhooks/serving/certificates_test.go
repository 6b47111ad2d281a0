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
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clockedIssuer makes certificates at a time that the test sets.
func clockedIssuer() (*issuer, *time.Time) {
	now := time.Date(2026, time.December, 1, 12, 0, 0, 0, time.UTC)
	i := newIssuer("hooks", "evenkeel-system")
	i.now = func() time.Time { return now }
	return i, &now
}

func bootstrapped(t *testing.T, i *issuer) keyMaterial {
	t.Helper()
	m := keyMaterial{}
	changed, err := i.repair(m)
	require.NoError(t, err)
	require.True(t, changed)
	return m
}

func clone(m keyMaterial) keyMaterial {
	c := keyMaterial{}
	for k, v := range m {
		c[k] = append([]byte(nil), v...)
	}
	return c
}

func TestAnEmptySecretIsFilled(t *testing.T) {
	i, now := clockedIssuer()
	m := bootstrapped(t, i)
	require.Len(t, certificates(m[authorityKey]), 1)
	leaf := certificates(m[certificateKey])[0]
	assert.Equal(t, []string{"hooks.evenkeel-system.svc"}, leaf.DNSNames)
	assert.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, leaf.ExtKeyUsage)
	assert.Equal(t, now.Add(certificateLife), leaf.NotAfter)

	changed, err := i.repair(m)
	require.NoError(t, err)
	assert.False(t, changed, "nothing is left to repair")
	due, _ := i.due(m)
	assert.False(t, due)
}

func TestWhatIsDamagedIsMadeAnew(t *testing.T) {
	i, _ := clockedIssuer()
	good := bootstrapped(t, i)
	other := newIssuer("other", "evenkeel-system")
	other.now = i.now
	foreign := bootstrapped(t, other)
	for name, tc := range map[string]struct {
		damage        func(keyMaterial)
		sameAuthority bool
	}{
		"no certificate":                  {func(m keyMaterial) { delete(m, certificateKey) }, true},
		"no key":                          {func(m keyMaterial) { delete(m, privateKey) }, true},
		"garbage for a certificate":       {func(m keyMaterial) { m[certificateKey] = []byte("garbage") }, true},
		"a key that does not belong":      {func(m keyMaterial) { m[privateKey] = foreign[privateKey] }, true},
		"a certificate for another name":  {func(m keyMaterial) { m[certificateKey], m[privateKey] = foreign[certificateKey], foreign[privateKey] }, true},
		"no authority":                    {func(m keyMaterial) { delete(m, authorityKey) }, false},
		"no authority's key":              {func(m keyMaterial) { delete(m, authorityPrivateKey) }, false},
		"garbage for the authority's key": {func(m keyMaterial) { m[authorityPrivateKey] = []byte("garbage") }, false},
		"another service's authority": {func(m keyMaterial) {
			m[authorityKey], m[authorityPrivateKey] = foreign[authorityKey], foreign[authorityPrivateKey]
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := clone(good)
			tc.damage(m)
			changed, err := i.repair(m)
			require.NoError(t, err)
			assert.True(t, changed)
			assert.True(t, i.authorityValid(m))
			assert.True(t, i.certificateTrusted(m))
			assert.Equal(t, tc.sameAuthority, string(m[authorityKey]) == string(good[authorityKey]))
		})
	}
}

func TestACertificateIsReplacedBeforeItsEnd(t *testing.T) {
	i, now := clockedIssuer()
	m := bootstrapped(t, i)
	*now = now.Add(certificateLife - renewBefore - time.Hour)
	due, _ := i.due(m)
	assert.False(t, due, "there is time left")
	*now = now.Add(2 * time.Hour)
	changed, err := i.repair(m)
	require.NoError(t, err)
	assert.False(t, changed, "it still serves")
	due, wait := i.due(m)
	assert.True(t, due)
	assert.Zero(t, wait, "its authority has long been known")

	before := clone(m)
	require.NoError(t, i.newCertificate(m))
	assert.Equal(t, before[authorityKey], m[authorityKey])
	due, _ = i.due(m)
	assert.False(t, due)
}

func TestANewAuthorityIsKnownBeforeItSigns(t *testing.T) {
	i, now := clockedIssuer()
	m := bootstrapped(t, i)
	// A certificate of an authority that comes near its end.
	*now = now.Add(authorityLife - renewBefore - 30*24*time.Hour)
	require.NoError(t, i.newCertificate(m))
	*now = now.Add(31 * 24 * time.Hour)
	before := clone(m)

	changed, err := i.repair(m)
	require.NoError(t, err)
	require.True(t, changed)
	bundle := certificates(m[authorityKey])
	require.Len(t, bundle, 2, "the new authority and the one in use")
	assert.Equal(t, certificates(before[authorityKey])[0].Raw, bundle[1].Raw)
	assert.Equal(t, before[certificateKey], m[certificateKey], "the certificate in use stays")
	due, wait := i.due(m)
	assert.True(t, due)
	assert.Equal(t, overlap, wait)

	*now = now.Add(overlap)
	due, wait = i.due(m)
	assert.True(t, due)
	assert.Zero(t, wait)
	require.NoError(t, i.newCertificate(m))
	leaf := certificates(m[certificateKey])[0]
	assert.True(t, verifies(leaf, bundle[:1], "hooks.evenkeel-system.svc", *now), "the new authority has signed it")
	assert.False(t, verifies(leaf, bundle[1:], "hooks.evenkeel-system.svc", *now))

	// The next rotation leaves the first authority behind.
	*now = now.Add(authorityLife - renewBefore - 30*24*time.Hour)
	require.NoError(t, i.newCertificate(m))
	*now = now.Add(31 * 24 * time.Hour)
	_, err = i.repair(m)
	require.NoError(t, err)
	next := certificates(m[authorityKey])
	require.Len(t, next, 2)
	assert.Equal(t, bundle[0].Raw, next[1].Raw)
}
