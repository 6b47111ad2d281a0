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

package servingpath

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/internal/workloadcluster"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

const name = "servingpath"

type options struct {
	pairs int
}

// Benchmark returns the entry for the list of benchmarks.
func Benchmark() harness.Benchmark {
	var o options
	return harness.Benchmark{
		Name:    name,
		Summary: "the creation of Deployments with and without the serving-path webhook",
		AddFlags: func(flags *flag.FlagSet) {
			flags.IntVar(&o.pairs, name+"-pairs", 2000, "pairs of creations, one with and one without the webhook, in each case")
		},
		Run: func(ctx context.Context, environment *harness.Environment) error {
			return measure(ctx, environment, o)
		},
	}
}

// kinds are the cases. The namespace is one of those that the shipped configuration looks at.
var kinds = []struct{ name, suffix string }{
	{"filled in", "-epp"},
	{"not matched", ""},
}

// measure creates Deployments by turns on two API servers, of which one has the webhook; after half of the pairs they
// change their parts, so that neither's luck counts.
func measure(ctx context.Context, environment *harness.Environment, o options) (err error) {
	if o.pairs < 2 {
		return fmt.Errorf("-%s-pairs must be at least 2", name)
	}
	var servers []*workloadcluster.Cluster
	defer func() {
		for _, c := range servers {
			err = errors.Join(err, c.Stop())
		}
	}()
	for range 2 {
		c, err := workloadcluster.Start(ctx, workloadcluster.Options{Root: environment.Root, Bare: true})
		if err != nil {
			return err
		}
		servers = append(servers, c)
	}
	samples := make([][]pair, len(kinds))
	for half := range 2 {
		with, without := servers[half], servers[1-half]
		environment.Progressf("half %d of 2: %d pairs of each kind", half+1, o.pairs/2)
		if err := with.InstallEvenkeel(ctx, nil); err != nil {
			return err
		}
		if err := warmUp(ctx, with, without, half); err != nil {
			return err
		}
		for i := range o.pairs / 2 {
			for k := range kinds {
				p, err := measurePair(ctx, with, without, k, half*o.pairs+i)
				if err != nil {
					return err
				}
				samples[k] = append(samples[k], p)
			}
		}
		if err := with.RemoveEvenkeel(ctx); err != nil {
			return err
		}
	}
	return report(environment, samples)
}

// warmUp creates some that do not count: connections, caches and compiled expressions.
func warmUp(ctx context.Context, with, without *workloadcluster.Cluster, half int) error {
	const some = 50
	for i := range some {
		for k := range kinds {
			if _, err := measurePair(ctx, with, without, k, -1-half*some-i); err != nil {
				return err
			}
		}
	}
	return nil
}

// pair is how long one creation took with and without the webhook.
type pair struct {
	with, without time.Duration
}

// measurePair creates the same Deployment on both, in an order that alternates, and makes sure that the one was filled in
// and the other was not.
func measurePair(ctx context.Context, with, without *workloadcluster.Cluster, kind, number int) (pair, error) {
	var p pair
	sides := []struct {
		cluster *workloadcluster.Cluster
		took    *time.Duration
		filled  bool
	}{
		{with, &p.with, kinds[kind].suffix != ""},
		{without, &p.without, false},
	}
	if number%2 == 0 {
		sides[0], sides[1] = sides[1], sides[0]
	}
	for _, side := range sides {
		d := workloadcluster.Picker("default", fmt.Sprintf("model%d%s", number, kinds[kind].suffix))
		started := time.Now()
		err := side.cluster.Client.Create(ctx, d, client.FieldOwner(workloadcluster.ProviderKubernetes))
		*side.took = time.Since(started)
		if err != nil {
			return p, err
		}
		replicas, _, err := unstructured.NestedInt64(d.Object, "spec", "replicas")
		if err != nil {
			return p, err
		}
		if filled := replicas == 2; filled != side.filled {
			return p, fmt.Errorf("%s has %d replicas: the webhook should have filled it in: %t", d.GetName(), replicas, side.filled)
		}
		// A cluster does not have thousands of pickers, and the controllers look at all there are.
		if err := side.cluster.Client.Delete(ctx, d); err != nil {
			return p, err
		}
	}
	return p, nil
}
