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

package simulation

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// largeFleet has 1000 clusters and 5000 replicas of 1000 deployments, 50 of which are on cluster-0000; every other cluster
// has room for a few more.
func largeFleet(b *testing.B) *Snapshot {
	b.Helper()
	const clusters, perDeployment = 1000, 5
	fleet := Snapshot{Now: testNow}
	for i := range clusters {
		c := testCluster(fmt.Sprintf("cluster-%04d", i), 8)
		if i == 0 {
			c.Status.GPUPools[0].Nodes = 50
		}
		fleet.Clusters = append(fleet.Clusters, c)
	}
	for i := range clusters {
		d := testDeployment(fmt.Sprintf("team-%02d", i%20), fmt.Sprintf("model-%04d", i), perDeployment, 1)
		if i < 10 {
			d.Spec.Template.Spec.ClusterSelector = &modelplane.LabelSelector{MatchLabels: map[string]string{"name": "cluster-0000"}}
		} else {
			d.Spec.Template.Spec.ClusterSelector = &modelplane.LabelSelector{MatchLabels: map[string]string{"name": fmt.Sprintf("cluster-%04d", i)}}
		}
		fleet.Deployments = append(fleet.Deployments, d)
	}
	snapshot := settled(b, fleet)
	require.Len(b, snapshot.Replicas, clusters*perDeployment)
	for i := range snapshot.Deployments {
		snapshot.Deployments[i].Spec.Template.Spec.ClusterSelector = nil
	}
	for i := range snapshot.Placements {
		snapshot.Placements[i].Spec.ClusterSelector = nil
	}
	return snapshot
}

func BenchmarkDrain(b *testing.B) {
	snapshot := largeFleet(b)
	options, err := DefaultOptions()
	require.NoError(b, err)
	var memory runtime.MemStats
	b.ReportAllocs()
	before := cpuSeconds(b)
	for b.Loop() {
		plan, err := Run(b.Context(), snapshot, Drain(testTaint, "cluster-0000"), options)
		require.NoError(b, err)
		require.Equal(b, 50, plan.Count(OutcomeMoves), "%v", told(plan))
	}
	b.ReportMetric((cpuSeconds(b)-before)/float64(b.N), "cpu-s/op")
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(memory.Sys)/(1<<20), "MiB-of-process")
}

// cpuSeconds is how long the process has had a processor, which does not depend on who else wants one.
func cpuSeconds(b *testing.B) float64 {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}
