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
	"fmt"
	"time"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// Fleet is what the rest of the fleet leaves to one deployment, and what all of it shows.
type Fleet struct {
	// MaxMoves is how many replicas of the fleet may be on the move at a time, 0 without a limit, and OtherMoves how many
	// of other deployments are.
	MaxMoves, OtherMoves int
	// MaxLoading is how many replicas that move may load on one cluster at a time, 0 without a limit, and OtherLoading how
	// many of other deployments do, by cluster.
	MaxLoading   int
	OtherLoading map[string]int
	// Shown counts, for causes that no person asks for, the clusters that show them.
	Shown map[string]int
}

// brakeRetry is the pause before it is looked again whether half of the fleet still shows a cause.
const brakeRetry = time.Minute

// Unasked tells whether a cause is one that no person asks for: one mistake, or one fault of what publishes clusters, can show
// it everywhere at once.
func Unasked(reason string) bool {
	switch reason {
	case evenkeel.CauseClusterDeleted, evenkeel.CauseSelector, evenkeel.CausePool, evenkeel.CauseDegraded:
		return true
	}
	return false
}

// braked says why nothing is moved for a cause although it lasts: no person asked for it, and more than half of the
// fleet shows it. Empty if it is. A single cluster is never half a fleet.
func (s *state) braked(reason string) string {
	if !Unasked(reason) {
		return ""
	}
	shown, total := s.Fleet.Shown[reason], len(s.Clusters)
	if reason == evenkeel.CauseClusterDeleted {
		total += shown
	}
	if reason == evenkeel.CauseDegraded {
		shown = s.unreadyClusters()
	}
	if shown < 2 || 2*shown <= total {
		return ""
	}
	s.wake(s.Now.Add(brakeRetry))
	return "nothing is moved for it while more than half of the fleet shows it"
}

func (s *state) unreadyClusters() int {
	n := 0
	for i := range s.Clusters {
		if !placement.Ready(s.Clusters[i].InferenceCluster) {
			n++
		}
	}
	return n
}

// turnRetry is the pause before a deployment that waits for others in the fleet is decided for again, should nobody tell
// that its turn has come.
const turnRetry = 5 * time.Second

// waitForFleet notes that a replica waits for others in the fleet.
func (s *state) waitForFleet(holder *unit, why string) {
	holder.progress(evenkeel.StepWaiting, evenkeel.LeavingBudget, why)
	s.result.WaitsForFleet = true
	s.wake(s.Now.Add(turnRetry))
}

// turns are what is left of the fleet's limits for the moves of this deployment.
type turns struct {
	fleet Fleet
	// moving and loading are what this deployment has taken.
	moving  int
	loading map[string]int
}

func newTurns(f Fleet) *turns { return &turns{fleet: f, loading: map[string]int{}} }

// take counts a move to a cluster.
func (t *turns) take(cluster string) {
	t.moving++
	t.loading[cluster]++
}

// mayMove tells whether one more replica may begin to move, and if not, what it waits for.
func (t *turns) mayMove() (why string) {
	if limit := t.fleet.MaxMoves; limit > 0 && t.fleet.OtherMoves+t.moving >= limit {
		return fmt.Sprintf("other moves in the fleet to end: %d of at most %d (maxParallelMoves)", t.fleet.OtherMoves+t.moving, limit)
	}
	return ""
}

// mayLoad tells whether one more replica that moves may load on a cluster, and if not, what it waits for.
func (t *turns) mayLoad(cluster string) (why string) {
	loading := t.fleet.OtherLoading[cluster] + t.loading[cluster]
	if limit := t.fleet.MaxLoading; limit > 0 && loading >= limit {
		return fmt.Sprintf("other replicas to load on %s: %d of at most %d (maxLoadingPerCluster)", cluster, loading, limit)
	}
	return ""
}
