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

package v1alpha1

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const trafficMapHeader = "apiVersion: config.evenkeel.io/v1alpha1\nkind: HubManagerConfiguration\ntrafficMap:\n"

const goodProbe = "  probe: {path: /health, method: GET, acceptStatuses: [200], gateStatuses: [503], period: 5s, timeout: 1s, failureThreshold: 3, successThreshold: 2, allFailedPolicy: Drain"

func TestTrafficMapDefaults(t *testing.T) {
	c, err := DecodeHubManagerConfiguration(nil)
	require.NoError(t, err)
	assert.False(t, *c.TrafficMap.Enabled, "it is off unless switched on")
	assert.Equal(t, "ome", c.TrafficMap.OMENamespace)
	assert.Nil(t, c.TrafficMap.Gateway)
	c, err = DecodeHubManagerConfiguration([]byte(trafficMapHeader + "  gateway: {namespace: gateways, name: global, backendPort: 443}\n" + goodProbe + "}\n"))
	require.NoError(t, err)
	assert.Equal(t, time.Minute, c.TrafficMap.Gateway.ResyncInterval.Duration)
	assert.EqualValues(t, 3, c.TrafficMap.Probe.FailureThreshold)
}

func TestTrafficMapMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"  omeNamespace: O":                                                           "trafficMap.omeNamespace",
		"  maxConcurrentReconciles: 0":                                                "trafficMap.maxConcurrentReconciles",
		"  maxConcurrentReconciles: 1001":                                             "must be at most 1000",
		"  gateway: {namespace: G, name: global, backendPort: 443}":                   "trafficMap.gateway.namespace",
		"  gateway: {namespace: g, name: '', backendPort: 443}":                       "trafficMap.gateway.name",
		"  gateway: {namespace: g, name: global, backendPort: 0}":                     "must be from 1 to 65535",
		"  gateway: {namespace: g, name: a, backendPort: 1, routeNamespace: R}":       "trafficMap.gateway.routeNamespace",
		"  gateway: {namespace: g, name: a, backendPort: 1, hostTemplate: '{{.Name'}": "trafficMap.gateway.hostTemplate",
		"  gateway: {namespace: g, name: a, backendPort: 1, resyncInterval: 1ms}":     "must be at least 1s",
		goodProbe + ", path: health}":                                                 "path",
		"  probe: {path: health}":                                                     `must begin with "/"`,
		"  probe: {path: /, method: PUT}":                                             "trafficMap.probe.method",
		"  probe: {path: /, method: GET, gateStatuses: [429]}":                        "says nothing about the health of a cluster",
		"  probe: {path: /, method: GET, acceptStatuses: [200], gateStatuses: [200]}": "is one of acceptStatuses too",
		"  probe: {path: /, method: GET, acceptStatuses: [99], gateStatuses: [600]}":  "must be from 100 to 599",
		"  probe: {path: /, method: GET, period: 500ms}":                              "must be at least 1s",
		"  probe: {path: /, method: GET, period: 1s, timeout: 1s}":                    "shorter than period",
		"  probe: {path: /, method: GET, period: 1s}":                                 "trafficMap.probe.failureThreshold",
		"  probe: {path: /, method: GET, period: 1s, allFailedPolicy: Sometimes}":     "trafficMap.probe.allFailedPolicy",
		"  nonsense: 1": "unknown field",
	} {
		_, err := DecodeHubManagerConfiguration([]byte(trafficMapHeader + text + "\n"))
		assert.ErrorContains(t, err, want, text)
	}
}
