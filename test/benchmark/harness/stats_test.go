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

package harness

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMedian(t *testing.T) {
	for name, tc := range map[string]struct {
		values []float64
		want   float64
	}{
		"none":              {nil, 0},
		"one":               {[]float64{7}, 7},
		"three, unsorted":   {[]float64{9, 1, 5}, 5},
		"an outlier":        {[]float64{280, 3, 281}, 280},
		"four, unsorted":    {[]float64{4, 1, 3, 2}, 2.5},
		"all the same":      {[]float64{2, 2, 2}, 2},
		"negative and zero": {[]float64{0, -1, -5}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, Median(tc.values))
		})
	}
}

func TestMedianLeavesItsInputAlone(t *testing.T) {
	values := []float64{3, 1, 2}
	Median(values)
	assert.Equal(t, []float64{3, 1, 2}, values)
}

func TestMedianOf(t *testing.T) {
	words := []string{"four", "a", "three"}
	assert.Equal(t, 4.0, MedianOf(words, func(s string) float64 { return float64(len(s)) }))
}

func TestRatio(t *testing.T) {
	assert.Equal(t, 1.5, Ratio(3, 2))
	assert.Equal(t, 0.0, Ratio(3, 0), "JSON has no infinity")
}

func TestRound(t *testing.T) {
	assert.Equal(t, 1.235, Round(1.23456))
	assert.Equal(t, 280.0, Round(280))
}
