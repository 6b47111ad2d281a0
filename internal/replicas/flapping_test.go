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

package replicas

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// TestAFlappingTaint sets and lifts a taint over and over, so fast that between the two the controller looks once and the
// scheduler sometimes answers: no replica is deleted, and in the end nothing is left of the moves that were called off.
func TestAFlappingTaint(t *testing.T) {
	for _, strategy := range []evenkeel.DisruptionStrategy{evenkeel.StrategyRecreate, evenkeel.StrategyMakeBeforeBreak} {
		for _, routes := range []bool{false, true} {
			s := newSim(2, testClusterOf("east", 2))
			s.policy.Strategy, s.surged = strategy, strategy == evenkeel.StrategyMakeBeforeBreak
			if routes {
				s.withRoutes()
			}
			require.NoError(t, s.settle())
			s.clusters["west"] = testClusterOf("west", 2)
			steady, tainted := s.clusters["east"], taintAll(s.clusters["east"])
			begun := 0
			for i := range 60 {
				s.clusters["east"] = tainted
				s.refresh()
				begun += s.reconcile(-1)
				if i%2 == 0 {
					s.schedule(true)
				}
				s.clusters["east"] = steady
				s.refresh()
				s.reconcile(-1)
				s.compose(30*time.Second, 10*time.Second)
				s.now = s.now.Add(7 * time.Second)
				require.NoError(t, s.broken)
			}
			require.NoError(t, s.settle())
			assert.Positive(t, begun, "the taint was never seen")
			assert.Empty(t, s.deletions, "%s, routes %t", strategy, routes)
			assert.Equal(t, []string{"east/0", "east/1"}, s.placed())
			assert.Len(t, s.placements, 2, "what was begun is still there")
			for _, p := range s.placements {
				assert.Nil(t, p.Status.Move)
				for _, c := range p.Status.Conditions {
					assert.NotEqual(t, evenkeel.ConditionDisruptionTarget, c.Type)
				}
			}
		}
	}
}
