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

package preemption

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/internal/testhub"
	"github.com/evenkeel-io/evenkeel/plugins/poolfit"
)

func tooFew(pool string, need, free, nodes int64) *placement.Shortage {
	return &placement.Shortage{Kind: placement.NotEnoughNodes, Engine: "main", Pool: pool, Need: need, Free: free, Nodes: nodes}
}

func TestExplain(t *testing.T) {
	tests := map[string]struct {
		shortages map[string]*placement.Shortage
		maxNamed  int
		want      string
	}{
		"nothing to explain": {maxNamed: 3, want: ""},
		"naming none":        {maxNamed: 0, shortages: map[string]*placement.Shortage{"east": tooFew("h100", 4, 1, 8)}, want: ""},
		"one": {
			maxNamed:  3,
			shortages: map[string]*placement.Shortage{"gpu-us-west": tooFew("h100", 4, 1, 8)},
			want:      "Best: gpu-us-west/h100 needs 4 nodes, has 1 free (engine main).",
		},
		"one node": {
			maxNamed:  3,
			shortages: map[string]*placement.Shortage{"gpu-us-west": tooFew("h100", 1, 0, 8)},
			want:      "Best: gpu-us-west/h100 needs 1 node, has 0 free (engine main).",
		},
		"the smallest lack first, then the name": {
			maxNamed: 3,
			shortages: map[string]*placement.Shortage{
				"d": tooFew("h100", 4, 0, 8), "c": tooFew("h100", 4, 3, 8), "b": tooFew("h100", 4, 2, 8), "a": tooFew("h100", 4, 2, 8),
			},
			want: "Best: c/h100 needs 4 nodes, has 3 free (engine main); a/h100 needs 4 nodes, has 2 free (engine main); b/h100 needs 4 nodes, has 2 free (engine main); 1 more.",
		},
		"full pools before small ones before other devices": {
			maxNamed: 10,
			shortages: map[string]*placement.Shortage{
				"full":      tooFew("h100", 9, 0, 9),
				"small":     tooFew("h100", 2, 1, 1),
				"other":     {Kind: placement.NoMatchingPool, Engine: "decode", Pool: "l4", Request: "gpu"},
				"poolless":  {Kind: placement.NoMatchingPool, Engine: "decode"},
				"stranded":  {Kind: placement.NoMatchingPool, Engine: "decode", Pool: "l4"},
				"synthetic": {Kind: placement.NothingToClaim, Engine: "decode", Pool: "cpu"},
			},
			want: "Best: full/h100 needs 9 nodes, has 0 free (engine main); small/h100 needs 2 nodes, has 1 in all (engine main); " +
				"other/l4 has no devices for request gpu (engine decode); poolless publishes no node pool; " +
				"stranded/l4 matches, but nothing would be claimed there (engine decode); synthetic/cpu has no device to claim (engine decode).",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for range 10 { // maps have no order
				assert.Equal(t, tc.want, explain(tc.shortages, tc.maxNamed))
			}
		})
	}
}

func TestExplanationIsBounded(t *testing.T) {
	shortages := map[string]*placement.Shortage{}
	for i := range 1000 {
		long := strings.Repeat("é", 500)
		shortages[fmt.Sprintf("cluster-%04d-%s", i, long)] = tooFew(long, 1<<62, 0, 1<<62)
	}
	sentence := explain(shortages, 3)
	assert.Less(t, len(sentence), 800)
	assert.True(t, utf8.ValidString(sentence))
	assert.Contains(t, sentence, "cluster-0000-")
	assert.True(t, strings.HasSuffix(sentence, "; 997 more."))
}

// The whole way: PoolFit refuses clusters, and the plugin tells with the numbers.
func TestPostFilter(t *testing.T) {
	tests := map[string]struct {
		args runtime.Object
		want string
	}{
		"by default":     {want: "Best: north/h100 needs 3 nodes, has 2 free (engine main); east/h100 needs 3 nodes, has 1 free (engine main); west/h100 needs 3 nodes, has 2 in all (engine main); 1 more."},
		"naming one":     {args: raw(`{"maxNamedClusters":1}`), want: "Best: north/h100 needs 3 nodes, has 2 free (engine main); 3 more."},
		"naming nothing": {args: raw(`{"maxNamedClusters":0}`), want: ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pl, err := New(nil)(t.Context(), tc.args, nil)
			require.NoError(t, err)
			state := rejected(t)
			result, status := pl.(*Preemption).PostFilter(t.Context(), state, nil, framework.NewDefaultNodeToStatus())
			assert.Nil(t, result, "it never nominates")
			assert.Equal(t, fwk.Unschedulable, status.Code())
			assert.Equal(t, tc.want, status.Message())
		})
	}
	t.Run("when PoolFit has refused no cluster", func(t *testing.T) {
		pl, err := New(nil)(t.Context(), nil, nil)
		require.NoError(t, err)
		_, status := pl.(*Preemption).PostFilter(t.Context(), framework.NewCycleState(), nil, framework.NewDefaultNodeToStatus())
		assert.Equal(t, fwk.Unschedulable, status.Code())
		assert.Empty(t, status.Reasons())
	})
}

// rejected is the state of a cycle in which PoolFit refused four clusters.
func rejected(t *testing.T) fwk.CycleState {
	t.Helper()
	nodes := testhub.Nodes(
		testhub.Cluster("east", testhub.Pool("h100", 4)), testhub.Cluster("west", testhub.Pool("h100", 2)),
		testhub.Cluster("north", testhub.Pool("h100", 4)), testhub.Cluster("south", testhub.Pool("l4", 4)),
	)
	informer, err := testhub.ReplicaInformer(
		testhub.Replica("other", "east", 0, "h100", 3), testhub.Replica("other", "north", 0, "h100", 2))
	require.NoError(t, err)
	ledger, err := poolfit.NewLedger(informer, placement.NewMatcher())
	require.NoError(t, err)
	snapshot := schedulercache.NewSnapshot(nil, nodes)
	handle, err := frameworkruntime.NewFramework(t.Context(), nil, nil, frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithInformerFactory(informers.NewSharedInformerFactory(fake.NewClientset(), 0)))
	require.NoError(t, err)
	pl, err := poolfit.New(ledger)(t.Context(), nil, handle)
	require.NoError(t, err)

	state := framework.NewCycleState()
	pod := virtual.PodFor(testhub.Placement("chat", 0, testhub.Engines(testhub.Engine("main", 3, "h100"))))
	_, status := pl.(*poolfit.PoolFit).PreFilter(t.Context(), state, pod, nil)
	require.True(t, status.IsSuccess(), status.Message())
	all, err := snapshot.List()
	require.NoError(t, err)
	for _, nodeInfo := range all {
		require.False(t, pl.(*poolfit.PoolFit).Filter(t.Context(), state, pod, nodeInfo).IsSuccess())
	}
	return state
}

func TestNewRefusesUnknownArguments(t *testing.T) {
	_, err := New(nil)(t.Context(), raw(`{"maxNamedCluster":1}`), nil)
	require.ErrorContains(t, err, `unknown field "maxNamedCluster"`)
}

func raw(text string) runtime.Object {
	return &runtime.Unknown{Raw: []byte(text), ContentType: runtime.ContentTypeJSON}
}
