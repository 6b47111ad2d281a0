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
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

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

// spreadOut waits until every component of two replicas runs on both system nodes.
func spreadOut(t *testing.T, c *workloadcluster.Cluster) {
	t.Helper()
	both := []string{workloadcluster.SystemA, workloadcluster.SystemB}
	eventually(t, "the serving path on both system nodes", func(t *assert.CollectT) {
		list := &appsv1.DeploymentList{}
		require.NoError(t, c.Client.List(context.Background(), list))
		two := 0
		for i := range list.Items {
			d := &list.Items[i]
			if *d.Spec.Replicas != 2 {
				continue
			}
			two++
			assert.True(t, workloadcluster.Complete(d), d.Name)
			nodes, err := c.PodNodes(context.Background(), d.Namespace, d.Spec.Selector.MatchLabels)
			require.NoError(t, err)
			assert.ElementsMatch(t, both, nodes, d.Name)
		}
		assert.Equal(t, componentsOfTwo, two)
	})
}

// componentsOfTwo are all but the collector and the engines: two pickers, proxies, DNS, seven that Helm installs, and
// workload-manager.
const componentsOfTwo = 12
