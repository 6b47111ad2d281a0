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

package probe

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

var service = types.NamespacedName{Namespace: "prod", Name: "chat"}

func nothingKnown(Target) *v1beta1.TrafficMapProbe { return nil }

// quick is a policy at a test's pace, which Resolve would not let through.
func quick() *Policy {
	p := policy()
	p.Period, p.Timeout, p.FailureThreshold, p.SuccessThreshold = 5*time.Millisecond, 4*time.Second, 1, 1
	return p
}

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, time.Minute, 5*time.Millisecond)
}

func TestProber(t *testing.T) {
	var status atomic.Int32
	var asked atomic.Int64
	status.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		assert.Equal(t, "/base/health", r.URL.Path)
		assert.Equal(t, "deep=1", r.URL.RawQuery)
		if code := int(status.Load()); code == http.StatusFound {
			http.Redirect(w, r, "/elsewhere", code)
		} else {
			w.WriteHeader(code)
		}
	}))
	defer server.Close()
	var told atomic.Int64
	p := NewProber(t.Context(), func(s types.NamespacedName) {
		assert.Equal(t, service, s)
		told.Add(1)
	})
	policy := quick()
	policy.Path = "/health?deep=1"
	target := Target{Owner: "uid", Cluster: "worker-a", Endpoint: server.URL + "/base", Digest: policy.Digest()}
	p.Watch(service, policy, []Target{target}, nothingKnown)
	saying := func(result v1beta1.ProbeResult, gated bool, message string) func() bool {
		return func() bool {
			o := p.Observed(service, target)
			return o != nil && o.Result == result && o.Gated == gated && o.Message == message
		}
	}
	eventually(t, saying(v1beta1.ProbePassing, false, "HTTP 200"))
	status.Store(http.StatusServiceUnavailable)
	eventually(t, saying(v1beta1.ProbeFailing, true, "HTTP 503"))
	status.Store(http.StatusFound)
	eventually(t, saying(v1beta1.ProbeUnknown, true, "HTTP 302 (not in accept or gate list)"))
	status.Store(http.StatusOK)
	eventually(t, saying(v1beta1.ProbePassing, false, "HTTP 200"))
	assert.EqualValues(t, 4, told.Load(), "what is as before is not told")

	p.Watch(service, policy, []Target{target}, nothingKnown)
	assert.NotNil(t, p.Observed(service, target), "watching on forgets nothing")
	server.Close()
	eventually(t, saying(v1beta1.ProbeFailing, true, "transport error: connection refused"))
	p.Forget(service)
	assert.Nil(t, p.Observed(service, target))
	before := asked.Load()
	other := Target{Owner: "uid-2", Cluster: "worker-a", Endpoint: server.URL + "/base", Digest: policy.Digest()}
	p.Watch(service, policy, []Target{other}, nothingKnown)
	eventually(t, func() bool { return p.Observed(service, other) != nil })
	assert.Equal(t, before, asked.Load())
}

func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	p := NewProber(t.Context(), func(types.NamespacedName) {})
	policy := quick()
	policy.Timeout = time.Millisecond
	result, message := p.probe(t.Context(), Target{Endpoint: server.URL}, policy)
	assert.Equal(t, v1beta1.ProbeFailing, result)
	assert.Equal(t, "transport error: timeout", message)
}

func TestEndpointThatCannotBeAsked(t *testing.T) {
	p := NewProber(t.Context(), func(types.NamespacedName) {})
	for _, endpoint := range []string{"", "://", "ftp://a.example.com", "/path"} {
		result, message := p.probe(t.Context(), Target{Endpoint: endpoint}, policy())
		assert.Equal(t, v1beta1.ProbeUnknown, result, endpoint)
		assert.Contains(t, message, "probe could not run: ")
	}
}

// TestStartsFromWhatIsKnown checks that a restart does not send traffic to an endpoint that
// was out.
func TestStartsFromWhatIsKnown(t *testing.T) {
	p := NewProber(t.Context(), func(types.NamespacedName) {})
	policy := policy()
	policy.Period = time.Hour
	target := Target{Endpoint: "http://localhost", Digest: policy.Digest()}
	known := State{Gated: true, Failures: 3, Result: v1beta1.ProbeFailing, Message: "HTTP 503"}.entry(policy.Digest())
	p.Watch(service, policy, []Target{target}, func(Target) *v1beta1.TrafficMapProbe { return known })
	assert.True(t, p.Observed(service, target).Gated)
}
