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

package placement

import (
	"fmt"
	"testing"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

const benchClusters = 1000

// benchFleet has three kinds of clusters that differ in their nodes too, as a fleet of one company's does.
func benchFleet() []*Pools {
	kinds := [][]clusterOption{
		{poolOf("l4", 16, deviceOf("gpu", 24, 8)), poolOf("h100", 8, deviceOf("gpu", 80, 8), nic("ib"))},
		{poolOf("h100", 8, deviceOf("gpu", 80, 8), nic("ib"))},
		{poolOf("b200", 4, deviceOf("gpu", 192, 8), nic("ib")), poolOf("h200", 8, deviceOf("gpu", 141, 8), nic("eth"))},
	}
	fleet := make([]*Pools, 0, benchClusters)
	for i := range benchClusters {
		c := cluster(fmt.Sprintf("cluster-%d", i), kinds[i%len(kinds)]...)
		for j := range c.Status.GPUPools {
			c.Status.GPUPools[j].Nodes = int64(1 + i%17)
		}
		fleet = append(fleet, PreparePools(c.Status.GPUPools))
	}
	return fleet
}

// BenchmarkPlace tries one template on 1000 clusters, as a scheduling cycle does. One operation is one cycle.
func BenchmarkPlace(b *testing.B) {
	plenty := func(string) int64 { return 100 }
	none := func(string) int64 { return 0 }
	one := []modelplane.Engine{single("main", ask("gpu", 8, atLeast(80)), ask("fabric", 1, fabricIs("ib")))}
	two := append(one, copies(2, engineOf("draft", leader(askGPU(24)), workers(3, askGPU(24)))))
	for _, c := range []struct {
		name    string
		engines []modelplane.Engine
		free    func(string) int64
	}{
		{"OneEngine/Fits", one, plenty},
		{"OneEngine/Full", one, none},
		{"TwoEngines/Fits", two, plenty},
		{"TwoEngines/Full", two, none},
	} {
		requirements := RequirementsOf(c.engines)
		fleet, m := benchFleet(), NewMatcher()
		b.Run(c.name+"/Prepared", func(b *testing.B) {
			engines, err := m.PrepareEngines(requirements)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, pools := range fleet {
					engines.Place(pools, c.free)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchClusters, "ns/cluster")
		})
		b.Run(c.name+"/Unprepared", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, pools := range fleet {
					m.Place(requirements, pools, c.free)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchClusters, "ns/cluster")
		})
	}
}

// BenchmarkPlaceParallel tries it from all processors at once, as the scheduler's filters do.
func BenchmarkPlaceParallel(b *testing.B) {
	fleet, m := benchFleet(), NewMatcher()
	engines, err := m.PrepareEngines(RequirementsOf(chat(1).Spec.Template.Spec.Engines))
	if err != nil {
		b.Fatal(err)
	}
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			engines.Place(fleet[i%len(fleet)], func(string) int64 { return 100 })
		}
	})
}

// BenchmarkPlaceCold compiles and evaluates everything anew.
func BenchmarkPlaceCold(b *testing.B) {
	fleet := benchFleet()
	requirements := RequirementsOf(chat(1).Spec.Template.Spec.Engines)
	for b.Loop() {
		m := NewMatcher()
		for _, pools := range fleet {
			m.Place(requirements, pools, func(string) int64 { return 100 })
		}
	}
}

func BenchmarkPreparePools(b *testing.B) {
	c := cluster("east", poolOf("l4", 16, novaDevice()), poolOf("h100", 8, novaDevice(), nic("ib")))
	b.ReportAllocs()
	for b.Loop() {
		PreparePools(c.Status.GPUPools)
	}
}
