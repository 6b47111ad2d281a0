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
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

// Case is one object of the results file. Times are in milliseconds, medians over all pairs.
type Case struct {
	Benchmark string `json:"benchmark"`
	Update    update `json:"update"`
	Pairs     int    `json:"pairs"`
	// WithoutMillis is the time for the kind that no webhook is about, WithMillis for the InferenceService.
	WithoutMillis float64 `json:"withoutMillis"`
	WithMillis    float64 `json:"withMillis"`
	// Ratio is WithMillis / WithoutMillis, DifferenceMillis the median of the pairs' differences. The upper ends are
	// those of 95 % intervals, by resampling of pairs.
	Ratio                 float64         `json:"ratio"`
	RatioUpper            float64         `json:"ratioUpper95"`
	DifferenceMillis      float64         `json:"differenceMillis"`
	DifferenceUpperMillis float64         `json:"differenceUpper95Millis"`
	WithoutP99Millis      float64         `json:"withoutP99Millis"`
	WithP99Millis         float64         `json:"withP99Millis"`
	Machine               harness.Machine `json:"machine"`
}

const (
	resamples = 2000
	// upperEnd is the share of resamples below the upper end of a two-sided 95 % interval.
	upperEnd = 0.975
	tail     = 0.99
)

func summarize(u update, pairs []pair, machine harness.Machine) Case {
	s := statistics(pairs)
	var ratios, differences []float64
	random := rand.New(rand.NewPCG(1, 2)) // the same pairs give the same bounds
	resampled := make([]pair, len(pairs))
	for range resamples {
		for i := range resampled {
			resampled[i] = pairs[random.IntN(len(pairs))]
		}
		r := statistics(resampled)
		ratios, differences = append(ratios, r.ratio), append(differences, r.difference)
	}
	return Case{
		Benchmark:             name,
		Update:                u,
		Pairs:                 len(pairs),
		WithoutMillis:         harness.Round(s.without),
		WithMillis:            harness.Round(s.with),
		Ratio:                 harness.Round(s.ratio),
		RatioUpper:            harness.Round(quantile(ratios, upperEnd)),
		DifferenceMillis:      harness.Round(s.difference),
		DifferenceUpperMillis: harness.Round(quantile(differences, upperEnd)),
		WithoutP99Millis:      harness.Round(quantile(millis(pairs, func(p pair) time.Duration { return p.bare }), tail)),
		WithP99Millis:         harness.Round(quantile(millis(pairs, func(p pair) time.Duration { return p.guarded }), tail)),
		Machine:               machine,
	}
}

type medians struct {
	with, without, ratio, difference float64
}

func statistics(pairs []pair) medians {
	m := medians{
		with:       harness.Median(millis(pairs, func(p pair) time.Duration { return p.guarded })),
		without:    harness.Median(millis(pairs, func(p pair) time.Duration { return p.bare })),
		difference: harness.Median(millis(pairs, func(p pair) time.Duration { return p.guarded - p.bare })),
	}
	m.ratio = harness.Ratio(m.with, m.without)
	return m
}

func millis(pairs []pair, of func(pair) time.Duration) []float64 {
	values := make([]float64, len(pairs))
	for i, p := range pairs {
		values[i] = float64(of(p)) / float64(time.Millisecond)
	}
	return values
}

// quantile is the smallest value that at least this share of the values does not exceed.
func quantile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	index := int(math.Ceil(share*float64(len(sorted)))) - 1
	return sorted[max(index, 0)]
}

func writeTable(w io.Writer, cases []Case) error {
	header := []string{"update of", "pairs", "without ms", "with ms", "ratio", "at most", "difference ms", "at most", "p99 without", "p99 with"}
	rows := make([][]string, 0, len(cases))
	for _, c := range cases {
		rows = append(rows, []string{
			string(c.Update), strconv.Itoa(c.Pairs), decimals(c.WithoutMillis), decimals(c.WithMillis), decimals(c.Ratio), decimals(c.RatioUpper),
			decimals(c.DifferenceMillis), decimals(c.DifferenceUpperMillis), decimals(c.WithoutP99Millis), decimals(c.WithP99Millis),
		})
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return fmt.Errorf("print a table: %w", err)
	}
	if err := harness.WriteTable(w, header, rows); err != nil {
		return err
	}
	const legend = "\nMedians over all pairs; at most: the upper end of the 95 % interval. The first case has no webhook at all and shows how\n" +
		"much the two kinds differ by themselves; in the second the guard is not asked, in the third it judges a drain.\n"
	if _, err := io.WriteString(w, legend); err != nil {
		return fmt.Errorf("print a table: %w", err)
	}
	return nil
}

func decimals(value float64) string { return harness.Decimals(value, 3) }
