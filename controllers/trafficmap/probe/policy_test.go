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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

func TestResolve(t *testing.T) {
	installation := policy()
	own := func(change func(*v1beta1.RoutingProbe)) *v1beta1.RoutingProbe {
		p := &v1beta1.RoutingProbe{
			Path: "/own", Method: "HEAD", AcceptStatuses: []int32{204}, GateStatuses: []int32{500},
			Period: &metav1.Duration{Duration: 2 * time.Second}, Timeout: &metav1.Duration{Duration: time.Second},
			FailureThreshold: 1, SuccessThreshold: 1, AllFailedPolicy: v1beta1.DrainTraffic,
		}
		change(p)
		return p
	}
	got, err := Resolve(installation, nil)
	require.NoError(t, err)
	assert.Same(t, installation, got)
	got, err = Resolve(installation, &v1beta1.RoutingProbe{Disabled: true})
	require.NoError(t, err)
	assert.Nil(t, got)
	got, err = Resolve(installation, own(func(*v1beta1.RoutingProbe) {}))
	require.NoError(t, err)
	assert.Equal(t, "/own", got.Path)
	assert.Equal(t, v1beta1.DrainTraffic, got.AllFailed)

	for want, change := range map[string]func(*v1beta1.RoutingProbe){
		`path must begin with "/", got "own"`:                                        func(p *v1beta1.RoutingProbe) { p.Path = "own" },
		`method must be GET, HEAD or POST, got "PUT"`:                                func(p *v1beta1.RoutingProbe) { p.Method = "PUT" },
		`acceptStatuses and gateStatuses must each name a status`:                    func(p *v1beta1.RoutingProbe) { p.GateStatuses = nil },
		`acceptStatuses and gateStatuses must have no status in common`:              func(p *v1beta1.RoutingProbe) { p.GateStatuses = []int32{204} },
		`gateStatuses must not name 401, 403 or 429, which say nothing about health`: func(p *v1beta1.RoutingProbe) { p.GateStatuses = []int32{429} },
		`period must be at least 1s, got 0s`:                                         func(p *v1beta1.RoutingProbe) { p.Period = nil },
		`timeout must be positive and shorter than period, which is 2s, got 2s`:      func(p *v1beta1.RoutingProbe) { p.Timeout.Duration = 2 * time.Second },
		`failureThreshold and successThreshold must be at least 1, got 0 and 1`:      func(p *v1beta1.RoutingProbe) { p.FailureThreshold = 0 },
		`allFailedPolicy must be PreserveTraffic or Drain, got ""`:                   func(p *v1beta1.RoutingProbe) { p.AllFailedPolicy = "" },
	} {
		_, err := Resolve(installation, own(change))
		assert.EqualError(t, err, "resolve probe policy: spec.routing.probe."+want)
	}
}

func TestDigest(t *testing.T) {
	assert.Regexp(t, `^sha256:[0-9a-f]{64}$`, policy().Digest())
	assert.Equal(t, policy().Digest(), policy().Digest())
	changed := policy()
	changed.FailureThreshold++
	assert.NotEqual(t, policy().Digest(), changed.Digest())
}
