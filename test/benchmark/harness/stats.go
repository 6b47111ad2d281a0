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
	"math"
	"slices"
)

// Median returns the middle value, the mean of the two middle ones of an even
// number of values, and 0 of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// MedianOf returns the median of one number of each run.
func MedianOf[T any](runs []T, number func(T) float64) float64 {
	values := make([]float64, len(runs))
	for i, run := range runs {
		values[i] = number(run)
	}
	return Median(values)
}

// Ratio returns a/b, and 0 where b is 0: JSON has no infinity.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Round keeps three decimals, which is more than any measurement here is worth.
func Round(value float64) float64 {
	const scale = 1000
	return math.Round(value*scale) / scale
}

// Mebibytes converts a number of bytes.
func Mebibytes(bytes uint64) float64 {
	const mebibyte = 1 << 20
	return Round(float64(bytes) / mebibyte)
}
