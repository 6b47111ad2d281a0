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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

func TestSummarize(t *testing.T) {
	var pairs []pair
	for i := range 100 {
		noise := time.Duration(i%10) * 10 * time.Microsecond
		pairs = append(pairs, pair{with: 3*time.Millisecond + noise, without: 2*time.Millisecond + noise})
	}
	c := summarize(&comparisons[controllers], pairs, harness.Machine{})
	assert.InDelta(t, 1.0, c.AddsMS, 0.001)
	assert.GreaterOrEqual(t, c.AddsUpper, c.AddsMS)
	assert.InDelta(t, 1.489, c.Ratio, 0.01)
	assert.Equal(t, 100, c.Pairs)
	assert.Equal(t, "none", c.row()[7])
	assert.Equal(t, "controllers", c.Between)
}
