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
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// TestWhateverHappens lets random things happen to a fleet, with a controller that reads stale caches and is killed
// between any two writes, and then leaves it alone.
//
// Always: one replica a slot; no more nodes charged than there are; no replica that serves is deleted for a move while
// another move is in progress. In the end: as many replicas as there is room for, none where a taint forbids it, and
// nothing left to do.
func TestWhateverHappens(t *testing.T) {
	states, enough := 0, manyChecks(t)
	rapid.Check(t, func(t *rapid.T) {
		s := newRandomSim(t)
		defer func() { states += s.decided }()
		steps := rapid.IntRange(1, 60).Draw(t, "steps")
		for range steps {
			s.step(t)
			require.NoError(t, s.broken)
		}
		s.calmDown()
		defer func() {
			if t.Failed() {
				t.Log(strings.Join(s.trace, "\n"))
			}
		}()
		require.NoError(t, s.settle())
		s.checkEnd(t)
	})
	t.Logf("decided for %d states", states)
	require.GreaterOrEqual(t, states, enough)
}

// manyChecks has rapid try as many cases as come to at least so many states, unless the command line asks for another
// number, or for short tests.
func manyChecks(t *testing.T) (states int) {
	const usual = "100"
	if testing.Short() || flag.Lookup("rapid.checks").Value.String() != usual {
		return 0
	}
	require.NoError(t, flag.Set("rapid.checks", "4400"))
	t.Cleanup(func() { require.NoError(t, flag.Set("rapid.checks", usual)) })
	return 100_000
}

type randomSim struct {
	*sim
	// nodes of each cluster: one that is deleted comes back as large as it was.
	nodes map[string]int64
}

var clusterNames = []string{"east", "north", "west"}

func newRandomSim(t *rapid.T) *randomSim {
	s := &randomSim{sim: newSim(int32(rapid.IntRange(1, 4).Draw(t, "replicas"))), nodes: map[string]int64{}}
	s.editPolicy(t)
	if rapid.Bool().Draw(t, "routes") {
		s.withRoutes()
	}
	for _, name := range clusterNames {
		s.nodes[name] = int64(rapid.IntRange(0, 3).Draw(t, "nodes of "+name))
		s.addCluster(name)
	}
	s.refresh()
	return s
}

func (s *randomSim) addCluster(name string) {
	c := testClusterOf(name, s.nodes[name])
	c.UID = types.UID(s.next())
	s.clusters[name] = c
}

func (s *randomSim) step(t *rapid.T) {
	switch rapid.IntRange(0, 18).Draw(t, "what") {
	case 18:
		s.editPolicy(t)
	case 0, 17:
		s.refresh()
		s.reconcile(-1)
	case 1, 2, 3:
		s.reconcile(rapid.IntRange(-1, 4).Draw(t, "killed after"))
	case 4, 5, 6:
		s.refreshKind(rapid.SampledFrom(kinds).Draw(t, "kind"))
	case 7, 8:
		s.schedule(rapid.Bool().Draw(t, "all"))
	case 9, 10:
		s.compose(time.Duration(rapid.IntRange(0, 60).Draw(t, "loading"))*time.Second, time.Duration(rapid.IntRange(0, 60).Draw(t, "terminating"))*time.Second)
	case 11:
		s.now = s.now.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "seconds")) * time.Second)
		s.settleOpen()
	case 12, 13:
		s.editCluster(t)
	case 14:
		s.editDeployment(t)
	case 15:
		s.deleteSomeReplica(t)
	case 16:
		s.deleteSomePlacement(t)
	}
}

func (s *randomSim) editCluster(t *rapid.T) {
	name := rapid.SampledFrom(clusterNames).Draw(t, "cluster")
	if s.clusters[name] == nil {
		s.addCluster(name)
		return
	}
	c := s.clusters[name].DeepCopy()
	switch rapid.SampledFrom([]string{"taint", "untaint", "unready", "ready", "delete"}).Draw(t, "edit") {
	case "taint":
		effect := rapid.SampledFrom([]modelplane.TaintEffect{modelplane.TaintEffectNoExecute, modelplane.TaintEffectNoSchedule}).Draw(t, "effect")
		c.Spec.Taints = []modelplane.Taint{{Key: "acme.test/x", Effect: effect}}
	case "untaint":
		c.Spec.Taints = nil
	case "unready":
		c.Status.Conditions[0].Status = "False"
	case "ready":
		c.Status.Conditions[0].Status = "True"
	case "delete":
		delete(s.clusters, name)
		return
	}
	s.clusters[name] = c
}

func (s *randomSim) editDeployment(t *rapid.T) {
	d := s.deployment.DeepCopy()
	switch rapid.SampledFrom([]string{"scale", "engine", "tolerate", "label"}).Draw(t, "edit") {
	case "scale":
		d.Spec.Replicas = int32(rapid.IntRange(1, 4).Draw(t, "replicas"))
	case "engine":
		d.Spec.Template.Spec.Engines[0].Name = rapid.SampledFrom([]string{"main", "other"}).Draw(t, "engine")
	case "tolerate":
		d.Spec.Template.Spec.Tolerations = rapid.SampledFrom([][]modelplane.Toleration{nil, {{Operator: modelplane.TolerationOpExists}}}).Draw(t, "tolerations")
	case "label":
		d.Spec.Template.Metadata = &modelplane.TemplateMetadata{Labels: map[string]string{"tier": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tier")}}
	}
	d.Generation++
	s.deployment = d
}

func (s *randomSim) deleteSomeReplica(t *rapid.T) {
	if names := slices.Sorted(maps.Keys(s.replicas)); len(names) > 0 {
		if r := s.replicas[rapid.SampledFrom(names).Draw(t, "replica")]; r.DeletionTimestamp == nil {
			s.terminate(r)
		}
	}
}

func (s *randomSim) deleteSomePlacement(t *rapid.T) {
	if names := slices.Sorted(maps.Keys(s.placements)); len(names) > 0 {
		name := rapid.SampledFrom(names).Draw(t, "placement")
		s.note("somebody deletes %s", name)
		delete(s.placements, name)
	}
}

func (s *randomSim) editPolicy(t *rapid.T) {
	s.policy.Strategy = rapid.SampledFrom([]evenkeel.DisruptionStrategy{evenkeel.StrategyRecreate, evenkeel.StrategyMakeBeforeBreak}).Draw(t, "strategy")
	s.policy.WhenUnplaceable = rapid.SampledFrom([]evenkeel.UnplaceablePolicy{evenkeel.WhenUnplaceableEvict, evenkeel.WhenUnplaceableHold}).Draw(t, "whenUnplaceable")
	s.policy.MaxUnavailable = rapid.IntRange(0, 3).Draw(t, "maxUnavailable")
	s.policy.Paused = rapid.IntRange(0, 9).Draw(t, "paused") == 0
	s.surged = s.surged || s.policy.Strategy == evenkeel.StrategyMakeBeforeBreak
}

// calmDown ends the troubles that would keep the fleet from coming to rest.
func (s *randomSim) calmDown() {
	for name, c := range s.clusters {
		c = c.DeepCopy()
		c.Status.Conditions[0].Status = "True"
		s.clusters[name] = c
	}
	s.policy.Paused = false
	s.policy.MaxUnavailable = max(s.policy.MaxUnavailable, 1)
	s.refresh()
}

func (s *randomSim) checkEnd(t *rapid.T) {
	wanted := int(s.deployment.Spec.Replicas)
	alive := s.placed()
	slots, waiting := map[int32]bool{}, map[int32]bool{}
	for _, p := range s.placements {
		if finished(p) {
			continue
		}
		slots[p.Spec.Slot] = true
		if p.Status.Assignment == nil {
			waiting[p.Spec.Slot] = true
			for _, c := range s.clusters {
				require.Nil(t, s.fits(p, c), "placement %s waits, and %s has room", p.Name, c.Name)
			}
		}
	}
	require.Len(t, slots, wanted)
	require.LessOrEqual(t, len(alive), wanted, "replicas %v", alive)
	require.GreaterOrEqual(t, len(alive)+len(waiting), wanted, "replicas %v and %d waiting", alive, waiting)
	require.Equal(t, int32(len(alive)), s.deployment.Status.Replicas.Ready)
	if len(s.clusters) == 0 {
		return // what runs is kept, and nobody knows where it is reached
	}
	for name, r := range s.replicas {
		c := s.clusters[r.Spec.ClusterName]
		held := s.policy.holds() && waiting[*s.slotOf(name)]
		if c == nil {
			require.True(t, held, "replica %s is on a cluster that does not exist", name)
			continue
		}
		tolerations := s.deployment.Spec.Template.Spec.Tolerations
		evicted := len(placement.Untolerated(tolerations, c.Spec.Taints, modelplane.TaintEffectNoExecute)) > 0
		require.False(t, evicted && !held, "replica %s is on a cluster it must leave", name)
		require.NotNil(t, s.endpoints[name], "replica %s has no endpoint", name)
		require.True(t, held || s.deployment.Spec.Template.Spec.Engines[0].Name == r.Spec.Engines[0].Name, "replica %s is not what the template asks for", name)
	}
	require.LessOrEqual(t, len(s.endpoints), len(s.replicas))
	if !s.policy.holds() {
		require.Equal(t, wanted, len(alive)+len(waiting), "replicas %v and %d waiting", alive, waiting)
	}
}

// TestOrderDoesNotMatter shuffles all lists of an observation.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newRandomSim(t)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			s.step(t)
		}
		o := s.observation()
		want := Decide(o)
		o.Placements = rapid.Permutation(o.Placements).Draw(t, "placements")
		o.Replicas = rapid.Permutation(o.Replicas).Draw(t, "replicas")
		o.Endpoints = rapid.Permutation(o.Endpoints).Draw(t, "endpoints")
		o.Clusters = rapid.Permutation(o.Clusters).Draw(t, "clusters")
		got := Decide(o)
		require.Equal(t, told(want.Actions), told(got.Actions))
		require.Equal(t, want.Status, got.Status)
		require.Equal(t, want.Events, got.Events)
		require.Equal(t, want.RequeueAfter, got.RequeueAfter)
	})
}

// TestLiftingATaintMovesNothingBack drains a cluster for a while, calls it off, and looks at what is deleted after that:
// nothing for the taint.
func TestLiftingATaintMovesNothingBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSim(int32(rapid.IntRange(1, 4).Draw(t, "replicas")), testClusterOf("east", 4))
		require.NoError(t, s.settle())
		s.clusters["west"] = testClusterOf("west", int64(rapid.IntRange(0, 4).Draw(t, "room")))
		tainted := s.clusters["east"].DeepCopy()
		tainted.Spec.Taints = []modelplane.Taint{{Key: "acme.test/x", Effect: modelplane.TaintEffectNoExecute}}
		s.clusters["east"] = tainted
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			(&randomSim{sim: s}).peacefulStep(t)
		}
		s.clusters["east"] = testClusterOf("east", 4)
		s.refresh()
		s.deletions = nil
		require.NoError(t, s.settle())
		require.Empty(t, s.deletions)
		require.Len(t, s.placed(), int(s.deployment.Spec.Replicas))
	})
}

func (s *randomSim) peacefulStep(t *rapid.T) {
	switch rapid.IntRange(0, 4).Draw(t, "what") {
	case 0, 1:
		s.refresh()
		s.reconcile(rapid.IntRange(-1, 4).Draw(t, "killed after"))
	case 2:
		s.schedule(true)
	case 3:
		s.compose(30*time.Second, 10*time.Second)
	case 4:
		s.now = s.now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second)
	}
	require.NoError(t, s.broken)
}

// TestADrainEnds drains a cluster whose siblings never load and whose replacements never load: the replicas leave it all
// the same, one at a time.
func TestADrainEnds(t *testing.T) {
	for _, room := range []int64{0, 1, 3} {
		t.Run(fmt.Sprintf("room for %d", room), func(t *testing.T) {
			s := newSim(3, testClusterOf("east", 3))
			require.NoError(t, s.settle())
			s.clusters["west"] = testClusterOf("west", room)
			tainted := s.clusters["east"].DeepCopy()
			tainted.Spec.Taints = []modelplane.Taint{{Key: "acme.test/x", Effect: modelplane.TaintEffectNoExecute}}
			s.clusters["east"] = tainted
			began := s.now
			for range 1000 {
				s.refresh()
				s.reconcile(-1)
				s.schedule(true)
				s.compose(time.Hour, 10*time.Second)
				require.NoError(t, s.broken)
				s.now = s.now.Add(10 * time.Second)
				if !slices.ContainsFunc(s.placed(), func(place string) bool { return strings.HasPrefix(place, "east/") }) {
					require.LessOrEqual(t, s.now.Sub(began), time.Duration(room+1)*(s.policy.ReadyTimeout+time.Minute))
					return
				}
			}
			t.Fatalf("never ends: %v", s.placed())
		})
	}
}

func testClusterOf(name string, nodes int64) *modelplane.InferenceCluster {
	c := testCluster(&testing.T{}, name, []string{fmt.Sprintf("h:%d", nodes)})
	return c
}

// TestOneAttemptIsOnePlacement has the controller create with caches that never show it what it did.
func TestOneAttemptIsOnePlacement(t *testing.T) {
	s := newSim(2, testClusterOf("east", 4))
	for range 10 {
		s.reconcile(-1)
	}
	require.Equal(t, map[string]int{"chat-0-1": 1, "chat-1-1": 1}, s.created)
	require.Len(t, s.placements, 2)
	for _, p := range s.placements {
		require.Equal(t, evenkeel.DefaultSchedulerName, p.Spec.SchedulerName)
	}
}
