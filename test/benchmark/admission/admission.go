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

package admission

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

const name = "admission"

// minPairs is the least number of pairs of which a bound is told.
const minPairs = 20

type options struct {
	pairs, warmUp int
}

// Benchmark returns the entry for the list of benchmarks.
func Benchmark() harness.Benchmark {
	var opts options
	return harness.Benchmark{
		Name:     name,
		Summary:  "updates of InferenceServices with and without the guard of traffic drains",
		AddFlags: opts.addFlags,
		Run: func(ctx context.Context, environment *harness.Environment) error {
			return measure(ctx, environment, opts)
		},
	}
}

func (o *options) addFlags(flags *flag.FlagSet) {
	flags.IntVar(&o.pairs, name+"-pairs", 2000, "pairs of updates in each case")
	flags.IntVar(&o.warmUp, name+"-warm-up", 200, "pairs before each case that do not count")
}

// update is what a case does to a service.
type update string

const (
	// withoutWebhook changes the spec before any webhook is installed.
	withoutWebhook update = "spec, no webhook"
	// ofSpec changes the spec, which the guard is not asked about.
	ofSpec update = "spec"
	// ofDrains replaces a drain by another, which the guard judges with the service's TrafficMap.
	ofDrains update = "drain"
)

func measure(ctx context.Context, environment *harness.Environment, opts options) (err error) {
	if opts.pairs < minPairs || opts.warmUp < 0 {
		return fmt.Errorf("-%s-pairs must be at least %d and -%s-warm-up not negative", name, minPairs, name)
	}
	folder, err := os.MkdirTemp("", "evenkeel-benchmark-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	h, err := startHub(ctx, environment, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.stop(ctx)) }()

	var results []Case
	for _, u := range []update{withoutWebhook, ofSpec, ofDrains} {
		if u == ofSpec {
			if err := h.installGuard(ctx); err != nil {
				return err
			}
		}
		pairs, err := h.measureCase(ctx, u, opts)
		if err != nil {
			return fmt.Errorf("update of %s: %w", u, err)
		}
		result := summarize(u, pairs, environment.Machine)
		if err := environment.Results.Add(result); err != nil {
			return err
		}
		environment.Progressf("update of %s: %d pairs measured", u, len(pairs))
		results = append(results, result)
	}
	return writeTable(environment.Out, results)
}
