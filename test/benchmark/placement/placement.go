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
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

const name = "placement"

// Mode is when the objects come into being.
type Mode string

// Modes of the benchmark.
const (
	// ModeLive creates the objects while the scheduler runs.
	ModeLive Mode = "live"
	// ModeQueued creates them before the scheduler starts.
	ModeQueued Mode = "queued"
)

var allModes = []Mode{ModeLive, ModeQueued}

type options struct {
	clusters, modes string
	placements      int
	runs            int
	profiles        profiles
}

// Benchmark returns the entry for the list of benchmarks.
func Benchmark() harness.Benchmark {
	var opts options
	return harness.Benchmark{
		Name:     name,
		Summary:  "the hub scheduler next to kube-scheduler",
		AddFlags: opts.addFlags,
		Run: func(ctx context.Context, environment *harness.Environment) error {
			return measure(ctx, environment, opts)
		},
	}
}

func (o *options) addFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.clusters, name+"-clusters", "100,1000", "numbers of clusters (or nodes), comma-separated")
	flags.StringVar(&o.modes, name+"-modes", "live,queued", "when the objects are created, relative to the scheduler's start")
	flags.IntVar(&o.placements, name+"-placements", 2000, "number of placements (or pods)")
	flags.IntVar(&o.runs, name+"-runs", 3, "runs of each scheduler in each case; the median counts")
	flags.IntVar(&o.profiles.seconds, name+"-profile-seconds", 8, "how long the CPU profiles take, from the start of a run")
	flags.StringVar(&o.profiles.folder, name+"-profiles", "", "a folder to write profiles of each run to: the scheduler's CPU and heap, the API server's CPU; they cost some of the rate")
}

// shape is one case: what is placed where, and when.
type shape struct {
	mode       Mode
	clusters   int
	placements int
}

func (o options) shapes() ([]shape, error) {
	if o.placements < 1 || o.runs < 1 {
		return nil, fmt.Errorf("-%s-placements and -%s-runs must be at least 1", name, name)
	}
	var shapes []shape
	for text := range strings.SplitSeq(o.modes, ",") {
		mode := Mode(strings.TrimSpace(text))
		if !slices.Contains(allModes, mode) {
			return nil, fmt.Errorf("-%s-modes: %q is none of %v", name, mode, allModes)
		}
		for text := range strings.SplitSeq(o.clusters, ",") {
			clusters, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil || clusters < 1 {
				return nil, fmt.Errorf("-%s-clusters: %q is not a positive number", name, text)
			}
			s := shape{mode: mode, clusters: clusters, placements: o.placements}
			if err := s.checkRoom(); err != nil {
				return nil, err
			}
			shapes = append(shapes, s)
		}
	}
	return shapes, nil
}

func measure(ctx context.Context, environment *harness.Environment, opts options) error {
	shapes, err := opts.shapes()
	if err != nil {
		return err
	}
	if opts.profiles.folder != "" {
		if err := os.MkdirAll(opts.profiles.folder, 0o755); err != nil {
			return fmt.Errorf("create the folder for profiles: %w", err)
		}
	}
	m := &measurement{environment: environment, profiles: opts.profiles, total: len(shapes) * opts.runs * len(bothSides())}
	m.started = time.Now()
	var results []Case
	for _, s := range shapes {
		result, err := m.measureCase(ctx, s, opts.runs)
		if err != nil {
			return err
		}
		if err := environment.Results.Add(result); err != nil {
			return err
		}
		results = append(results, *result)
	}
	return writeTable(environment.Out, results)
}

// measurement is a whole run of the benchmark.
type measurement struct {
	environment *harness.Environment
	profiles    profiles
	started     time.Time
	done, total int
}

// measureCase alternates between the sides, so that a drift of the machine meets
// both.
func (m *measurement) measureCase(ctx context.Context, s shape, runs int) (*Case, error) {
	var raw []Run
	for number := 1; number <= runs; number++ {
		for _, side := range bothSides() {
			run, err := m.measureRun(ctx, s, side, number)
			if err != nil {
				return nil, fmt.Errorf("%s, %d clusters, %d placements, %s, run %d: %w", s.mode, s.clusters, s.placements, side.name(), number, err)
			}
			raw = append(raw, *run)
			m.tell(s, run)
		}
	}
	return summarize(s, raw, m.environment.Machine), nil
}

func (m *measurement) tell(s shape, run *Run) {
	m.done++
	elapsed := time.Since(m.started)
	left := time.Duration(float64(elapsed) / float64(m.done) * float64(m.total-m.done))
	m.environment.Progressf("[%2d/%d] %-6s N=%-4d M=%d %-4s run %d: %5.0f/s, %.2f writes each, CPU %.1f s, RSS %.0f MiB (about %s left)",
		m.done, m.total, s.mode, s.clusters, s.placements, run.Side, run.Number, run.Rate, run.WritesPerPlacement,
		run.SchedulerCPUSeconds, run.SchedulerPeakRSSMiB, left.Round(10*time.Second))
	for _, what := range slices.Sorted(maps.Keys(run.RefusedWrites)) {
		m.environment.Progressf("        refused: %d times %s", run.RefusedWrites[what], what)
	}
}
