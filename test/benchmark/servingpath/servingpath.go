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
		Summary: "the creation of Deployments with and without the serving-path webhook, and its controllers",
		AddFlags: func(flags *flag.FlagSet) {
			flags.IntVar(&o.pairs, name+"-pairs", 4000, "pairs of creations in each comparison")
		},
		Run: func(ctx context.Context, environment *harness.Environment) error {
			return measure(ctx, environment, o)
		},
	}
}

// comparison is what is created on two API servers, and what they differ by.
type comparison struct {
	// deployment says what is created, in one of the namespaces that the shipped configuration looks at.
	deployment string
	suffix     string
	// between says what one side has and the other has not.
	between string
	labels  map[string]string
	filled  bool
	bounded bool
}

// comparisons with the webhook are made while workload-manager's controllers work on both sides: they look at what is
// created, and take their share of the machine. What that costs is compared by itself.
var comparisons = []comparison{
	{deployment: "filled in", suffix: "-epp", between: "webhook", filled: true},
	{deployment: "not matched", between: "webhook", bounded: true},
	{deployment: "not selected", between: "webhook", labels: map[string]string{"modelplane.ai/serving": "model"}, bounded: true},
	{deployment: "not matched", between: "controllers"},
}

const controllers = 3 // the comparison without a webhook, which comes last

// measure creates Deployments by turns on two API servers; after half of the pairs these change their parts, so that
// neither's luck counts.
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
	m := &measurement{samples: make([][]pair, len(comparisons))}
	for half := range 2 {
		environment.Progressf("half %d of 2: %d pairs of each comparison", half+1, o.pairs/2)
		m.with, m.without = servers[half], servers[1-half]
		if err := m.half(ctx, o.pairs/2); err != nil {
			return err
		}
	}
	return report(environment, m.samples)
}

// measurement is what is being measured.
type measurement struct {
	with, without *workloadcluster.Cluster
	created       int // so that each pair has a name of its own
	samples       [][]pair
}

func (m *measurement) half(ctx context.Context, pairs int) error {
	for _, c := range []*workloadcluster.Cluster{m.with, m.without} {
		// Where the webhook is missing nothing is to be filled in later either.
		if err := c.InstallEvenkeel(ctx, map[string]any{"touch": map[string]any{"interval": "24h"}}); err != nil {
			return err
		}
	}
	if err := m.without.RemoveWebhook(ctx); err != nil {
		return err
	}
	for k := range controllers {
		if err := m.pairs(ctx, pairs, k); err != nil {
			return err
		}
	}
	if err := errors.Join(m.with.RemoveWebhook(ctx), m.without.StopManager()); err != nil {
		return err
	}
	if err := m.pairs(ctx, pairs, controllers); err != nil {
		return err
	}
	return m.with.StopManager()
}

// pairs makes some of a comparison. The first ones do not count: connections, caches, compiled expressions, what the
// controllers still do for the comparison before, and the moment until an API server knows which webhooks there are.
func (m *measurement) pairs(ctx context.Context, number, comparison int) error {
	const warmUp = 50
	for i := range warmUp + number {
		p, err := m.pair(ctx, &comparisons[comparison])
		switch {
		case i < warmUp && (err == nil || errors.Is(err, errFilled)):
		case err != nil:
			return err
		default:
			m.samples[comparison] = append(m.samples[comparison], p)
		}
	}
	return nil
}

// pair is how long one creation took with and without the webhook.
type pair struct {
	with, without time.Duration
}

var errFilled = errors.New("it should have been filled in")

// pair creates the same Deployment on both, in an order that alternates, and makes sure that it was filled in only where
// it should be.
func (m *measurement) pair(ctx context.Context, c *comparison) (pair, error) {
	var p pair
	sides := []struct {
		cluster *workloadcluster.Cluster
		took    *time.Duration
		filled  bool
	}{
		{m.with, &p.with, c.filled},
		{m.without, &p.without, false},
	}
	m.created++
	if m.created%2 == 0 {
		sides[0], sides[1] = sides[1], sides[0]
	}
	for _, side := range sides {
		d := workloadcluster.Picker("default", fmt.Sprintf("model%d%s", m.created, c.suffix))
		d.SetLabels(c.labels)
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
			return p, fmt.Errorf("%s has %d replicas: %w: %t", d.GetName(), replicas, errFilled, side.filled)
		}
		// A cluster does not have thousands of pickers, and the controllers look at all there are.
		if err := side.cluster.Client.Delete(ctx, d); err != nil {
			return p, err
		}
	}
	return p, nil
}
