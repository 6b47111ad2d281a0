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

package systemnodes

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-io/evenkeel/internal/workloadcluster"
)

// maintain plays a maintenance of both system nodes while it probes what serves, and gives how many samples of each
// Service had no Ready endpoint.
func maintain(t *testing.T, c *workloadcluster.Cluster, m workloadcluster.Maintenance) []int {
	t.Helper()
	prober, err := c.Probe(t.Context(), workloadcluster.ServingServices()...)
	require.NoError(t, err)
	m.Nodes = []string{workloadcluster.SystemA, workloadcluster.SystemB}
	m.Tell = func(what string) { t.Log(what) }
	err = c.Maintain(t.Context(), m)
	samples := prober.Stop()
	require.NoError(t, err)
	require.NotEmpty(t, samples)
	return workloadcluster.Down(samples)
}

// spreadOut waits until the serving path is on both system nodes.
func spreadOut(t *testing.T, c *workloadcluster.Cluster) {
	t.Helper()
	both := []string{workloadcluster.SystemA, workloadcluster.SystemB}
	eventually(t, "the serving path on both system nodes", func(t *assert.CollectT) {
		for _, w := range [][3]string{
			{workloadcluster.NamespaceModels, "app", workloadcluster.PickerChat},
			{workloadcluster.NamespaceModels, "app", workloadcluster.PickerEmbed},
			{workloadcluster.NamespaceProxies, "app.kubernetes.io/name", "envoy"},
			{workloadcluster.NamespaceDNS, "k8s-app", "kube-dns"},
		} {
			nodes := nodesOf(t, c, w[0], w[1], w[2])
			slices.Sort(nodes)
			assert.Equal(t, both, nodes, w[2])
		}
	})
	require.NoError(t, c.AwaitAvailable(t.Context()))
}

// TestIncident replays the incident: both system nodes cordoned, then drained and restarted one after the other.
func TestIncident(t *testing.T) {
	c := start(t, workloadcluster.Options{})
	engines := engineRestarts(t, c)

	// CoreDNS has both its pods on one node, so that its budget never lets the drain end: the cloud's patience does.
	down := maintain(t, c, workloadcluster.Maintenance{DrainTimeout: 5 * time.Second, Force: true})
	t.Logf("without Evenkeel, samples without a Ready endpoint: %v", down)
	for i, service := range workloadcluster.ServingServices() {
		assert.Positive(t, down[i], "without Evenkeel %s should have gone down", service)
	}
	require.NoError(t, c.AwaitAvailable(t.Context()))

	require.NoError(t, c.InstallEvenkeel(t.Context(), nil))
	spreadOut(t, c)
	down = maintain(t, c, workloadcluster.Maintenance{})
	t.Logf("with Evenkeel, samples without a Ready endpoint: %v", down)
	assert.Equal(t, make([]int, len(down)), down)
	spreadOut(t, c)
	assert.Equal(t, engines, engineRestarts(t, c), "engines must not be touched")
}
