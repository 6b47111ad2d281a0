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

package drain

import (
	"io"
	"strconv"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

// Run is one run, as measured.
type Run struct {
	Number int `json:"run"`
	// DrainedClusters are those that the replicas were on.
	DrainedClusters int `json:"drainedClusters"`
	// DrainSeconds from the first taint to the last write to a replica, an endpoint or a placement.
	DrainSeconds float64 `json:"drainSeconds"`
	// BareSeconds is what as many bare writes took afterwards, and Ratio how much longer the drain took.
	BareSeconds float64 `json:"bareSeconds"`
	Ratio       float64 `json:"ratio"`
	// Writes of the manager and the scheduler by verb and target, and those of them that were refused.
	Writes        map[string]int `json:"writes"`
	RefusedWrites map[string]int `json:"refusedWrites,omitempty"`
	WritesPerMove float64        `json:"writesPerMove"`
	// AllWrites also counts those of the stand-in and of the garbage collector: as many bare ones were made.
	AllWrites int `json:"allWrites"`
	// ManagerPeakRSSMiB is its highest resident memory since its start.
	ManagerPeakRSSMiB float64 `json:"managerPeakRSSMiB"`
	// CPU during the drain.
	ManagerCPUSeconds   float64 `json:"managerCPUSeconds"`
	SchedulerCPUSeconds float64 `json:"schedulerCPUSeconds"`
	APIServerCPUSeconds float64 `json:"apiServerCPUSeconds"`
	EtcdCPUSeconds      float64 `json:"etcdCPUSeconds"`
}

// Case is the object of the results file. Its numbers are medians over the runs.
type Case struct {
	Benchmark         string          `json:"benchmark"`
	Clusters          int             `json:"clusters"`
	DrainedClusters   int             `json:"drainedClusters"`
	Deployments       int             `json:"deployments"`
	Moves             int             `json:"moves"`
	DrainSeconds      float64         `json:"drainSeconds"`
	BareSeconds       float64         `json:"bareSeconds"`
	Ratio             float64         `json:"ratio"`
	WritesPerMove     float64         `json:"writesPerMove"`
	ManagerPeakRSSMiB float64         `json:"managerPeakRSSMiB"`
	Runs              []Run           `json:"runs"`
	Machine           harness.Machine `json:"machine"`
}

func summarize(s shape, runs []Run, machine harness.Machine) *Case {
	return &Case{
		Benchmark:         name,
		Clusters:          s.clusters,
		DrainedClusters:   runs[0].DrainedClusters, // the same in each run
		Deployments:       s.deployments,
		Moves:             s.moves(),
		DrainSeconds:      harness.MedianOf(runs, func(r Run) float64 { return r.DrainSeconds }),
		BareSeconds:       harness.MedianOf(runs, func(r Run) float64 { return r.BareSeconds }),
		Ratio:             harness.MedianOf(runs, func(r Run) float64 { return r.Ratio }),
		WritesPerMove:     harness.MedianOf(runs, func(r Run) float64 { return r.WritesPerMove }),
		ManagerPeakRSSMiB: harness.MedianOf(runs, func(r Run) float64 { return r.ManagerPeakRSSMiB }),
		Runs:              runs,
		Machine:           machine,
	}
}

func writeTable(w io.Writer, c *Case) error {
	return harness.WriteTable(w,
		[]string{"clusters", "drained", "deployments", "moves", "drain s", "bare s", "ratio", "writes/move", "manager RSS MiB"},
		[][]string{{
			strconv.Itoa(c.Clusters), strconv.Itoa(c.DrainedClusters), strconv.Itoa(c.Deployments), strconv.Itoa(c.Moves),
			harness.Decimals(c.DrainSeconds, 1), harness.Decimals(c.BareSeconds, 1), harness.Decimals(c.Ratio, 2), harness.Decimals(c.WritesPerMove, 2), harness.Decimals(c.ManagerPeakRSSMiB, 0),
		}})
}
