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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// pluginsOf names the filters that refuse a cluster.
func pluginsOf(c ClusterExplanation) []string {
	out := []string{}
	for _, v := range c.Verdicts {
		out = append(out, v.Plugin)
	}
	return out
}

func TestWhy(t *testing.T) {
	bad := testCluster("south", 0)
	bad.Status.Conditions[0].Status = metav1.ConditionFalse
	bad.Spec.Taints = []modelplane.Taint{{Key: testTaint, Effect: modelplane.TaintEffectNoSchedule}}
	snapshot := crowded(t, bad, testCluster("north", 1), testCluster("west", 2))

	explanations, err := Why(t.Context(), snapshot, "ml", "chat", testOptions(t))
	require.NoError(t, err)
	require.Len(t, explanations, 3)
	e := explanations[0]
	assert.Equal(t, "chat-0-1", e.Placement)
	assert.Equal(t, "east", e.At.Cluster)
	assert.Equal(t, "north", e.Best, "it has no replica of chat, and comes before west")
	require.Len(t, e.Clusters, 4)
	for i, name := range []string{"north", "west", "east"} {
		assert.Equal(t, name, e.Clusters[i].Cluster)
		assert.True(t, e.Clusters[i].Fits, "its own nodes are free for it on east")
	}
	assert.Empty(t, e.Clusters[0].Behind)
	assert.Contains(t, e.Clusters[1].Behind, "north before west: name")
	assert.Contains(t, e.Clusters[2].Behind, "west before east: fewest replicas of the deployment (0, not 2)")
	assert.Equal(t, "south", e.Clusters[3].Cluster)
	assert.Equal(t, []string{"ClusterReady", "TaintToleration", "PoolFit"}, pluginsOf(e.Clusters[3]), "all that speaks against it")
	assert.Contains(t, e.Clusters[3].Verdicts[2].Reason, "needs 1 node, has 0 in all")

	explanations, err = Why(t.Context(), snapshot, "ml", "code-0-1", testOptions(t))
	require.NoError(t, err)
	require.Len(t, explanations, 1)
	assert.Equal(t, "east", explanations[0].Best, "its own two nodes are free for it")

	_, err = Why(t.Context(), snapshot, "ml", "chatt", testOptions(t))
	assert.ErrorContains(t, err, `no ReplicaPlacement of the name "chatt"`)
}
