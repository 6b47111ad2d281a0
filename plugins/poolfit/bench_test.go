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

package poolfit

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	fwk "k8s.io/kube-scheduler/framework"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/plugins/internal/testhub"
)

// bigFleet has clusters of five kinds of hardware with two assigned placements each, of which one has its replica.
func bigFleet(b *testing.B, size int) *fixture {
	models := []string{"h100", "h200", "b200", "l4", "mi300"}
	var fleet clusters
	var assigned placements
	var seen replicas
	for i := range size {
		name, model := fmt.Sprintf("cluster-%04d", i), models[i%len(models)]
		fleet = append(fleet, testhub.Cluster(name, testhub.Pool(model, 8), testhub.Pool("l4", 4)))
		for slot := range int32(2) {
			deployment := fmt.Sprintf("model-%d", i)
			assigned = append(assigned, testhub.Placement(deployment, slot, testhub.Engines(testhub.Engine("main", 1, model)), testhub.On(name, slot, model)))
			if slot == 0 {
				seen = append(seen, testhub.Replica(deployment, name, slot, model, 1))
			}
		}
	}
	return newFixture(b, fleet, assigned, seen)
}

// run reports the processor time of an operation besides the time on the clock, which other load on the machine
// lengthens.
func run(b *testing.B, operation func(i int)) {
	b.ReportAllocs()
	before := processorTime(b)
	i := 0
	for b.Loop() {
		operation(i)
		i++
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(i), "cpu-ns/op")
}

func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func pass(b *testing.B, f *fixture, p *evenkeel.ReplicaPlacement, nodes []fwk.NodeInfo) int {
	state, pod := f.cycle(p)
	fits := 0
	for _, node := range nodes {
		if f.plugin.Filter(b.Context(), state, pod, node).IsSuccess() {
			fits++
		}
	}
	return fits
}

// BenchmarkFilter runs one scheduling cycle's Filter over all clusters, one after the other.
func BenchmarkFilter(b *testing.B) {
	for _, size := range []int{100, 1000} {
		f := bigFleet(b, size)
		nodes, err := f.snapshot.NodeInfos().List()
		require.NoError(b, err)
		everywhere := testhub.Placement("chat", 0, testhub.Engines(testhub.Engine("main", 1, "l4")))
		nowhere := testhub.Placement("chat", 0, testhub.Engines(testhub.Engine("main", 9, "h100")))
		gang := testhub.Placement("chat", 0, testhub.Engines(testhub.Engine("prefill", 2, "h100"), testhub.Engine("decode", 3, "h100")))
		require.Equal(b, size, pass(b, f, everywhere, nodes))
		require.Equal(b, 0, pass(b, f, nowhere, nodes))
		require.Equal(b, size/5, pass(b, f, gang, nodes))

		for name, p := range map[string]*evenkeel.ReplicaPlacement{"fits-everywhere": everywhere, "fits-nowhere": nowhere, "two-engines": gang} {
			b.Run(fmt.Sprintf("clusters=%d/%s", size, name), func(b *testing.B) {
				run(b, func(int) { pass(b, f, p, nodes) })
			})
		}
		b.Run(fmt.Sprintf("clusters=%d/one-cluster-changed", size), func(b *testing.B) {
			run(b, func(i int) {
				f.addReplica(testhub.Replica("model-7", "cluster-0007", 0, "b200", int32(1+i%2)))
				pass(b, f, everywhere, nodes)
			})
		})
		b.Run(fmt.Sprintf("clusters=%d/all-clusters-changed", size), func(b *testing.B) {
			run(b, func(int) {
				f.plugin.ledger.clusters.Clear()
				pass(b, f, everywhere, nodes)
			})
		})
	}
}

// BenchmarkHint is what one deleted replica costs for one placement that waits.
func BenchmarkHint(b *testing.B) {
	f := bigFleet(b, 1000)
	_, pod := f.cycle(testhub.Placement("chat", 0))
	replica := testhub.Replica("model-5", "cluster-0005", 0, "h100", 1)
	run(b, func(int) {
		if _, err := f.plugin.isSchedulableAfterModelReplicaChange(f.logger, pod, replica, nil); err != nil {
			b.Fatal(err)
		}
	})
}
