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
	"context"
	"flag"
	"fmt"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

const name = "trafficmap"

type options struct {
	shape
	runs int
}

// shape is what is drained.
type shape struct {
	services int
	// clusters that each service is placed on, all of them.
	clusters int
}

// Benchmark returns the entry for the list of benchmarks.
func Benchmark() harness.Benchmark {
	var opts options
	return harness.Benchmark{
		Name:     name,
		Summary:  "a cluster drained for every InferenceService, until the last TrafficMap, next to bare patches",
		AddFlags: opts.addFlags,
		Run: func(ctx context.Context, environment *harness.Environment) error {
			return measure(ctx, environment, opts)
		},
	}
}

func (o *options) addFlags(flags *flag.FlagSet) {
	flags.IntVar(&o.services, name+"-services", 2000, "number of services")
	flags.IntVar(&o.clusters, name+"-clusters", 16, "number of clusters, each of which serves every service")
	flags.IntVar(&o.runs, name+"-runs", 3, "runs; the median counts")
}

func (o options) validate() error {
	// With fewer clusters nobody would serve once one is drained.
	const fewestClusters = 2
	if o.services < 1 || o.clusters < fewestClusters || o.runs < 1 {
		return fmt.Errorf("-%s-services and -%s-runs must be at least 1, and -%s-clusters at least %d", name, name, name, fewestClusters)
	}
	return nil
}

func measure(ctx context.Context, environment *harness.Environment, opts options) error {
	if err := opts.validate(); err != nil {
		return err
	}
	var runs []Run
	for number := 1; number <= opts.runs; number++ {
		run, err := measureRun(ctx, environment, opts.shape, number)
		if err != nil {
			return fmt.Errorf("run %d: %w", number, err)
		}
		environment.Progressf("[%d/%d] %d maps in %.1f s, %.1f s of it patches; as many bare patches in %.1f s; %.2f writes a service, manager's RSS %.0f MiB",
			number, opts.runs, opts.services, run.DrainSeconds, run.PatchSeconds, run.BareSeconds, run.WritesPerService, run.ManagerPeakRSSMiB)
		runs = append(runs, *run)
	}
	result := summarize(opts.shape, runs, environment.Machine)
	if err := environment.Results.Add(result); err != nil {
		return err
	}
	return writeTable(environment.Out, result)
}
