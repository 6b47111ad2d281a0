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

package rank

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/internal/testhub"
)

var leaving = testhub.Condition(evenkeel.ConditionDisruptionTarget, evenkeel.CauseTaint)

func on(cluster string, slot int32, options ...testhub.Option) *evenkeel.ReplicaPlacement {
	return testhub.Placement("chat", slot, append(options, testhub.On(cluster, 0, "h100"))...)
}

func TestRank(t *testing.T) {
	tests := map[string]struct {
		clusters   []string
		placements []*evenkeel.ReplicaPlacement
		replaces   string
		want       string
	}{
		"all empty: the first name":             {clusters: []string{"east", "north", "west"}, want: "east"},
		"fewest replicas of the deployment":     {clusters: []string{"east", "north", "west"}, placements: []*evenkeel.ReplicaPlacement{on("east", 0), on("west", 1)}, want: "north"},
		"equal loads: the first name":           {clusters: []string{"east", "west"}, placements: []*evenkeel.ReplicaPlacement{on("east", 0), on("west", 1)}, want: "east"},
		"other deployments' replicas count not": {clusters: []string{"east", "west"}, placements: []*evenkeel.ReplicaPlacement{testhub.Placement("other", 0, testhub.On("east", 0, "h100"))}, want: "east"},
		"nor those of another namespace":        {clusters: []string{"east", "west"}, placements: []*evenkeel.ReplicaPlacement{on("east", 0, testhub.In("other-team"))}, want: "east"},
		"one that is about to leave counts not": {clusters: []string{"east", "west"}, placements: []*evenkeel.ReplicaPlacement{on("east", 0, leaving)}, want: "east"},
		"one that is terminating counts not":    {clusters: []string{"east", "west"}, placements: []*evenkeel.ReplicaPlacement{on("east", 0, testhub.Terminating)}, want: "east"},
		"one that is over counts not":           {clusters: []string{"east", "west"}, placements: []*evenkeel.ReplicaPlacement{on("east", 0, testhub.Condition(evenkeel.ConditionMoved, "Moved"))}, want: "east"},
		"one that cannot leave yet counts":      {clusters: []string{"east", "west"}, placements: []*evenkeel.ReplicaPlacement{on("east", 0)}, want: "west"},
		"the replaced one counts not":           {clusters: []string{"east", "west"}, placements: []*evenkeel.ReplicaPlacement{on("east", 0)}, replaces: "chat-0-1", want: "east"},
		"a replacement counts instead of the one that leaves": {
			clusters:   []string{"east", "west"},
			placements: []*evenkeel.ReplicaPlacement{on("west", 0, leaving), on("east", 0, testhub.Attempt(2), testhub.Replaces("chat-0-1"))},
			want:       "west",
		},
		"a cluster that did not fit is not chosen, however empty": {clusters: []string{"west"}, placements: []*evenkeel.ReplicaPlacement{on("west", 0), on("west", 1)}, want: "west"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := virtual.PodFor(testhub.Placement("chat", 9, testhub.Attempt(2), testhub.Replaces(tc.replaces)))
			// The order in which clusters and placements are listed must not matter.
			for range 20 {
				rand.Shuffle(len(tc.clusters), func(i, j int) { tc.clusters[i], tc.clusters[j] = tc.clusters[j], tc.clusters[i] })
				rand.Shuffle(len(tc.placements), func(i, j int) { tc.placements[i], tc.placements[j] = tc.placements[j], tc.placements[i] })
				assert.Equal(t, tc.want, winner(t, pod, tc.clusters, tc.placements))
			}
		})
	}
}

// winner runs the plugin and checks that exactly one cluster gets points.
func winner(t *testing.T, pod *v1.Pod, clusters []string, placements []*evenkeel.ReplicaPlacement) string {
	t.Helper()
	var nodes []*v1.Node
	for _, name := range clusters {
		nodes = append(nodes, virtual.NodeFor(testhub.Cluster(name, testhub.Pool("h100", 8))))
	}
	snapshot := schedulercache.NewSnapshot(testhub.Pods(placements...), nodes)
	var feasible []fwk.NodeInfo
	for _, name := range clusters {
		nodeInfo, err := snapshot.Get(name)
		require.NoError(t, err)
		feasible = append(feasible, nodeInfo)
	}
	pl := newPlugin(t)
	state := framework.NewCycleState()
	status := pl.PreScore(t.Context(), state, pod, feasible)
	require.True(t, status.IsSuccess(), status.Message())

	best := ""
	for _, nodeInfo := range feasible {
		score, status := pl.Score(t.Context(), state, pod, nodeInfo)
		require.True(t, status.IsSuccess(), status.Message())
		switch score {
		case fwk.MaxNodeScore:
			require.Empty(t, best, "two clusters have all points")
			best = nodeInfo.Node().Name
		default:
			require.Equal(t, fwk.MinNodeScore, score)
		}
	}
	return best
}

func TestRankOutOfOrder(t *testing.T) {
	pl := newPlugin(t)
	pod := virtual.PodFor(testhub.Placement("chat", 0))
	nodeInfo := framework.NewNodeInfo()
	nodeInfo.SetNode(virtual.NodeFor(testhub.Cluster("east")))

	_, status := pl.Score(t.Context(), framework.NewCycleState(), pod, nodeInfo)
	assert.Equal(t, fwk.Error, status.Code())
	assert.Equal(t, fwk.Skip, pl.PreScore(t.Context(), framework.NewCycleState(), pod, nil).Code())

	pod.Annotations[virtual.AnnotationRequirements] = "{"
	assert.Equal(t, fwk.Error, pl.PreScore(t.Context(), framework.NewCycleState(), pod, []fwk.NodeInfo{nodeInfo}).Code())
}

func newPlugin(t *testing.T) *Rank {
	t.Helper()
	pl, err := New(t.Context(), nil, nil)
	require.NoError(t, err)
	return pl.(*Rank)
}

func BenchmarkRank(b *testing.B) {
	var nodes []*v1.Node
	var placements []*evenkeel.ReplicaPlacement
	for i := range 1000 {
		name := string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
		nodes = append(nodes, virtual.NodeFor(testhub.Cluster(name, testhub.Pool("h100", 8))))
		placements = append(placements, on(name, int32(2*i)), testhub.Placement("other", int32(i), testhub.On(name, 0, "h100")))
	}
	snapshot := schedulercache.NewSnapshot(testhub.Pods(placements...), nodes)
	feasible, err := snapshot.NodeInfos().List()
	require.NoError(b, err)
	created, err := New(b.Context(), nil, nil)
	require.NoError(b, err)
	pl, pod := created.(*Rank), virtual.PodFor(testhub.Placement("chat", 1))
	b.ReportAllocs()
	for b.Loop() {
		state := framework.NewCycleState()
		pl.PreScore(b.Context(), state, pod, feasible)
		for _, nodeInfo := range feasible {
			_, _ = pl.Score(b.Context(), state, pod, nodeInfo)
		}
	}
}

// Among equally loaded clusters those win that can hold the model's weights, if the deployment names a cache at all.
func TestRankPrefersCachedWeights(t *testing.T) {
	for name, tc := range map[string]struct {
		cache      string
		placements []*evenkeel.ReplicaPlacement
		want       string
	}{
		"held in the west":           {cache: "weights", want: "west"},
		"nobody asks for them":       {want: "east"},
		"fewer replicas weigh more":  {cache: "weights", placements: []*evenkeel.ReplicaPlacement{on("west", 0)}, want: "east"},
		"at equal loads they decide": {cache: "weights", placements: []*evenkeel.ReplicaPlacement{on("west", 0), on("east", 1)}, want: "west"},
	} {
		t.Run(name, func(t *testing.T) {
			west := testhub.Cluster("west", testhub.Pool("h100", 8))
			west.Status.Cache = &modelplane.ClusterCacheStatus{StorageClassName: "weights"}
			snapshot := schedulercache.NewSnapshot(testhub.Pods(tc.placements...), testhub.Nodes(testhub.Cluster("east", testhub.Pool("h100", 8)), west))
			feasible, err := snapshot.List()
			require.NoError(t, err)
			p := testhub.Placement("chat", 9)
			p.Spec.ModelCacheName = tc.cache
			pl, state, pod := newPlugin(t), framework.NewCycleState(), virtual.PodFor(p)
			require.True(t, pl.PreScore(t.Context(), state, pod, feasible).IsSuccess())
			for _, nodeInfo := range feasible {
				score, _ := pl.Score(t.Context(), state, pod, nodeInfo)
				assert.Equal(t, nodeInfo.Node().Name == tc.want, score == fwk.MaxNodeScore, nodeInfo.Node().Name)
			}
		})
	}
}
