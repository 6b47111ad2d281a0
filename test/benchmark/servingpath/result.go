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
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

// What the webhook may cost for objects that it does not match: either is enough.
const (
	mostRatio  = 1.05
	mostAddsMS = 0.3
)

// resamples of the pairs give the bounds.
const resamples = 1000

// Case is the result of one comparison.
type Case struct {
	Benchmark string `json:"benchmark"`
	// Kind of the object that was created, and what one side had and the other had not.
	Kind    string          `json:"kind"`
	Between string          `json:"between"`
	Pairs   int             `json:"pairs"`
	Machine harness.Machine `json:"machine"`
	// Medians in milliseconds.
	WithoutMS float64 `json:"withoutMs"`
	WithMS    float64 `json:"withMs"`
	// Ratio of the medians and their difference, each with the upper end of its 95 % interval.
	Ratio      float64 `json:"ratio"`
	RatioUpper float64 `json:"ratioUpper95"`
	AddsMS     float64 `json:"addsMs"`
	AddsUpper  float64 `json:"addsMsUpper95"`
	// Met tells whether what may be added is not exceeded; only objects that are not matched have such a bound.
	Met *bool `json:"met,omitempty"`
}

func report(environment *harness.Environment, samples [][]pair) error {
	rows := make([][]string, 0, len(comparisons))
	for k, pairs := range samples {
		c := summarize(&comparisons[k], pairs, environment.Machine)
		if comparisons[k].bounded {
			met := c.RatioUpper <= mostRatio || c.AddsUpper <= mostAddsMS
			c.Met = &met
		}
		if err := environment.Results.Add(c); err != nil {
			return err
		}
		rows = append(rows, c.row())
	}
	header := []string{"Deployment", "with", "pairs", "without it", "with it", "ratio (95 % at most)", "adds (95 % at most)", "bound"}
	return harness.WriteTable(environment.Out, header, rows)
}

func (c *Case) row() []string {
	bound := "none"
	if c.Met != nil {
		bound = fmt.Sprintf("%.2f or %.1f ms: met %t", mostRatio, mostAddsMS, *c.Met)
	}
	return []string{
		c.Kind, c.Between, fmt.Sprint(c.Pairs), fmt.Sprintf("%.2f ms", c.WithoutMS), fmt.Sprintf("%.2f ms", c.WithMS),
		fmt.Sprintf("%.3f (%.3f)", c.Ratio, c.RatioUpper), fmt.Sprintf("%.2f ms (%.2f)", c.AddsMS, c.AddsUpper), bound,
	}
}

func summarize(what *comparison, pairs []pair, machine harness.Machine) *Case {
	with, without := medians(pairs)
	c := &Case{
		Benchmark: name, Kind: what.deployment, Between: what.between, Pairs: len(pairs), Machine: machine,
		WithoutMS: harness.Round(without), WithMS: harness.Round(with),
		Ratio: harness.Round(harness.Ratio(with, without)), AddsMS: harness.Round(with - without),
	}
	// Pairs are drawn with replacement, whole, so that a slow moment of the machine stays on both sides.
	r := rand.New(rand.NewPCG(1, 2))
	ratios, adds := make([]float64, resamples), make([]float64, resamples)
	drawn := make([]pair, len(pairs))
	for i := range resamples {
		for j := range drawn {
			drawn[j] = pairs[r.IntN(len(pairs))]
		}
		with, without := medians(drawn)
		ratios[i], adds[i] = harness.Ratio(with, without), with-without
	}
	c.RatioUpper, c.AddsUpper = harness.Round(upper(ratios)), harness.Round(upper(adds))
	return c
}

// medians in milliseconds.
func medians(pairs []pair) (with, without float64) {
	return harness.MedianOf(pairs, func(p pair) float64 { return milliseconds(p.with) }),
		harness.MedianOf(pairs, func(p pair) float64 { return milliseconds(p.without) })
}

func milliseconds(d time.Duration) float64 {
	return float64(d) / float64(time.Millisecond)
}

// upper is the upper end of the two-sided 95 % interval.
func upper(values []float64) float64 {
	const share = 0.975
	slices.Sort(values)
	return values[int(share*float64(len(values)))]
}
