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
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// TestStatus is the table of what the deployment says: ReplicasScheduled, ReplicasReady, the counts, and the events.
func TestStatus(t *testing.T) {
	const full = "0/1 clusters are available: 1 full."
	for _, tc := range []struct {
		name      string
		given     []string
		counts    string
		scheduled string
		ready     string
		events    []string
	}{
		{
			name: "nothing is known yet", given: []string{"wants 1", "east h:1"},
			counts: "0/0", scheduled: "False Scheduling ", ready: "False NoReplicasScheduled ",
		},
		{
			name: "W1: placed, and none is seen", given: []string{"wants 1", "east h:1", "0-1 on east/0 uncreated"},
			counts: "0/1", scheduled: "False Scheduling ", ready: "False ModelStarting 0 of 1 ready",
		},
		{
			name: "W1: seen, and loading", given: []string{"wants 1 scheduled Scheduling", "east h:1", "0-1 on east/0 loading"},
			counts: "0/1", scheduled: "True ReplicasCreated Scheduled 1 of 1 replicas", ready: "False ModelStarting 0 of 1 ready",
			events: []string{"ReplicasScheduled Scheduled 1 replicas across 1 clusters: east"},
		},
		{
			name: "once told is enough", given: []string{"wants 1 scheduled ReplicasCreated", "east h:1", "0-1 on east/0 loading"},
			counts: "0/1", scheduled: "True ReplicasCreated Scheduled 1 of 1 replicas", ready: "False ModelStarting 0 of 1 ready",
		},
		{
			name: "clusters are named once, in order", given: []string{"wants 3 scheduled Scheduling", "west h:2", "east h:1", "0-1 on west/0 loading", "1-1 on east/0 loading", "2-1 on west/1 loading"},
			counts: "0/3", scheduled: "True ReplicasCreated Scheduled 3 of 3 replicas", ready: "False ModelStarting 0 of 3 ready",
			events: []string{"ReplicasScheduled Scheduled 3 replicas across 2 clusters: east, west"},
		},
		{
			name: "W3: ready", given: []string{"wants 1 scheduled ReplicasCreated", "east h:1", "0-1 on east/0 ready"},
			counts: "1/1", scheduled: "True ReplicasCreated Scheduled 1 of 1 replicas", ready: "True AllReplicasReady 1 of 1 ready",
		},
		{
			name: "W6: no room", given: []string{"wants 1", "east h:1", "0-1 unplaceable"},
			counts: "0/0", scheduled: "False InsufficientCapacity 0 of 1 replicas scheduled (checked 1 clusters): " + full, ready: "False NoReplicasScheduled ",
			events: []string{"Warning FailedScheduling 0 of 1 replicas scheduled (checked 1 clusters): " + full},
		},
		{
			name: "tainted clusters are checked, those not selected are not", given: []string{"wants 1 selects tier=a", "east h:1 NoSchedule label tier=a", "west h:1", "0-1 unplaceable"},
			counts: "0/0", scheduled: "False InsufficientCapacity 0 of 1 replicas scheduled (checked 1 clusters): " + full, ready: "False NoReplicasScheduled ",
			events: []string{"Warning FailedScheduling 0 of 1 replicas scheduled (checked 1 clusters): " + full},
		},
		{
			name: "W7: room for some", given: []string{"wants 3 scheduled ReplicasCreated", "east h:2", "0-1 on east/0 ready", "1-1 on east/1 ready", "2-1 unplaceable"},
			counts: "2/2", scheduled: "False InsufficientCapacity 2 of 3 replicas scheduled: " + full, ready: "True AllReplicasReady 2 of 2 ready",
			events: []string{"Warning FailedScheduling 2 of 3 replicas scheduled: " + full},
		},
		{
			name: "one more is wanted, and the scheduler thinks", given: []string{"wants 2 scheduled ReplicasCreated", "east h:2", "0-1 on east/0 ready", "1-1 pending age 5s"},
			counts: "1/1", scheduled: "True ReplicasCreated Scheduled 1 of 2 replicas", ready: "True AllReplicasReady 1 of 1 ready",
		},
		{
			name: "the scheduler does not answer", given: []string{"wants 2 scheduled ReplicasCreated", "east h:2", "0-1 on east/0 ready", "1-1 pending age 1m"},
			counts: "1/1", scheduled: `False Scheduling 1 of 2 replicas scheduled: the scheduler "evenkeel" has not answered for placement chat-1-1 within 1m0s`, ready: "True AllReplicasReady 1 of 1 ready",
		},
		{
			name: "no clusters", given: []string{"wants 1"},
			counts: "0/0", scheduled: "False NoClusters there are no InferenceClusters", ready: "False NoReplicasScheduled ",
			events: []string{"Warning NoClusters No InferenceClusters found"},
		},
		{
			name: "no selected clusters, and what runs is kept", given: []string{"wants 1 selects tier=a", "east h:1", "0-1 on east/0 ready"},
			counts: "1/1", scheduled: "False NoClusters none of 1 InferenceClusters has the labels that the clusterSelector asks for", ready: "True AllReplicasReady 1 of 1 ready",
			events: []string{"Warning NoClusters No InferenceClusters found"},
		},
		{
			name: "that there are none is told once, whatever the numbers", given: []string{"wants 1 selects tier=a scheduled NoClusters", "east h:1"},
			counts: "0/0", scheduled: "False NoClusters none of 1 InferenceClusters has the labels that the clusterSelector asks for", ready: "False NoReplicasScheduled ",
		},
		{
			name: "W10: the cache is not known yet", given: []string{"wants 1 cache unresolved", "east h:1"},
			counts: "0/0", scheduled: "False InsufficientCapacity 0 of 1 replicas scheduled (checked 1 clusters): waiting for ModelCache weights", ready: "False NoReplicasScheduled ",
			events: []string{"Warning FailedScheduling 0 of 1 replicas scheduled (checked 1 clusters): waiting for ModelCache weights"},
		},
		{
			name: "W15: the cache does not exist", given: []string{"wants 1 cache missing", "east h:1"},
			counts: "0/0", scheduled: "False InsufficientCapacity 0 of 1 replicas scheduled (checked 1 clusters): waiting for ModelCache weights", ready: "False NoReplicasScheduled ",
			events: []string{"Warning ModelCacheNotFound ModelCache weights not found; holding replica placement",
				"Warning FailedScheduling 0 of 1 replicas scheduled (checked 1 clusters): waiting for ModelCache weights"},
		},
		{
			name: "W15: the cache exists", given: []string{"wants 1 cache resolved scheduled ReplicasCreated", "east h:1", "0-1 on east/0 ready"},
			counts: "1/1", scheduled: "True ReplicasCreated Scheduled 1 of 1 replicas", ready: "True AllReplicasReady 1 of 1 ready",
		},
		{
			name: "the priority class does not exist", given: []string{"wants 1 class urgent missing", "east h:1"},
			counts: "0/0", scheduled: "False PriorityClassNotFound PriorityClass urgent not found; holding replica placement", ready: "False NoReplicasScheduled ",
			events: []string{"Warning PriorityClassNotFound PriorityClass urgent not found; holding replica placement"},
		},
		{
			name: "one that moves counts once", given: []string{"wants 1 scheduled ReplicasCreated", "east h:1 NoExecute", "west h:1", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 on west/0 uncreated"},
			counts: "1/1", scheduled: "True ReplicasCreated Scheduled 1 of 1 replicas", ready: "True AllReplicasReady 1 of 1 ready",
		},
		{
			name: "one that is going is not placed", given: []string{"wants 1 scheduled ReplicasCreated", "east h:1 NoExecute", "0-1 on east/0 terminating leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable"},
			counts: "0/0", scheduled: "False InsufficientCapacity 0 of 1 replicas scheduled (checked 1 clusters): " + full, ready: "False NoReplicasScheduled ",
			events: []string{"Warning FailedScheduling 0 of 1 replicas scheduled (checked 1 clusters): " + full},
		},
		{
			name: "one that is too many does not count", given: []string{"wants 1 scheduled ReplicasCreated", "east h:2", "0-1 on east/0 ready", "1-1 on east/1 ready leaving ScaleDown"},
			counts: "1/1", scheduled: "True ReplicasCreated Scheduled 1 of 1 replicas", ready: "True AllReplicasReady 1 of 1 ready",
		},
		{
			name: "those that leave together are told of together", given: []string{"wants 2 scheduled ReplicasCreated", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready", "1-1 on east/1 ready"},
			counts: "2/2", scheduled: "True ReplicasCreated Scheduled 2 of 2 replicas", ready: "True AllReplicasReady 2 of 2 ready",
			events: []string{`ReplicaLeaving replicas must leave east: the InferenceCluster "east" has taints that the deployment does not tolerate: acme.test/noexecute:NoExecute: chat-32a9b, chat-f7a54; at most 1 at a time`},
		},
		{
			name: "from wherever", given: []string{"wants 2 scheduled ReplicasCreated", "east h:2 NoExecute", "west h:2 NoExecute", "0-1 on east/0 ready", "1-1 on west/0 ready"},
			counts: "2/2", scheduled: "True ReplicasCreated Scheduled 2 of 2 replicas", ready: "True AllReplicasReady 2 of 2 ready",
			events: []string{`ReplicaLeaving replicas must leave east: the InferenceCluster "east" has taints that the deployment does not tolerate: acme.test/noexecute:NoExecute: chat-32a9b; ` +
				`west: the InferenceCluster "west" has taints that the deployment does not tolerate: acme.test/noexecute:NoExecute: chat-e86c0; at most 1 at a time`},
		},
		{
			name: "they wait for moves to be resumed", given: []string{"wants 1 paused scheduled ReplicasCreated", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready"},
			counts: "1/1", scheduled: "True ReplicasCreated Scheduled 1 of 1 replicas", ready: "True AllReplicasReady 1 of 1 ready",
			events: []string{`ReplicaLeaving replicas must leave east: the InferenceCluster "east" has taints that the deployment does not tolerate: acme.test/noexecute:NoExecute: chat-32a9b; moves are paused`},
		},
		{
			name: "one that is held for want of a place", given: []string{"wants 1 hold scheduled ReplicasCreated", "east h:2 NoExecute", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable"},
			counts: "1/1", scheduled: "True ReplicasCreated Scheduled 1 of 1 replicas", ready: "True AllReplicasReady 1 of 1 ready",
			events: []string{"Warning ReplicaHeld replica chat-32a9b must leave east and is held there: it waits for a destination: " + full},
		},
		{
			name: "a move that is done", given: []string{"wants 1 scheduled ReplicasCreated", "east h:1 NoExecute", "west h:1", "0-1 on east/0 gone leaving UntoleratedTaint moved UntoleratedTaint", "0-2 for 0-1 on west/0 ready"},
			counts: "1/1", scheduled: "True ReplicasCreated Scheduled 1 of 1 replicas", ready: "True AllReplicasReady 1 of 1 ready",
			events: []string{"ReplicaMoved replica chat-e86c0 serves on west, moved from east: UntoleratedTaint"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			result := Decide(newScene(t, tc.given...).Observation)
			assert.Equal(t, tc.counts, fmt.Sprintf("%d/%d", result.Status.Ready, result.Status.Total), "ready/total")
			assert.Equal(t, tc.scheduled, said(result, modelplane.ConditionReplicasScheduled))
			assert.Equal(t, tc.ready, said(result, modelplane.ConditionReplicasReady))
			assert.Equal(t, tc.events, eventsSaid(result))
		})
	}
}

func said(result Result, conditionType string) string {
	c := conditionOf(result.Status.Conditions, conditionType)
	return fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
}

func eventsSaid(result Result) []string {
	var out []string
	for _, e := range result.Events {
		if e.Placement != nil {
			continue
		}
		warning := ""
		if e.Warning {
			warning = "Warning "
		}
		out = append(out, warning+e.Reason+" "+e.Message)
	}
	return out
}

func TestModelCacheResolved(t *testing.T) {
	for state, want := range map[string]string{
		"unresolved": "False ModelCacheUnresolved Waiting for ModelCache weights",
		"missing":    "False ModelCacheNotFound ModelCache weights not found; holding replica placement",
		"resolved":   "True ModelCacheResolved ",
	} {
		result := Decide(newScene(t, "wants 1 cache "+state, "east h:1").Observation)
		assert.Equal(t, want, said(result, modelplane.ConditionModelCacheResolved))
	}
	result := Decide(newScene(t, "wants 1", "east h:1").Observation)
	assert.Equal(t, "  ", said(result, modelplane.ConditionModelCacheResolved), "without a cache there is nothing to say")
}

func TestReadyIsOursOnlyWithoutCrossplane(t *testing.T) {
	given := []string{"east h:1", "0-1 on east/0 ready"}
	assert.Equal(t, "True Available ", said(Decide(newScene(t, append(given, "wants 1")...).Observation), modelplane.ConditionReady))
	assert.Equal(t, "  ", said(Decide(newScene(t, append(given, "wants 1 composed")...).Observation), modelplane.ConditionReady))
	short := newScene(t, "wants 2", "east h:1", "0-1 on east/0 ready", "1-1 unplaceable")
	assert.Equal(t, "False", string(conditionOf(Decide(short.Observation).Status.Conditions, modelplane.ConditionReady).Status))
}

func TestAMessageWhoseNumbersChangeIsNoNewEvent(t *testing.T) {
	s := newScene(t, "wants 1", "east h:1", "0-1 unplaceable")
	s.Deployment.Status.Conditions = []metav1.Condition{{
		Type: modelplane.ConditionReplicasScheduled, Status: metav1.ConditionFalse, Reason: ReasonInsufficientCapacity,
		Message: "0 of 1 replicas scheduled (checked 1 clusters): something else",
	}}
	assert.Empty(t, Decide(s.Observation).Events)
	s.Deployment.Status.Conditions[0].Message = "0 of 2 replicas scheduled (checked 1 clusters): something else"
	assert.Len(t, Decide(s.Observation).Events, 1)
}

func TestAConditionKeepsItsTimeWhileItsStatusIsTheSame(t *testing.T) {
	s := newScene(t, "wants 1", "east h:1", "0-1 on east/0 ready")
	since := metav1.NewTime(now.Add(-time.Hour))
	s.Deployment.Status.Conditions = []metav1.Condition{
		{Type: modelplane.ConditionReplicasReady, Status: metav1.ConditionTrue, Reason: "X", LastTransitionTime: since},
		{Type: modelplane.ConditionReplicasScheduled, Status: metav1.ConditionFalse, Reason: "X", LastTransitionTime: since},
	}
	got := Decide(s.Observation).Status.Conditions
	assert.Equal(t, since, conditionOf(got, modelplane.ConditionReplicasReady).LastTransitionTime)
	assert.Equal(t, metav1.NewTime(now), conditionOf(got, modelplane.ConditionReplicasScheduled).LastTransitionTime)
}

func TestALongNameIsRefusedAndNothingElse(t *testing.T) {
	s := newScene(t, "wants 1", "east h:1")
	s.Deployment.Name = strings.Repeat("x", 64)
	result := Decide(s.Observation)
	assert.Empty(t, result.Actions)
	assert.Contains(t, said(result, modelplane.ConditionReplicasScheduled), "False InvalidName the name has 64 characters")
	s.Deployment.Name = strings.Repeat("x", 63)
	assert.Len(t, Decide(s.Observation).Actions, 1)
}

func TestFigures(t *testing.T) {
	result := Decide(newScene(t, "wants 3", "east h:2 NoExecute", "0-1 on east/0 ready", "1-1 on east/1 terminating leaving UntoleratedTaint",
		"1-2 for 1-1 excluding east unplaceable", "2-1 unplaceable").Observation)
	assert.Equal(t, map[string]int{"east": 2}, result.Leaving)
	assert.Equal(t, 2, result.Unplaceable)
}

// TestWakesAtTheNextDeadline has a row for everything that is waited for and that no event of the hub ends.
func TestWakesAtTheNextDeadline(t *testing.T) {
	const byDeployment = "service modelplane.ai/deployment=chat asked 1s"
	for _, tc := range []struct {
		given []string
		want  time.Duration
	}{
		{[]string{"wants 1", "east h:1", "0-1 on east/0 ready", "endpoint east/0"}, 0},
		{[]string{"wants 1", "east n:1", "0-1 on east/0 ready settling PoolLost age 4m", "endpoint east/0"}, time.Minute},
		{[]string{"wants 1", "east h:1", "0-1 on east/0 loading age 4m"}, 6 * time.Minute},
		{[]string{"wants 1", "east h:1", "0-1 pending age 20s"}, 40 * time.Second},
		{[]string{"wants 1", "east h:1", "0-1 on east/0 uncreated refused age 4s"}, 6 * time.Second},
		{[]string{"wants 1", "east h:1", "0-2 on east/0 ready", "endpoint east/0", "0-1 on west/0 gone moved UntoleratedTaint age 23h"}, time.Hour},
		// Patience with taints and clusters.
		{[]string{"wants 1 tolerates acme.test/noexecute for 60", "east h:2 NoExecute added 20s", "0-1 on east/0 ready", "endpoint east/0"}, 40 * time.Second},
		{[]string{"wants 1 degraded 10m", "east h:2 NotReady since 9m", "west h:2", "0-1 on east/0 ready", "endpoint east/0"}, time.Minute},
		{[]string{"wants 1", "east n:2", "west h:2", "north h:2", "0-1 on east/0 ready settling PoolLost age 5m", "fleet shows PoolLost on 2", "endpoint east/0"}, brakeRetry},
		// Moves that wait, or load.
		{[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "fleet moves 2 of 2", "endpoint east/0"}, turnRetry},
		{[]string{"wants 2", "east h:2 NoExecute", "west h:2", "0-1 on west/0 loading age 9m", "1-1 on east/1 ready leaving UntoleratedTaint", "endpoint east/1"}, time.Minute},
		{[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading age 4m", "endpoint east/0"}, 6 * time.Minute},
		{[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint",
			"0-2 for 0-1 surge on west/0 gone leaving ReplacementNotServing moved ReplacementNotServing age 50s", "endpoint east/0"}, 10 * time.Second},
		{[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 terminating leaving UntoleratedTaint", "0-2 for 0-1 on west/0 uncreated"}, stepLinger - time.Second},
		// Traffic.
		{[]string{byDeployment, "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 4s", "route east/0"}, time.Second},
		{[]string{byDeployment, "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint withdrawing 15s", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 20s", "route east/0"}, 70 * time.Second},
		{[]string{byDeployment, "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 20s unrouted 4s"}, 6 * time.Second},
		{[]string{"service tier=other", "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 4s", "route east/0"}, time.Second},
		{[]string{byDeployment, "wants 1", "east h:2 NoExecute", "west h:2", "0-2 for 0-1 excluding east on west/0 loading unmarked age 4m"}, 6 * time.Minute},
	} {
		assert.Equal(t, tc.want, Decide(newScene(t, tc.given...).Observation).RequeueAfter, "%v", tc.given)
	}
}

// TestWakesForWhatHasJustHappened is about moments in which two things are likely to be written at once, if not for long.
func TestWakesForWhatHasJustHappened(t *testing.T) {
	just := metav1.NewTime(now.Add(-2 * time.Second))
	readyNow := func(s *scene) {
		s.Replicas[0].Status.Conditions = []metav1.Condition{{Type: modelplane.ConditionReady, Status: metav1.ConditionTrue, Reason: "Available", LastTransitionTime: just}}
	}
	const service, deployment = "service modelplane.ai/deployment=chat asked 1s", "wants 1"
	for name, tc := range map[string]struct {
		given []string
		since func(*scene)
	}{
		"a replacement is ready, of which nothing is said yet": {[]string{service, deployment, "east h:2", "west h:2", "0-2 for 0-1 on west/0 ready unmarked"}, readyNow},
		"a replica that loads is ready":                        {[]string{service, deployment, "east h:2", "west h:2", "0-1 on west/0 loading"}, readyNow},
		"a service was asked before it could see the endpoint": {[]string{service, deployment, "east h:2", "0-1 on east/0 ready unrouted", "endpoint east/0"}, func(s *scene) {
			s.Endpoints[0].Status.Conditions[0].LastTransitionTime = just
		}},
	} {
		s := newScene(t, tc.given...)
		tc.since(s)
		assert.Equal(t, stepLinger-2*time.Second, Decide(s.Observation).RequeueAfter, name)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	s := newScene(t, "wants 1", "east h:1", "0-1 unplaceable")
	s.Placements[0].Status.Conditions[0].Message = strings.Repeat("ü", 5000)
	result := Decide(s.Observation)
	for _, c := range result.Status.Conditions {
		require.LessOrEqual(t, len(c.Message), 1024)
		require.True(t, strings.ToValidUTF8(c.Message, "?") == c.Message)
	}
}

func TestExclusionsOfRefusals(t *testing.T) {
	s := newScene(t, "wants 1", "east h:1", "west h:1", "0-1 on east/0 uncreated refused age 10s")
	created := Decide(s.Observation).Actions[0].(CreatePlacement).Placement
	assert.Equal(t, []string{"east"}, created.Spec.ExcludedClusters)
	assert.Equal(t, "east", created.Annotations[evenkeel.AnnotationRejectedClusters])

	s = newScene(t, "wants 1", "east h:1", "west h:1", "0-2 excluding east unplaceable age 4m")
	s.Placements[0].Annotations = created.Annotations
	assert.Empty(t, told(Decide(s.Observation).Actions), "not yet")
	assert.Equal(t, time.Minute, Decide(s.Observation).RequeueAfter)
	s.Now = s.Now.Add(time.Minute)
	updated := Decide(s.Observation).Actions[0].(UpdatePlacement).Placement
	assert.Empty(t, updated.Spec.ExcludedClusters)
	assert.Empty(t, updated.Annotations)
}

// TestExclusions keeps a replacement off the cluster that is left for a cause which is about the cluster, also when that cause
// shows no more, and for no other.
func TestExclusions(t *testing.T) {
	for cause, want := range map[string][]string{
		evenkeel.CauseTaint:          {"east"},
		evenkeel.CauseClusterDeleted: {"east"},
		evenkeel.CauseSelector:       {"east"},
		evenkeel.CauseDegraded:       {"east"},
		evenkeel.CausePreempted:      {"east"},
		evenkeel.CausePool:           nil,
		evenkeel.CauseTemplate:       nil,
		evenkeel.CauseReplicaDeleted: nil,
	} {
		actions := Decide(newScene(t, "wants 1", "east h:2", "west h:2", "0-1 on east/0 terminating leaving "+cause).Observation).Actions
		created, ok := actions[len(actions)-1].(CreatePlacement)
		require.True(t, ok, "%s: %q", cause, told(actions))
		assert.Equal(t, want, created.Placement.Spec.ExcludedClusters, cause)
	}
}
