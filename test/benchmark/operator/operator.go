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
	"context"
	"flag"
	"fmt"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

const name = "operator"

type options struct {
	shape
	runs int
}

// shape is the fleet.
type shape struct {
	clusters    int
	deployments int
	// replicas of each deployment.
	replicas int
	// drained is how many replicas are on the cluster whose drain is planned.
	drained int
}

func (s shape) all() int { return s.deployments * s.replicas }

// room is how many nodes each other cluster needs so that there is some left when all is placed.
func (s shape) room() int { return s.all()/max(s.clusters-1, 1) + 2 }

// nodes of the i-th cluster.
func (s shape) nodes(i int) int {
	if i == 0 {
		return s.drained
	}
	return s.room()
}

// Benchmark returns the entry for the list of benchmarks.
func Benchmark() harness.Benchmark {
	var opts options
	return harness.Benchmark{
		Name:     name,
		Summary:  "kubectl evenkeel on a large fleet",
		AddFlags: opts.addFlags,
		Run: func(ctx context.Context, environment *harness.Environment) error {
			return measure(ctx, environment, opts)
		},
	}
}

func (o *options) addFlags(flags *flag.FlagSet) {
	flags.IntVar(&o.clusters, name+"-clusters", 1000, "number of clusters")
	flags.IntVar(&o.deployments, name+"-deployments", 1000, "number of deployments")
	flags.IntVar(&o.replicas, name+"-replicas", 5, "replicas of each deployment; at most 10")
	flags.IntVar(&o.drained, name+"-drained", 50, "replicas on the cluster whose drain is planned")
	flags.IntVar(&o.runs, name+"-runs", 5, "runs of each command; the median counts")
}

// validate refuses a fleet that cannot be made.
func (o options) validate() error {
	const mostReplicas = 10 // of a ModelDeployment
	switch {
	case o.clusters < 2 || o.deployments < 1 || o.replicas < 1 || o.replicas > mostReplicas || o.drained < 1 || o.runs < 1:
		return fmt.Errorf("-%[1]s-clusters must be at least 2, -deployments, -replicas, -drained and -runs at least 1, and -%[1]s-replicas at most %[2]d", name, mostReplicas)
	case o.drained > o.deployments:
		return fmt.Errorf("a cluster has one replica of a deployment at first, so that -%[1]s-drained can be %[2]d only with as many -%[1]s-deployments", name, o.drained)
	}
	return nil
}

func measure(ctx context.Context, environment *harness.Environment, o options) error {
	if err := o.validate(); err != nil {
		return err
	}
	cases, err := measureFleet(ctx, environment, o)
	if err != nil {
		return err
	}
	for _, c := range cases {
		if err := environment.Results.Add(c); err != nil {
			return err
		}
	}
	return writeTable(environment.Out, cases)
}
