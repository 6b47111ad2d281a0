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

package follow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

var start = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// scene is a fleet in which deployment chat is on cluster east, which is drained.
type scene struct{ Snapshot }

func newScene() *scene {
	return &scene{Snapshot{
		Cluster: &modelplane.InferenceCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "east", Generation: 3},
			Spec:       modelplane.InferenceClusterSpec{Taints: []modelplane.Taint{{Key: "maintenance", Effect: modelplane.TaintEffectNoExecute}}},
		},
		Deployments: map[types.NamespacedName]*modelplane.ModelDeployment{},
	}}
}

// place makes a placement of slot 0 of chat; cluster may be empty.
func (s *scene) place(name, cluster, replaces string, attempt int32) *evenkeel.ReplicaPlacement {
	p := &evenkeel.ReplicaPlacement{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name},
		Spec:       evenkeel.ReplicaPlacementSpec{DeploymentName: "chat", Attempt: attempt, Replaces: replaces},
	}
	if cluster != "" {
		p.Status.Assignment = &evenkeel.Assignment{ClusterName: cluster}
	}
	s.Placements = append(s.Placements, p)
	return p
}

// replica makes that of a placement of chat on east.
func (s *scene) replica() *modelplane.ModelReplica {
	r := &modelplane.ModelReplica{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ml", Name: placement.ReplicaName("chat", "east", 0), Labels: map[string]string{modelplane.LabelDeployment: "chat"},
	}}
	s.Replicas = append(s.Replicas, r)
	return r
}

func set(p *evenkeel.ReplicaPlacement, kind string, status metav1.ConditionStatus, message string) {
	p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Message: message, LastTransitionTime: metav1.NewTime(start),
	})
}

// told is the row of chat's replica in words, without its name.
func told(t *testing.T, tracker *Tracker) string {
	t.Helper()
	require.Len(t, tracker.Rows(), 1)
	row := *tracker.Rows()[0]
	assert.Equal(t, types.NamespacedName{Namespace: "ml", Name: placement.ReplicaName("chat", "east", 0)}, row.Replica)
	return row.String()[len(row.Replica.String())+1:]
}

// TestMove follows one replica from the taint to where it serves again.
func TestMove(t *testing.T) {
	s, tracker := newScene(), &Tracker{}
	origin, r := s.place("chat-0-1", "east", "", 1), s.replica()
	// It came here by a move of its own, which is over.
	origin.Status.Move = &evenkeel.Move{From: "north", To: "east", Step: evenkeel.StepServing}
	assert.Len(t, tracker.Update(&s.Snapshot, at(0)), 1)
	assert.Equal(t, "Waiting, waits for its move to begin", told(t, tracker))
	assert.Empty(t, tracker.Update(&s.Snapshot, at(1)), "nothing has changed")

	set(origin, evenkeel.ConditionDisruptionTarget, metav1.ConditionTrue, "")
	origin.Status.Move = &evenkeel.Move{From: "east", To: "east", Step: evenkeel.StepServing}
	tracker.Update(&s.Snapshot, at(1))
	assert.Equal(t, "Waiting, waits for its move to begin", told(t, tracker), "it had left the cluster before, and come back")
	origin.Status.Move = &evenkeel.Move{From: "east", Step: evenkeel.StepWaiting, Reason: evenkeel.LeavingBudget, WaitingFor: "others"}
	tracker.Update(&s.Snapshot, at(2))
	assert.Equal(t, "Waiting, waits for others", told(t, tracker))
	assert.Equal(t, evenkeel.LeavingBudget, tracker.Rows()[0].Reason)

	next := s.place("chat-0-2", "", "chat-0-1", 2)
	origin.Status.Move = nil
	tracker.Update(&s.Snapshot, at(3))
	assert.Equal(t, "Placing, waits for its move to begin", told(t, tracker))

	next.Status.Assignment = &evenkeel.Assignment{ClusterName: "west"}
	r.DeletionTimestamp = &metav1.Time{Time: at(4)}
	tracker.Update(&s.Snapshot, at(4))
	assert.Equal(t, "Deleting -> west, waits for its pods to end", told(t, tracker))
	assert.Equal(t, 1, LeftOf(tracker.Rows()))

	s.Replicas = nil
	set(origin, evenkeel.ConditionReady, metav1.ConditionTrue, "")
	tracker.Update(&s.Snapshot, at(4))
	assert.Contains(t, told(t, tracker), "Loading -> west", "the placement does not say yet that it is over")
	set(origin, evenkeel.ConditionMoved, metav1.ConditionTrue, "")
	tracker.Update(&s.Snapshot, at(5))
	assert.Equal(t, "Loading -> west, waits for "+placement.ReplicaName("chat", "west", 0)+" to serve", told(t, tracker))
	assert.Zero(t, LeftOf(tracker.Rows()))
	assert.Equal(t, 6*time.Second, tracker.Rows()[0].Took(at(6)))

	set(next, evenkeel.ConditionReady, metav1.ConditionTrue, "")
	set(next, evenkeel.ConditionServing, metav1.ConditionFalse, "")
	tracker.Update(&s.Snapshot, at(7))
	assert.Contains(t, told(t, tracker), "Loading", "it is ready, and no route names it")
	next.Status.Conditions[1].Status = metav1.ConditionTrue
	tracker.Update(&s.Snapshot, at(8))
	assert.Equal(t, "Serving -> west", told(t, tracker))
	tracker.Update(&s.Snapshot, at(20))
	assert.Equal(t, 8*time.Second, tracker.Rows()[0].Took(at(30)), "the time stands when the move is over")
}

func TestEndings(t *testing.T) {
	for name, tc := range map[string]struct {
		after func(s *scene)
		want  string
	}{
		"nowhere to go": {
			func(s *scene) {
				set(s.place("chat-0-2", "", "chat-0-1", 2), evenkeel.ConditionScheduled, metav1.ConditionFalse, "0/3 clusters are available")
			},
			"Nowhere, waits for room: 0/3 clusters are available",
		},
		"not looked at yet": {
			func(s *scene) { s.place("chat-0-2", "", "chat-0-1", 2) },
			"Nowhere, waits for room: the scheduler has not looked at it yet",
		},
		"not wanted any more": {func(*scene) {}, "Gone"},
		"the first replacement failed": {
			func(s *scene) {
				set(s.place("chat-0-2", "north", "chat-0-1", 2), evenkeel.ConditionMoved, metav1.ConditionTrue, "")
				set(s.place("chat-0-3", "west", "chat-0-1", 3), evenkeel.ConditionReady, metav1.ConditionTrue, "")
			},
			"Serving -> west",
		},
		"its replacement had to move on": {
			func(s *scene) {
				set(s.place("chat-0-2", "north", "chat-0-1", 2), evenkeel.ConditionMoved, metav1.ConditionTrue, "")
				set(s.place("chat-0-3", "west", "chat-0-2", 3), evenkeel.ConditionReady, metav1.ConditionTrue, "")
			},
			"Serving -> west",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, tracker := newScene(), &Tracker{}
			origin := s.place("chat-0-1", "east", "", 1)
			s.replica()
			tracker.Update(&s.Snapshot, at(0))
			s.Replicas = nil
			set(origin, evenkeel.ConditionMoved, metav1.ConditionTrue, "")
			tc.after(s)
			tracker.Update(&s.Snapshot, at(1))
			assert.Equal(t, tc.want, told(t, tracker))
		})
	}
}

func TestPresent(t *testing.T) {
	tolerates := []modelplane.Toleration{{Key: "maintenance", Operator: modelplane.TolerationOpExists}}
	for name, tc := range map[string]struct {
		prepare func(s *scene)
		want    string
		left    int
	}{
		"tolerates the taint":            {func(s *scene) { s.place("chat-0-1", "east", "", 1).Spec.Tolerations = tolerates; s.replica() }, "Stays", 0},
		"not Evenkeel's":                 {func(s *scene) { s.replica() }, "Waiting, waits for whoever keeps the replicas of ModelDeployment chat", 1},
		"not Evenkeel's, on its way":     {func(s *scene) { s.replica().DeletionTimestamp = &metav1.Time{Time: start} }, "Deleting, waits for its pods to end", 1},
		"its replica was not made yet":   {func(s *scene) { s.place("chat-0-1", "east", "", 1) }, "Waiting, waits for another place", 1},
		"a ring of placements is no end": {func(s *scene) { s.place("chat-0-1", "east", "chat-0-1", 1); s.replica() }, "Waiting -> east, waits for its move to begin", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, tracker := newScene(), &Tracker{}
			tc.prepare(s)
			tracker.Update(&s.Snapshot, at(0))
			assert.Equal(t, tc.want, told(t, tracker))
			assert.Equal(t, tc.left, LeftOf(tracker.Rows()))
		})
	}
}

// TestLook tells when following a drain ends.
func TestLook(t *testing.T) {
	drained := metav1.Condition{Type: evenkeel.ConditionDrained, Status: metav1.ConditionTrue, ObservedGeneration: 3}
	old := drained
	old.ObservedGeneration = 2
	for name, tc := range map[string]struct {
		prepare func(s *scene)
		want    End
	}{
		"nothing reported":                      {func(*scene) {}, ""},
		"drained":                               {func(s *scene) { s.Cluster.Status.Conditions = []metav1.Condition{drained} }, EndDrained},
		"reported of older taints":              {func(s *scene) { s.Cluster.Status.Conditions = []metav1.Condition{old} }, ""},
		"reported, but a replica is still seen": {func(s *scene) { s.Cluster.Status.Conditions = []metav1.Condition{drained}; s.replica() }, ""},
		"lifted":                                {func(s *scene) { s.Cluster.Spec.Taints = nil }, EndLifted},
		"only cordoned":                         {func(s *scene) { s.Cluster.Spec.Taints[0].Effect = modelplane.TaintEffectNoSchedule }, EndLifted},
		"deleted":                               {func(s *scene) { s.Cluster = nil }, EndDeleted},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			tc.prepare(s)
			f := &follower{view: NewLines(discard{}), started: time.Now()}
			end, err := f.look(&s.Snapshot)
			require.NoError(t, err)
			assert.Equal(t, tc.want, end)
		})
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
