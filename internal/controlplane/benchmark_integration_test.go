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

package controlplane_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

// BenchmarkStart measures how long all four components take until they are ready
// and what memory and processor time they have taken by then. docs/devhub.md quotes
// it.
func BenchmarkStart(b *testing.B) {
	const mebibyte = 1 << 20
	rss, cpu := map[controlplane.Component]float64{}, 0.0
	for b.Loop() {
		cp, err := controlplane.Start(b.Context(), controlplane.Options{Scheduler: true})
		require.NoError(b, err)
		b.StopTimer()
		usages, err := cp.Usage()
		require.NoError(b, err)
		for component, usage := range usages {
			rss[component] += float64(usage.RSSBytes) / mebibyte
			cpu += usage.CPU.Seconds()
		}
		require.NoError(b, cp.Stop())
		b.StartTimer()
	}
	total := 0.0
	for component, sum := range rss {
		b.ReportMetric(sum/float64(b.N), string(component)+"-MiB")
		total += sum
	}
	b.ReportMetric(total/float64(b.N), "total-MiB")
	b.ReportMetric(cpu/float64(b.N), "cpu-s")
}
