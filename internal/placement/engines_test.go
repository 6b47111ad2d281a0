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

package placement

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// A Matcher is used by all filters of a scheduling cycle at once, and by a controller's workers.
func TestMatcherConcurrently(t *testing.T) {
	m := NewMatcher()
	large := gpuDevice(96)
	large.Capacity["memory"] = modelplane.DeviceCapacity{Value: "256000000000000000001"}
	pools := []*Pools{prepared(poolOf("h", 2, large)), prepared(poolOf("h", 2), poolOf("i", 1)), prepared(poolOf("h", 2, gpuDevice(40)))}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 50 {
				d := deployment("chat", 1, single("main", ask("gpu", 1, atLeast(80+(worker+i)%5),
					`device.capacity["gpu.acme.test"].memory.add(quantity("1E")).isGreaterThan(quantity("1E"))`)))
				requirements := RequirementsOf(d.Spec.Template.Spec.Engines)
				for j, p := range pools {
					decision, shortage := m.Place(requirements, p, func(string) int64 { return 1 })
					if j == 2 {
						assert.Equal(t, &Shortage{Kind: NoMatchingPool, Engine: "main", Pool: "h", Request: "gpu"}, shortage)
						continue
					}
					if assert.NotNil(t, decision) {
						_, err := m.Resolve(requirements, decision.Engines, p)
						assert.NoError(t, err)
						assert.Equal(t, decision.Cost, m.Cost(requirements, decision.Engines, p))
					}
				}
			}
		})
	}
	wg.Wait()
}

// A scheduling cycle asks about each cluster of the fleet, so that a warm answer must be cheap.
func TestWarmPlaceAllocatesNothing(t *testing.T) {
	engines, err := NewMatcher().PrepareEngines(RequirementsOf([]modelplane.Engine{
		single("a", askGPU(80)), engineOf("b", leader(askGPU(80)), workers(3, askGPU(80))),
	}))
	require.NoError(t, err)
	pools := prepared(poolOf("h", 2), poolOf("i", 9))
	fits := testing.AllocsPerRun(100, func() { engines.Place(pools, func(string) int64 { return 100 }) })
	assert.Zero(t, fits)
	short := testing.AllocsPerRun(100, func() { engines.Place(pools, func(string) int64 { return 0 }) })
	assert.LessOrEqual(t, short, 1.0)
}

// What is remembered is bounded, however many templates and pools come and go.
func TestMatcherForgets(t *testing.T) {
	m := NewMatcher()
	m.engines, m.matches, m.fits = newMemo[string, *Engines](8), newMemo[matchKey, *match](8), newMemo[fitKey, *fit](8)
	m.programs = newMemo[string, *program](8)
	for i := range 40 {
		requirements := RequirementsOf([]modelplane.Engine{single("main", ask("gpu", 1, fmt.Sprintf("%d > 0", i)))})
		for nodes := range int64(3) {
			decision, _ := m.Place(requirements, prepared(poolOf(fmt.Sprintf("pool-%d", i), nodes)), func(string) int64 { return 1 })
			assert.Equal(t, i > 0, decision != nil)
		}
	}
	for name, size := range map[string]int{"programs": m.programs.size(), "engines": m.engines.size(), "matches": m.matches.size(), "fits": m.fits.size()} {
		assert.LessOrEqual(t, size, 8, name)
	}
}
