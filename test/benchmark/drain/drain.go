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
	"context"
	"flag"
	"fmt"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

const name = "drain"

type options struct {
	shape
	runs int
}

// shape is what is drained.
type shape struct {
	clusters    int
	deployments int
	// replicas of each deployment.
	replicas int
}

func (s shape) moves() int { return s.deployments * s.replicas }

// fewestClusters that the replicas can be on. They fill one cluster after another as far as no deployment has two on
// one, so that it may be a few more.
func (s shape) fewestClusters() int { return max((s.moves()+room-1)/room, s.replicas) }

// Benchmark returns the entry for the list of benchmarks.
func Benchmark() harness.Benchmark {
	var opts options
	return harness.Benchmark{
		Name:     name,
		Summary:  "moves of many replicas next to bare writes",
		AddFlags: opts.addFlags,
		Run: func(ctx context.Context, environment *harness.Environment) error {
			return measure(ctx, environment, opts)
		},
	}
}

func (o *options) addFlags(flags *flag.FlagSet) {
	flags.IntVar(&o.clusters, name+"-clusters", 1000, "number of clusters")
	flags.IntVar(&o.deployments, name+"-deployments", 200, "number of deployments")
	flags.IntVar(&o.replicas, name+"-replicas", 5, "replicas of each deployment, all of which move; at most 10")
	flags.IntVar(&o.runs, name+"-runs", 1, "runs; the median counts")
}

// validate refuses a shape in which a move would wait forever.
func (o options) validate() error {
	const mostReplicas = 10 // of a ModelDeployment
	if o.clusters < 1 || o.deployments < 1 || o.replicas < 1 || o.replicas > mostReplicas || o.runs < 1 {
		return fmt.Errorf("-%s-clusters, -deployments, -replicas and -runs must be at least 1, and -%s-replicas at most %d", name, name, mostReplicas)
	}
	// The clusters that they are on, a few more, and as many to go to.
	if needed := 2 * (o.fewestClusters() + mostReplicas); o.clusters < needed {
		return fmt.Errorf("%d replicas are on %d clusters or a few more, and need as many to go to: ask for at least %d clusters, or for fewer replicas", o.moves(), o.fewestClusters(), needed)
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
		environment.Progressf("[%d/%d] %d moves in %.1f s, as many bare writes in %.1f s, %.2f writes a move, manager's RSS %.0f MiB",
			number, opts.runs, opts.moves(), run.DrainSeconds, run.BareSeconds, run.WritesPerMove, run.ManagerPeakRSSMiB)
		runs = append(runs, *run)
	}
	result := summarize(opts.shape, runs, environment.Machine)
	if err := environment.Results.Add(result); err != nil {
		return err
	}
	return writeTable(environment.Out, result)
}
