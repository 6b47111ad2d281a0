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

	"github.com/google/go-cmp/cmp"
)

// TestEvents is the table of what a move tells, and of what looks alike and tells nothing: what an earlier pass has written
// down was told by it. "on 0-1: " is said of the placement.
func TestEvents(t *testing.T) {
	const (
		leaving  = `ReplicaLeaving replicas must leave east: the InferenceCluster "east" has taints that the deployment does not tolerate: acme.test/noexecute:NoExecute: chat-32a9b`
		unplaced = "a destination: 0/1 clusters are available: 1 full."
		byRoutes = "service modelplane.ai/deployment=chat asked 1s"
	)
	for _, tc := range []struct {
		name  string
		given []string
		want  []string
	}{
		// ReplicaLeaving
		{
			"a replica must leave",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready", "endpoint east/0"}, []string{leaving},
		},
		{
			"that is written down", []string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "endpoint east/0"}, nil,
		},
		{
			"it may stay for a time", []string{"wants 1 tolerates acme.test/noexecute for 60", "east h:2 NoExecute added 1s", "west h:2", "0-1 on east/0 ready", "endpoint east/0"}, nil,
		},
		{
			"whether it must leave is not settled", []string{"wants 1", "east n:1", "0-1 on east/0 ready", "endpoint east/0"}, nil,
		},
		{
			"there is no replica yet", []string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 uncreated"}, nil,
		},

		// ReplicaHeld
		{
			"held for want of a place",
			[]string{"wants 1 hold", "east h:2 NoExecute", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable", "endpoint east/0"},
			[]string{"Warning ReplicaHeld replica chat-32a9b must leave east and is held there: it waits for " + unplaced,
				"on 0-1: Warning ReplicaHeld replica chat-32a9b must leave east and is held there: it waits for " + unplaced},
		},
		{
			"held by MakeBeforeBreak, which nothing is deleted under before another serves",
			[]string{"wants 1 surge", "east h:2 NoExecute", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge excluding east unplaceable", "endpoint east/0"},
			[]string{"Warning ReplicaHeld replica chat-32a9b must leave east and is held there: it waits for " + unplaced,
				"on 0-1: Warning ReplicaHeld replica chat-32a9b must leave east and is held there: it waits for " + unplaced},
		},
		{
			"under Evict one that waits for its turn is not held",
			[]string{"wants 2", "east h:2 NoExecute", "west h:1", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable",
				"1-2 on west/0 loading", "endpoint east/0"}, nil,
		},
		{
			"nor is one that goes",
			[]string{"wants 1", "east h:2 NoExecute", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable", "endpoint east/0"}, nil,
		},
		{
			"nor, under Hold, one that waits for the scheduler",
			[]string{"wants 1 hold", "east h:2 NoExecute", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east pending", "endpoint east/0"}, nil,
		},
		{
			"nor one whose moves are paused",
			[]string{"wants 1 hold paused", "east h:2 NoExecute", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable", "endpoint east/0"}, nil,
		},

		// ReplicaUnplaceable and ReplicaMoved
		{
			"gone with nowhere to go",
			[]string{"wants 1 scheduled InsufficientCapacity", "east h:1 NoExecute", "0-1 on east/0 gone leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable"},
			[]string{"Warning ReplicaUnplaceable replica chat-32a9b left east within 2m0s with nowhere to go: 0/1 clusters are available: 1 full.",
				"on 0-1: Warning ReplicaUnplaceable replica chat-32a9b left east within 2m0s with nowhere to go: 0/1 clusters are available: 1 full.",
				"Warning FailedScheduling 0 of 1 replicas scheduled (checked 1 clusters): 0/1 clusters are available: 1 full."},
		},
		{
			"that is history",
			[]string{"wants 1", "east h:1", "west h:1", "0-1 on east/0 gone leaving UntoleratedTaint moved UntoleratedTaint", "0-2 for 0-1 on west/0 loading"}, nil,
		},
		{
			"gone to a place where another loads",
			[]string{"wants 1", "east h:1 NoExecute", "west h:1", "0-1 on east/0 gone leaving UntoleratedTaint", "0-2 for 0-1 on west/0 loading"}, nil,
		},
		{
			"the other one serves",
			[]string{"wants 1", "east h:1 NoExecute", "west h:1", "0-1 on east/0 gone leaving UntoleratedTaint moved UntoleratedTaint", "0-2 for 0-1 on west/0 ready", "endpoint west/0"},
			[]string{"ReplicaMoved replica chat-e86c0 serves on west, moved from east: UntoleratedTaint"},
		},
		{
			"it serves, and what it replaces is still there",
			[]string{"wants 1 surge", "east h:1 NoExecute", "west h:1", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 ready", "endpoint east/0", "endpoint west/0"}, nil,
		},

		// ReplicaScaledDown and ReplicaDeleted
		{
			"fewer are wanted",
			[]string{"wants 1", "east h:2", "0-1 on east/0 ready", "1-1 on east/1 ready", "endpoint east/0", "endpoint east/1"},
			[]string{"ReplicaScaledDown deleting replica chat-f7a54 on east: fewer replicas are wanted"},
		},
		{
			"that is written down", []string{"wants 1", "east h:2", "0-1 on east/0 ready", "1-1 on east/1 ready leaving ScaleDown", "endpoint east/0", "endpoint east/1"}, nil,
		},
		{
			"somebody deletes a replica",
			[]string{"wants 1", "east h:2", "0-1 on east/0 terminating"},
			[]string{`Warning ReplicaDeleted the ModelReplica "chat-32a9b" was deleted by somebody else`},
		},
		{
			"we delete a replica", []string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 terminating leaving UntoleratedTaint", "0-2 for 0-1 on west/0 loading"}, nil,
		},

		// ReplacementRolledBack
		{
			"a replacement does not serve in time",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading age 10m", "endpoint east/0"},
			[]string{"Warning ReplacementRolledBack replica chat-e86c0 is taken back: it does not serve on west after 10m0s (readyTimeout). What it was to replace serves on; the next try is in about 1m0s",
				"on 0-2: Warning ReplacementRolledBack replica chat-e86c0 is taken back: it does not serve on west after 10m0s (readyTimeout). What it was to replace serves on; the next try is in about 1m0s"},
		},
		{
			"one that was taken back is gone",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 gone leaving ReplacementNotServing", "endpoint east/0"}, nil,
		},
		{
			"it still has time",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading age 9m", "endpoint east/0"}, nil,
		},

		// ReplicaRejected
		{
			"a name that is somebody else's",
			[]string{"wants 1", "east h:2", "replica chat-32a9b on east/0 foreign", "0-1 on east/0 uncreated"},
			[]string{"Warning ReplicaRejected the name chat-32a9b of the replica for east/0 belongs to a ModelReplica that is not the deployment's; trying another",
				"on 0-1: Warning ReplicaRejected the name chat-32a9b of the replica for east/0 belongs to a ModelReplica that is not the deployment's; trying another"},
		},
		{
			"that is written down", []string{"wants 1", "east h:2", "replica chat-32a9b on east/0 foreign", "0-1 on east/0 uncreated taken"}, nil,
		},

		// TrafficGracePeriodOver
		{
			"a route that names a replica for too long",
			[]string{byRoutes, "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 90s", "route east/0"},
			[]string{"Warning TrafficGracePeriodOver a route still names replica chat-32a9b on east after 1m30s (trafficGracePeriod): deleting it all the same",
				"on 0-1: Warning TrafficGracePeriodOver a route still names replica chat-32a9b on east after 1m30s (trafficGracePeriod): deleting it all the same"},
		},
		{
			"for not too long yet",
			[]string{byRoutes, "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 89s", "route east/0"}, nil,
		},
		{
			"no more", []string{byRoutes, "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 100s unrouted 20s"}, nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t, tc.given...)
			result := Decide(s.Observation)
			if diff := cmp.Diff(tc.want, allEvents(result)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			s.written(result)
			for _, said := range allEvents(Decide(s.Observation)) {
				// This one goes with the deletion, which is not carried out here.
				if !strings.Contains(said, EventTrafficGraceOver) {
					t.Errorf("told once more: %s", said)
				}
			}
		})
	}
}

// allEvents are those about the deployment and those about its placements.
func allEvents(result Result) []string {
	var all []string
	for _, e := range result.Events {
		said := e.Reason + " " + e.Message
		if e.Warning {
			said = "Warning " + said
		}
		if e.Placement != nil {
			said = "on " + strings.TrimPrefix(e.Placement.Name, "chat-") + ": " + said
		}
		all = append(all, said)
	}
	return all
}

// written carries out what a pass writes down about placements and their deployment, and nothing else.
func (s *scene) written(result Result) {
	s.Deployment.Status.Conditions = result.Status.Conditions
	for _, action := range result.Actions {
		status, ok := action.(SetPlacementStatus)
		if !ok {
			continue
		}
		for i, p := range s.Placements {
			if p.Name == status.Placement.Name {
				s.Placements[i] = WithOwnStatus(p, status.Conditions, status.Move)
			}
		}
	}
}

// TestAMoveEndsWhenTheOldOneIsGone where the new one has served before.
func TestAMoveEndsWhenTheOldOneIsGone(t *testing.T) {
	s := newScene(t, "wants 1 surge scheduled ReplicasCreated", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 ready",
		"endpoint east/0", "endpoint west/0")
	result := Decide(s.Observation)
	if events := allEvents(result); len(events) > 0 {
		t.Errorf("told too early: %q", events)
	}
	s.written(result)
	s.Replicas, s.Endpoints = s.Replicas[1:], s.Endpoints[1:]
	want := []string{"ReplicaMoved replica chat-e86c0 serves on west, moved from east: UntoleratedTaint"}
	if diff := cmp.Diff(want, allEvents(Decide(s.Observation))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestTheEndOfAMoveHasItsCause which is counted by it.
func TestTheEndOfAMoveHasItsCause(t *testing.T) {
	for want, given := range map[string][]string{
		EventMoved + " UntoleratedTaint":           {"wants 1 scheduled ReplicasCreated", "east h:1 NoExecute", "west h:1", "0-1 on east/0 gone leaving UntoleratedTaint moved UntoleratedTaint", "0-2 for 0-1 on west/0 ready", "endpoint west/0"},
		EventUnplaceable + " PoolLost":             {"wants 1", "east n:1", "0-1 on east/0 gone leaving PoolLost", "0-2 for 0-1 excluding east unplaceable"},
		EventRolledBack + " ReplacementNotServing": {"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading age 10m", "endpoint east/0"},
	} {
		events := Decide(newScene(t, given...).Observation).Events
		if len(events) == 0 || events[0].Reason+" "+events[0].Cause != want {
			t.Errorf("want %s first, got %+v", want, events)
		}
	}
}

// TestASelectorThatIsNoExpressionIsTold once, for as long as nobody edits it.
func TestASelectorThatIsNoExpressionIsTold(t *testing.T) {
	s := newScene(t, "wants 1 cel ))", "east h:1")
	first := Decide(s.Observation)
	events := eventsSaid(first)
	if len(events) != 1 || !strings.HasPrefix(events[0], `Warning InvalidNodeSelector Invalid nodeSelector CEL expression: engine "main"`) {
		t.Errorf("want what is wrong, got %q", events)
	}
	s.Deployment.Status.Conditions = first.Status.Conditions
	if events := eventsSaid(Decide(s.Observation)); len(events) > 0 {
		t.Errorf("told again: %q", events)
	}
}
