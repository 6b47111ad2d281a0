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
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func taintAll(c *modelplane.InferenceCluster) *modelplane.InferenceCluster {
	c = c.DeepCopy()
	c.Spec.Taints = []modelplane.Taint{{Key: "acme.test/x", Effect: modelplane.TaintEffectNoExecute}}
	return c
}

// TestASwapIsHeld has a deployment that fills a cluster which is drained, while another one, which is in the same
// position, fills the only other cluster: under Hold, and under MakeBeforeBreak, nothing is deleted and the placements say
// what they wait for. Room that comes ends it.
func TestASwapIsHeld(t *testing.T) {
	for _, policy := range []Policy{
		{MaxUnavailable: 2, Strategy: evenkeel.StrategyRecreate, WhenUnplaceable: evenkeel.WhenUnplaceableHold, ReadyTimeout: 10 * time.Minute},
		{MaxUnavailable: 2, Strategy: evenkeel.StrategyMakeBeforeBreak, WhenUnplaceable: evenkeel.WhenUnplaceableEvict, ReadyTimeout: 10 * time.Minute},
	} {
		for _, own := range []string{"east", "west"} {
			t.Run(string(policy.Strategy)+" from "+own, func(t *testing.T) {
				other := map[string]string{"east": "west", "west": "east"}[own]
				s := newSim(2, testClusterOf(own, 2))
				s.policy, s.surged = policy, policy.Strategy == evenkeel.StrategyMakeBeforeBreak
				require.NoError(t, s.settle())
				s.clusters[other] = testClusterOf(other, 2)
				for i := range int32(2) {
					r := testReplica(testDeployment("search", 2), "search-"+string(rune('a'+i)), other, i, "h")
					s.addReplica(r)
				}
				s.clusters[own] = taintAll(s.clusters[own])
				require.NoError(t, s.settle())
				assert.Equal(t, []string{own + "/0", own + "/1"}, s.placed())
				told := 0
				for _, p := range s.placements {
					if m := p.Status.Move; m != nil && m.Step == evenkeel.StepUnplaceable {
						assert.Equal(t, evenkeel.LeavingUnplaceable, m.Reason)
						assert.Contains(t, m.WaitingFor, "a destination: no cluster fits")
						told++
					}
				}
				assert.Equal(t, 2, told)

				s.clusters["north"] = testClusterOf("north", 2)
				for _, p := range s.placements { // the scheduler hears of the cluster
					if p.Status.Assignment == nil {
						s.scheduleOne(p)
					}
				}
				require.NoError(t, s.settle())
				assert.Equal(t, []string{"north/0", "north/1"}, s.placed())
			})
		}
	}
}

// TestSurgesThatNeverServe drains a cluster to one where nothing loads: replacements are taken back, tried again with
// longer and longer pauses, and the replicas serve on.
func TestSurgesThatNeverServe(t *testing.T) {
	s := newSim(2, testClusterOf("east", 2))
	s.policy.Strategy, s.surged = evenkeel.StrategyMakeBeforeBreak, true
	require.NoError(t, s.settle())
	s.clusters["west"] = testClusterOf("west", 2)
	s.clusters["east"] = taintAll(s.clusters["east"])
	tries := 0
	for range 2 * 360 {
		s.refresh()
		s.reconcile(-1)
		s.schedule(true)
		s.compose(time.Hour, 10*time.Second)
		require.NoError(t, s.broken)
		s.now = s.now.Add(10 * time.Second)
		serving := 0
		for _, r := range s.replicas {
			if isReady(r) {
				serving++
			}
		}
		require.Equal(t, 2, serving, strings.Join(s.trace, "\n"))
	}
	for _, d := range s.deletions {
		require.Contains(t, d, evenkeel.CauseNotServing)
		tries++
	}
	// In two hours, of 10 minutes each and pauses of 1, 2, 4, 8 and 16 minutes, and both replicas: one at a time.
	assert.GreaterOrEqual(t, tries, 4)
	assert.LessOrEqual(t, tries, 14)
}

// TestPolicyOfOneReplica drains deployments of one replica under every policy: none with a budget of none, and a
// serving one is never deleted under Hold or MakeBeforeBreak without somewhere to go.
func TestPolicyOfOneReplica(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newRandomSim(t)
		d := s.deployment.DeepCopy()
		d.Spec.Replicas = 1
		s.deployment = d
		s.calmDown()
		s.policy.MaxUnavailable = rapid.IntRange(0, 1).Draw(t, "budget")
		require.NoError(t, s.settle())
		before := s.placed()
		for name := range s.clusters {
			if rapid.Bool().Draw(t, "drain "+name) {
				s.clusters[name] = taintAll(s.clusters[name])
			}
		}
		require.NoError(t, s.settle())
		if s.policy.AtOnce() == 0 {
			require.Equal(t, before, s.placed())
			return
		}
		if s.policy.holds() && len(before) == 1 {
			require.Len(t, s.placed(), 1)
		}
		s.checkEnd(t)
	})
}
