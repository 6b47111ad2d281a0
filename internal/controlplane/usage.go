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

package controlplane

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

// Usage is what a process has taken from the machine since it started.
type Usage struct {
	PID          int
	RSSBytes     uint64 // resident memory now, shared pages of the binary included
	PeakRSSBytes uint64 // the highest it ever was
	CPU          time.Duration
}

// PIDs returns the process id of every component that runs.
func (cp *ControlPlane) PIDs() map[Component]int {
	pids := map[Component]int{}
	for component, p := range cp.processes {
		if pid := p.currentPID(); pid != 0 {
			pids[component] = pid
		}
	}
	return pids
}

// Usage measures every component that runs. It reads /proc and is an error where
// there is none.
func (cp *ControlPlane) Usage() (map[Component]Usage, error) {
	usages := map[Component]Usage{}
	for component, pid := range cp.PIDs() {
		usage, err := ProcessUsage(pid)
		if err != nil {
			return nil, fmt.Errorf("measure %s: %w", component, err)
		}
		usages[component] = usage
	}
	return usages, nil
}

// ProcessUsage measures any process, such as a scheduler that runs against the
// control plane. It reads /proc and is an error where there is none.
func ProcessUsage(pid int) (Usage, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return Usage{}, fmt.Errorf("measure process %d: %w", pid, err)
	}
	status, err := process.NewStatus()
	if err != nil {
		return Usage{}, fmt.Errorf("measure process %d: %w", pid, err)
	}
	stat, err := process.Stat()
	if err != nil {
		return Usage{}, fmt.Errorf("measure process %d: %w", pid, err)
	}
	return Usage{
		PID:          pid,
		RSSBytes:     status.VmRSS,
		PeakRSSBytes: status.VmHWM,
		CPU:          time.Duration(stat.CPUTime() * float64(time.Second)),
	}, nil
}
