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
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

func testRun(side string, number int, rate float64) Run {
	target, writes := "pods/binding", 200
	if side == hubName {
		target, writes = "replicaplacements.evenkeel.io/status", 100+number
	}
	return Run{
		Side: side, Number: number, Rate: rate, Seconds: 100 / rate,
		Writes:              map[string]int{target: writes},
		WritesPerPlacement:  float64(writes) / 100,
		SchedulerCPUSeconds: 10 * float64(number),
		SchedulerPeakRSSMiB: 100 + float64(number),
	}
}

func testCase() *Case {
	return summarize(shape{mode: ModeLive, clusters: 10, placements: 100}, []Run{
		testRun(kubeName, 1, 300), testRun(hubName, 1, 330),
		testRun(kubeName, 2, 200), testRun(hubName, 2, 10),
		testRun(kubeName, 3, 280), testRun(hubName, 3, 308),
	}, harness.Machine{Cores: 2, GoVersion: "go1.26"})
}

func TestSummarize(t *testing.T) {
	result := testCase()
	runs := result.Runs
	result.Runs = nil
	assert.Empty(t, cmp.Diff(&Case{
		Benchmark: "placement", Mode: ModeLive, Clusters: 10, Placements: 100,
		RateDefinition: rateDefinitions[ModeLive],
		HubRate:        308, KubeRate: 280, Ratio: 1.1,
		HubWritesPerPlacement: 1.02, KubeWritesPerPlacement: 2,
		HubWritesByResource:  map[string]float64{"replicaplacements.evenkeel.io/status": 1.02},
		KubeWritesByResource: map[string]float64{"pods/binding": 2},
		HubCPUSeconds:        20, KubeCPUSeconds: 20,
		HubPeakRSSMiB: 102, KubePeakRSSMiB: 102,
		Machine: harness.Machine{Cores: 2, GoVersion: "go1.26"},
	}, result))
	assert.Len(t, runs, 6, "every run stays in the results")
}

func TestSummarizeCountsAMissingTargetAsZero(t *testing.T) {
	rare := testRun(hubName, 1, 300)
	rare.Writes = map[string]int{"leases": 50}
	result := summarize(shape{mode: ModeLive, clusters: 1, placements: 100},
		[]Run{rare, testRun(hubName, 2, 300), testRun(hubName, 3, 300)}, harness.Machine{})
	assert.Equal(t, 0.0, result.HubWritesByResource["leases"], "the median of 0.5, 0 and 0")
	assert.Equal(t, 1.02, result.HubWritesByResource["replicaplacements.evenkeel.io/status"], "the median of 0, 1.02 and 1.03")
}

func TestCaseAsJSON(t *testing.T) {
	content, err := json.Marshal(testCase())
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(content, &fields))
	for _, field := range []string{"benchmark", "mode", "clusters", "placements", "hubRate", "kubeRate", "ratio",
		"hubWritesPerPlacement", "kubeWritesPerPlacement", "hubCPUSeconds", "kubeCPUSeconds",
		"hubPeakRSSMiB", "kubePeakRSSMiB", "runs", "machine"} {
		assert.Contains(t, fields, field)
	}
	assert.Equal(t, 1.1, fields["ratio"])
	assert.Equal(t, "live", fields["mode"])
	assert.Equal(t, "go1.26", fields["machine"].(map[string]any)["goVersion"])
	assert.Equal(t, "kube", fields["runs"].([]any)[0].(map[string]any)["side"])
}

func TestWriteTable(t *testing.T) {
	var out strings.Builder
	require.NoError(t, writeTable(&out, []Case{*testCase()}))
	lines := strings.Split(out.String(), "\n")
	assert.Equal(t, strings.Fields("mode clusters placements kube/s hub/s ratio kube writes hub writes kube CPU s hub CPU s kube RSS MiB hub RSS MiB"),
		strings.Fields(lines[1]))
	assert.Equal(t, strings.Fields("live 10 100 280 308 1.10 2.00 1.02 20.0 20.0 102 102"), strings.Fields(lines[2]))
	assert.Contains(t, out.String(), "live, 10 clusters: kube 2.00 pods/binding; hub 1.02 replicaplacements.evenkeel.io/status\n")
	assert.Contains(t, out.String(), "Rate, live: placements /")
	assert.NotContains(t, out.String(), "Rate, queued", "that mode was not measured")
}

func TestDescribe(t *testing.T) {
	assert.Equal(t, "none", describe(nil))
	assert.Equal(t, "1.00 a, 0.50 b", describe(map[string]float64{"b": 0.5, "a": 1}))
}
