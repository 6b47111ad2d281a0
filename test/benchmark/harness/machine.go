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

package harness

import (
	"runtime"

	"github.com/prometheus/procfs"
)

// Machine is what every number depends on.
type Machine struct {
	Cores     int    `json:"cores"`
	CPUModel  string `json:"cpuModel,omitempty"`
	Platform  string `json:"platform"`
	GoVersion string `json:"goVersion"`
	// LoadAverage over one minute when the program started: near zero, or something
	// else was running and the rates mean little.
	LoadAverage float64 `json:"loadAverageAtStart"`
}

// ThisMachine describes the machine. What /proc does not tell is left out.
func ThisMachine() Machine {
	machine := Machine{
		Cores:     runtime.NumCPU(),
		Platform:  runtime.GOOS + "/" + runtime.GOARCH,
		GoVersion: runtime.Version(),
	}
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return machine
	}
	if cpus, err := proc.CPUInfo(); err == nil && len(cpus) > 0 {
		machine.CPUModel = cpus[0].ModelName
	}
	if load, err := proc.LoadAvg(); err == nil {
		machine.LoadAverage = load.Load1
	}
	return machine
}

// Busy tells whether something else was using the machine at the start.
func (m Machine) Busy() bool {
	const share = 0.25 // of all cores; a machine at rest shows a few hundredths
	return m.LoadAverage > share*float64(m.Cores)
}
