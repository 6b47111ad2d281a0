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
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

// What a rate is, for whoever reads the results.
var rateDefinitions = map[Mode]string{
	ModeLive:   "placements / (answer to the last bind - arrival of the first create), per second",
	ModeQueued: "(placements - 1) / (answer to the last bind - answer to the first bind), per second",
}

// Run is one run of one scheduler, as measured.
type Run struct {
	Side   string `json:"side"`
	Number int    `json:"run"`
	// Rate in placements per second, over Seconds.
	Rate    float64 `json:"rate"`
	Seconds float64 `json:"seconds"`
	// Writes of the scheduler by what they wrote to, and those of them that were
	// refused, by status code and what they wrote to.
	Writes             map[string]int `json:"writes"`
	RefusedWrites      map[string]int `json:"refusedWrites,omitempty"`
	WritesPerPlacement float64        `json:"writesPerPlacement"`
	// CPU of the scheduler since its start, and its highest resident memory.
	SchedulerCPUSeconds float64 `json:"schedulerCPUSeconds"`
	SchedulerPeakRSSMiB float64 `json:"schedulerPeakRSSMiB"`
	// CPU of what else took the cores while placements were made.
	APIServerCPUSeconds float64 `json:"apiServerCPUSeconds"`
	EtcdCPUSeconds      float64 `json:"etcdCPUSeconds"`
	BenchmarkCPUSeconds float64 `json:"benchmarkCPUSeconds"`
}

// Case is one object of the results file. Its numbers are medians over the runs,
// each of its own: they need not come from the same run.
type Case struct {
	Benchmark      string  `json:"benchmark"`
	Mode           Mode    `json:"mode"`
	Clusters       int     `json:"clusters"`
	Placements     int     `json:"placements"`
	RateDefinition string  `json:"rateDefinition"`
	HubRate        float64 `json:"hubRate"`
	KubeRate       float64 `json:"kubeRate"`
	// Ratio is HubRate / KubeRate.
	Ratio                  float64            `json:"ratio"`
	HubWritesPerPlacement  float64            `json:"hubWritesPerPlacement"`
	KubeWritesPerPlacement float64            `json:"kubeWritesPerPlacement"`
	HubWritesByResource    map[string]float64 `json:"hubWritesPerPlacementByResource"`
	KubeWritesByResource   map[string]float64 `json:"kubeWritesPerPlacementByResource"`
	HubCPUSeconds          float64            `json:"hubCPUSeconds"`
	KubeCPUSeconds         float64            `json:"kubeCPUSeconds"`
	HubPeakRSSMiB          float64            `json:"hubPeakRSSMiB"`
	KubePeakRSSMiB         float64            `json:"kubePeakRSSMiB"`
	Runs                   []Run              `json:"runs"`
	Machine                harness.Machine    `json:"machine"`
}

func summarize(s shape, runs []Run, machine harness.Machine) *Case {
	of := func(side string) []Run {
		return slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return r.Side != side })
	}
	hub, kube := of(hubName), of(kubeName)
	rate := func(r Run) float64 { return r.Rate }
	writes := func(r Run) float64 { return r.WritesPerPlacement }
	cpu := func(r Run) float64 { return r.SchedulerCPUSeconds }
	rss := func(r Run) float64 { return r.SchedulerPeakRSSMiB }
	result := &Case{
		Benchmark:              name,
		Mode:                   s.mode,
		Clusters:               s.clusters,
		Placements:             s.placements,
		RateDefinition:         rateDefinitions[s.mode],
		HubRate:                harness.MedianOf(hub, rate),
		KubeRate:               harness.MedianOf(kube, rate),
		HubWritesPerPlacement:  harness.MedianOf(hub, writes),
		KubeWritesPerPlacement: harness.MedianOf(kube, writes),
		HubWritesByResource:    medianWrites(hub, s.placements),
		KubeWritesByResource:   medianWrites(kube, s.placements),
		HubCPUSeconds:          harness.MedianOf(hub, cpu),
		KubeCPUSeconds:         harness.MedianOf(kube, cpu),
		HubPeakRSSMiB:          harness.MedianOf(hub, rss),
		KubePeakRSSMiB:         harness.MedianOf(kube, rss),
		Runs:                   runs,
		Machine:                machine,
	}
	result.Ratio = harness.Round(harness.Ratio(result.HubRate, result.KubeRate))
	return result
}

// medianWrites returns the writes per placement to each target that any run wrote to.
func medianWrites(runs []Run, placements int) map[string]float64 {
	medians := map[string]float64{}
	for _, run := range runs {
		for target := range run.Writes {
			medians[target] = harness.Round(harness.MedianOf(runs, func(r Run) float64 {
				return float64(r.Writes[target]) / float64(placements)
			}))
		}
	}
	return medians
}

func writeTable(w io.Writer, cases []Case) error {
	header := []string{"mode", "clusters", "placements", "kube/s", "hub/s", "ratio",
		"kube writes", "hub writes", "kube CPU s", "hub CPU s", "kube RSS MiB", "hub RSS MiB"}
	rows := make([][]string, 0, len(cases))
	for _, c := range cases {
		rows = append(rows, []string{
			string(c.Mode), strconv.Itoa(c.Clusters), strconv.Itoa(c.Placements),
			harness.Decimals(c.KubeRate, 0), harness.Decimals(c.HubRate, 0), harness.Decimals(c.Ratio, 2),
			harness.Decimals(c.KubeWritesPerPlacement, 2), harness.Decimals(c.HubWritesPerPlacement, 2),
			harness.Decimals(c.KubeCPUSeconds, 1), harness.Decimals(c.HubCPUSeconds, 1),
			harness.Decimals(c.KubePeakRSSMiB, 0), harness.Decimals(c.HubPeakRSSMiB, 0),
		})
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return fmt.Errorf("print a table: %w", err)
	}
	if err := harness.WriteTable(w, header, rows); err != nil {
		return err
	}
	return writeLegend(w, cases)
}

// writeLegend says what the columns are, for the modes that were measured.
func writeLegend(w io.Writer, cases []Case) error {
	legend := "\nEach number is a median over the runs. Writes are API writes per placement, events included:\n"
	for _, c := range cases {
		legend += fmt.Sprintf("  %s, %d clusters: kube %s; hub %s\n", c.Mode, c.Clusters, describe(c.KubeWritesByResource), describe(c.HubWritesByResource))
	}
	for _, mode := range allModes {
		if slices.ContainsFunc(cases, func(c Case) bool { return c.Mode == mode }) {
			legend += fmt.Sprintf("Rate, %s: %s.\n", mode, rateDefinitions[mode])
		}
	}
	if _, err := io.WriteString(w, legend); err != nil {
		return fmt.Errorf("print a table: %w", err)
	}
	return nil
}

func describe(writes map[string]float64) string {
	if len(writes) == 0 {
		return "none"
	}
	text := ""
	for _, target := range slices.Sorted(maps.Keys(writes)) {
		if text != "" {
			text += ", "
		}
		text += harness.Decimals(writes[target], 2) + " " + target
	}
	return text
}
