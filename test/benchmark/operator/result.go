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

package operator

import (
	"io"
	"strconv"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

// Run is one run of a command, as measured.
type Run struct {
	// Seconds from the start of the process to its end.
	Seconds float64 `json:"seconds"`
	// AfterSeconds is the part of it after the API server had answered all requests.
	AfterSeconds float64 `json:"afterSeconds"`
	CPUSeconds   float64 `json:"cpuSeconds"`
	PeakRSSMiB   float64 `json:"peakRSSMiB"`
	// Requests to the API server.
	Requests int `json:"requests"`
}

// Case is the object of the results file. Its numbers are medians over the runs.
type Case struct {
	Benchmark    string          `json:"benchmark"`
	Command      string          `json:"command"`
	Clusters     int             `json:"clusters"`
	Replicas     int             `json:"replicas"`
	Drained      int             `json:"drained"`
	Seconds      float64         `json:"seconds"`
	AfterSeconds float64         `json:"afterSeconds"`
	CPUSeconds   float64         `json:"cpuSeconds"`
	PeakRSSMiB   float64         `json:"peakRSSMiB"`
	Runs         []Run           `json:"runs"`
	Machine      harness.Machine `json:"machine"`
}

func (c *Case) summarize() {
	c.Seconds = harness.MedianOf(c.Runs, func(r Run) float64 { return r.Seconds })
	c.AfterSeconds = harness.MedianOf(c.Runs, func(r Run) float64 { return r.AfterSeconds })
	c.CPUSeconds = harness.MedianOf(c.Runs, func(r Run) float64 { return r.CPUSeconds })
	c.PeakRSSMiB = harness.MedianOf(c.Runs, func(r Run) float64 { return r.PeakRSSMiB })
}

func writeTable(w io.Writer, cases []*Case) error {
	rows := make([][]string, 0, len(cases))
	for _, c := range cases {
		rows = append(rows, []string{
			c.Command, strconv.Itoa(c.Clusters), strconv.Itoa(c.Replicas), harness.Decimals(c.Seconds, 2), harness.Decimals(c.AfterSeconds, 2),
			harness.Decimals(c.CPUSeconds, 2), harness.Decimals(c.PeakRSSMiB, 0), strconv.Itoa(c.Runs[0].Requests),
		})
	}
	return harness.WriteTable(w, []string{"command", "clusters", "replicas", "s", "after reading s", "CPU s", "RSS MiB", "requests"}, rows)
}
