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

package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// crowded is a fleet whose cluster east has three replicas of chat and one of code, which takes two nodes; the other
// clusters come later.
func crowded(t *testing.T, others ...modelplane.InferenceCluster) *Snapshot {
	t.Helper()
	snapshot := settled(t, Snapshot{
		Clusters:    []modelplane.InferenceCluster{testCluster("east", 5)},
		Deployments: []modelplane.ModelDeployment{testDeployment("ml", "chat", 3, 1), testDeployment("ml", "code", 1, 2)},
	})
	require.Len(t, snapshot.Replicas, 4)
	snapshot.Clusters = append(snapshot.Clusters, others...)
	return snapshot
}

func run1(t *testing.T, snapshot *Snapshot, change Change) *Plan {
	t.Helper()
	plan, err := Run(t.Context(), snapshot, change, testOptions(t))
	require.NoError(t, err)
	assert.Empty(t, plan.Unfinished)
	return plan
}

func TestDrain(t *testing.T) {
	tests := map[string]struct {
		others      []modelplane.InferenceCluster
		policies    []evenkeel.DisruptionPolicy
		want        []string
		unavailable map[string]int32
		contended   string
		shortfall   int
	}{
		"with room for all": {
			others: []modelplane.InferenceCluster{testCluster("north", 2), testCluster("west", 3)},
			want: []string{
				"1 ml/chat-0 Moves from east/0 to north/0",
				"2 ml/code-0 Moves from east/0 to west/0",
				"3 ml/chat-1 Moves from east/1 to west/0",
				"4 ml/chat-2 Moves from east/2 to north/1",
			},
			unavailable: map[string]int32{"chat": 1, "code": 1},
		},
		"with room for some": {
			others: []modelplane.InferenceCluster{testCluster("west", 2)},
			want: []string{
				"1 ml/chat-0 Moves from east/0 to west/0",
				"2 ml/code-0 Deleted from east/0",
				"3 ml/chat-1 Moves from east/1 to west/1",
				"4 ml/chat-2 Deleted from east/2",
			},
			unavailable: map[string]int32{"chat": 1, "code": 1},
			contended:   "west",
			shortfall:   2,
		},
		"holding what has nowhere to go": {
			others:   []modelplane.InferenceCluster{testCluster("west", 2)},
			policies: []evenkeel.DisruptionPolicy{testPolicy("ml", "hold", evenkeel.DisruptionSettings{WhenUnplaceable: evenkeel.WhenUnplaceableHold})},
			want: []string{
				"1 ml/chat-0 Moves from east/0 to west/0",
				"2 ml/chat-1 Moves from east/1 to west/1",
				"0 ml/chat-2 Held from east/2 to east/2",
				"0 ml/code-0 Held from east/0 to east/0",
			},
			unavailable: map[string]int32{"chat": 1, "code": 0},
			contended:   "west",
		},
		"making before breaking": {
			others:   []modelplane.InferenceCluster{testCluster("north", 2), testCluster("west", 3)},
			policies: []evenkeel.DisruptionPolicy{testPolicy("ml", "mbb", evenkeel.DisruptionSettings{Strategy: evenkeel.StrategyMakeBeforeBreak})},
			want: []string{
				"1 ml/chat-0 Moves from east/0 to north/0",
				"2 ml/code-0 Moves from east/0 to west/0",
				"3 ml/chat-1 Moves from east/1 to west/0",
				"4 ml/chat-2 Moves from east/2 to north/1",
			},
			unavailable: map[string]int32{"chat": 0, "code": 0},
		},
		"paused": {
			others:   []modelplane.InferenceCluster{testCluster("west", 9)},
			policies: []evenkeel.DisruptionPolicy{testPolicy("ml", "pause", evenkeel.DisruptionSettings{Paused: ptr.To(true)})},
			want: []string{
				"0 ml/chat-0 Held from east/0 to east/0", "0 ml/chat-1 Held from east/1 to east/1", "0 ml/chat-2 Held from east/2 to east/2",
				"0 ml/code-0 Held from east/0 to east/0",
			},
			unavailable: map[string]int32{"chat": 0, "code": 0},
		},
		"several at once": {
			others: []modelplane.InferenceCluster{testCluster("west", 9)},
			policies: []evenkeel.DisruptionPolicy{testPolicy("ml", "wide", evenkeel.DisruptionSettings{
				MaxUnavailable: ptr.To(intstr.FromInt32(3)),
			})},
			want: []string{
				"1 ml/chat-0 Moves from east/0 to west/0", "2 ml/chat-1 Moves from east/1 to west/1", "3 ml/chat-2 Moves from east/2 to west/2",
				"4 ml/code-0 Moves from east/0 to west/0",
			},
			unavailable: map[string]int32{"chat": 3, "code": 1},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			snapshot := crowded(t, tc.others...)
			snapshot.Policies = tc.policies
			plan := run1(t, snapshot, Drain(testTaint, "east"))
			assert.Equal(t, tc.want, told(plan))
			for _, d := range plan.Deployments {
				assert.Equal(t, tc.unavailable[d.Name], d.MaxUnavailable, d.Name)
			}
			var contended []string
			for _, c := range plan.Contended {
				contended = append(contended, c.Cluster)
			}
			assert.Equal(t, tc.contended, strings.Join(contended, " "))
			assert.Equal(t, tc.shortfall, plan.Shortfall())
		})
	}
}

func TestWhatIsMissingIsTold(t *testing.T) {
	notReady := testCluster("south", 9)
	notReady.Status.Conditions[0].Status = metav1.ConditionFalse
	plan := run1(t, crowded(t, testCluster("west", 4), notReady), Drain(testTaint, "east"))
	require.Equal(t, 1, plan.Shortfall(), told(plan))
	require.Equal(t, 1, plan.Unplaceable())
	var stuck Replica
	for _, r := range plan.Replicas {
		if r.Outcome == OutcomeDeleted {
			stuck = r
		}
	}
	assert.Equal(t, evenkeel.CauseTaint, stuck.Cause)
	assert.Contains(t, stuck.Reason, "0/3 clusters are available")
	require.Len(t, stuck.Lacks, 3)
	for i, want := range []struct{ cluster, plugin, reason string }{
		{"east", "TaintToleration", "had untolerated taint"},
		{"south", "ClusterReady", "not"},
		{"west", "PoolFit", "west/h100 needs"},
	} {
		assert.Equal(t, want.cluster, stuck.Lacks[i].Cluster)
		assert.Equal(t, want.plugin, stuck.Lacks[i].Plugin)
		assert.Contains(t, stuck.Lacks[i].Reason, want.reason)
	}
}

func TestTolerationIsWaitedFor(t *testing.T) {
	snapshot := settled(t, Snapshot{
		Clusters:    []modelplane.InferenceCluster{testCluster("east", 5)},
		Deployments: []modelplane.ModelDeployment{testDeployment("ml", "chat", 1, 1)},
	})
	snapshot.Clusters = append(snapshot.Clusters, testCluster("west", 5))
	snapshot.Deployments[0].Spec.Template.Spec.Tolerations = []modelplane.Toleration{{
		Key: testTaint, Operator: modelplane.TolerationOpExists, TolerationSeconds: ptr.To[int64](1800),
	}}
	plan := run1(t, snapshot, Drain(testTaint, "east"))
	assert.Equal(t, []string{"1 ml/chat-0 Moves from east/0 to west/0"}, told(plan))
	assert.Equal(t, 30*time.Minute, plan.Duration)

	snapshot.Deployments[0].Spec.Template.Spec.Tolerations[0].TolerationSeconds = ptr.To[int64](100_000)
	plan = run1(t, snapshot, Drain(testTaint, "east"))
	assert.Equal(t, []string{"0 ml/chat-0 Held from east/0 to east/0"}, told(plan))
}

func TestScale(t *testing.T) {
	snapshot := crowded(t, testCluster("west", 2))
	assert.Equal(t, []string{
		"1 ml/chat-3 Lands to west/0", "2 ml/chat-4 Lands to west/1", "0 ml/chat-5 Waits",
	}, told(run1(t, snapshot, Scale("ml", "chat", 6))))
	assert.Equal(t, []string{"1 ml/chat-2 Removed from east/2"}, told(run1(t, snapshot, Scale("ml", "chat", 2))))
	_, err := Run(t.Context(), snapshot, Scale("ml", "chatt", 2), testOptions(t))
	assert.ErrorContains(t, err, `ModelDeployment "chatt" does not exist in namespace "ml"`)
}

func TestApply(t *testing.T) {
	snapshot := crowded(t)
	d := testDeployment("ml", "draw", 1, 2)
	assert.Equal(t, []string{"0 ml/draw-0 Waits"}, told(run1(t, snapshot, Apply(&d))))
	west := testCluster("west", 2)
	assert.Equal(t, []string{"1 ml/draw-0 Lands to west/0"}, told(run1(t, snapshot, Apply(&d, &west))))
	foreign := testDeployment("ml", "other", 1, 1)
	foreign.Spec.Template.Spec.SchedulerName = ""
	_, err := Run(t.Context(), snapshot, Apply(&foreign), testOptions(t))
	assert.ErrorContains(t, err, "is not Evenkeel's to place")
}

func TestDrainOfWhatIsNotThere(t *testing.T) {
	_, err := Run(t.Context(), crowded(t), Drain(testTaint, "eats"), testOptions(t))
	assert.ErrorContains(t, err, `InferenceCluster "eats" does not exist`)
}

func TestSnapshotStaysAsItIs(t *testing.T) {
	snapshot := crowded(t, testCluster("west", 2))
	before := snapshot.Clusters[0].DeepCopy()
	first := run1(t, snapshot, Drain(testTaint, "east"))
	assert.Equal(t, before, &snapshot.Clusters[0])
	assert.Equal(t, told(first), told(run1(t, snapshot, Drain(testTaint, "east"))), "the same question gets the same answer")
}
