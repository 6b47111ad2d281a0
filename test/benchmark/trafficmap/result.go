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

package trafficmap

import (
	"io"
	"strconv"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

// Run is one run, as measured.
type Run struct {
	Number int `json:"run"`
	// BareFirst tells whether the bare patches came before the drain.
	BareFirst bool `json:"bareFirst"`
	// DrainSeconds from the first patch to the last write to a map, WeightsSeconds to the last one of its spec.
	DrainSeconds   float64 `json:"drainSeconds"`
	WeightsSeconds float64 `json:"weightsSeconds"`
	// PatchSeconds is what the drain's own patches took, with the manager at work.
	PatchSeconds float64 `json:"patchSeconds"`
	// BareSeconds is what the same patches took without the manager, and Ratio how much longer the drain took.
	BareSeconds float64 `json:"bareSeconds"`
	Ratio       float64 `json:"ratio"`
	// Writes of the manager by verb and target, and those of them that were refused.
	Writes           map[string]int `json:"writes"`
	RefusedWrites    map[string]int `json:"refusedWrites,omitempty"`
	WritesPerService float64        `json:"writesPerService"`
	// ManagerPeakRSSMiB is its highest resident memory since its start.
	ManagerPeakRSSMiB float64 `json:"managerPeakRSSMiB"`
	// CPU during the drain.
	ManagerCPUSeconds   float64 `json:"managerCPUSeconds"`
	APIServerCPUSeconds float64 `json:"apiServerCPUSeconds"`
	EtcdCPUSeconds      float64 `json:"etcdCPUSeconds"`
}

// Case is the object of the results file. Its numbers are medians over the runs.
type Case struct {
	Benchmark         string          `json:"benchmark"`
	Services          int             `json:"services"`
	Clusters          int             `json:"clusters"`
	DrainSeconds      float64         `json:"drainSeconds"`
	PatchSeconds      float64         `json:"patchSeconds"`
	BareSeconds       float64         `json:"bareSeconds"`
	Ratio             float64         `json:"ratio"`
	WritesPerService  float64         `json:"writesPerService"`
	ManagerCPUSeconds float64         `json:"managerCPUSeconds"`
	ManagerPeakRSSMiB float64         `json:"managerPeakRSSMiB"`
	Runs              []Run           `json:"runs"`
	Machine           harness.Machine `json:"machine"`
}

func summarize(s shape, runs []Run, machine harness.Machine) *Case {
	return &Case{
		Benchmark:         name,
		Services:          s.services,
		Clusters:          s.clusters,
		DrainSeconds:      harness.MedianOf(runs, func(r Run) float64 { return r.DrainSeconds }),
		PatchSeconds:      harness.MedianOf(runs, func(r Run) float64 { return r.PatchSeconds }),
		BareSeconds:       harness.MedianOf(runs, func(r Run) float64 { return r.BareSeconds }),
		Ratio:             harness.MedianOf(runs, func(r Run) float64 { return r.Ratio }),
		WritesPerService:  harness.MedianOf(runs, func(r Run) float64 { return r.WritesPerService }),
		ManagerCPUSeconds: harness.MedianOf(runs, func(r Run) float64 { return r.ManagerCPUSeconds }),
		ManagerPeakRSSMiB: harness.MedianOf(runs, func(r Run) float64 { return r.ManagerPeakRSSMiB }),
		Runs:              runs,
		Machine:           machine,
	}
}

func writeTable(w io.Writer, c *Case) error {
	return harness.WriteTable(w,
		[]string{"services", "clusters", "drain s", "its patches s", "bare s", "ratio", "writes/service", "manager CPU s", "manager RSS MiB"},
		[][]string{{
			strconv.Itoa(c.Services), strconv.Itoa(c.Clusters), harness.Decimals(c.DrainSeconds, 1), harness.Decimals(c.PatchSeconds, 1), harness.Decimals(c.BareSeconds, 1),
			harness.Decimals(c.Ratio, 2), harness.Decimals(c.WritesPerService, 2), harness.Decimals(c.ManagerCPUSeconds, 1), harness.Decimals(c.ManagerPeakRSSMiB, 0),
		}})
}
