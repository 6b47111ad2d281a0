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

package drain

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		options options
		wrong   string
	}{
		"as shipped":        {options{shape{1000, 200, 5}, 1}, ""},
		"no clusters":       {options{shape{0, 200, 5}, 1}, "at least 1"},
		"too many replicas": {options{shape{1000, 200, 11}, 1}, "at most 10"},
		"no runs":           {options{shape{1000, 200, 5}, 0}, "at least 1"},
		"nowhere to go":     {options{shape{199, 200, 5}, 1}, "ask for at least 220 clusters"},
		"just enough":       {options{shape{220, 200, 5}, 1}, ""},
		"one a cluster":     {options{shape{29, 1, 5}, 1}, "at least 30 clusters"},
	} {
		err := tc.options.validate()
		if tc.wrong == "" {
			assert.NoError(t, err, name)
		} else {
			assert.ErrorContains(t, err, tc.wrong, name)
		}
	}
}

func TestJudge(t *testing.T) {
	s := shape{clusters: 40, deployments: 2, replicas: 1}
	drained := []string{"cluster-0000"}
	replica := func(deployment, cluster string, ready metav1.ConditionStatus) modelplane.ModelReplica {
		r := modelplane.ModelReplica{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{modelplane.LabelDeployment: deployment}}}
		r.Spec.ClusterName = cluster
		r.Status.Conditions = []metav1.Condition{{Type: "ModelReady", Status: metav1.ConditionTrue}, {Type: modelplane.ConditionReady, Status: ready}}
		return r
	}
	stays := replica("model-0000", "cluster-0000", metav1.ConditionTrue)
	moved := replica("model-0001", "cluster-0001", metav1.ConditionTrue)
	assert.Equal(t, fleetState{ready: 2, away: 1}, judge([]modelplane.ModelReplica{stays, moved}, s, drained))
	assert.Equal(t, "model-0001 has 0 replicas instead of 1", judge([]modelplane.ModelReplica{stays}, s, drained).wrong)
	assert.Equal(t, []string{"cluster-0000", "cluster-0001"}, occupied([]modelplane.ModelReplica{moved, stays, stays}))
	loading := replica("model-0001", "cluster-0001", metav1.ConditionFalse)
	assert.Equal(t, fleetState{ready: 1}, judge([]modelplane.ModelReplica{stays, loading}, s, drained))
	moved.DeletionTimestamp = ptr.To(metav1.Now())
	assert.Equal(t, fleetState{ready: 1}, judge([]modelplane.ModelReplica{stays, moved}, s, drained))
}

func TestSummary(t *testing.T) {
	c := summarize(shape{1000, 200, 5}, []Run{
		{DrainedClusters: 100, DrainSeconds: 30, BareSeconds: 10, Ratio: 3, WritesPerMove: 12, ManagerPeakRSSMiB: 100},
		{DrainSeconds: 20, BareSeconds: 20, Ratio: 1, WritesPerMove: 14, ManagerPeakRSSMiB: 300},
		{DrainSeconds: 50, BareSeconds: 25, Ratio: 2, WritesPerMove: 13, ManagerPeakRSSMiB: 200},
	}, harness.Machine{})
	var table strings.Builder
	require.NoError(t, writeTable(&table, c))
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	require.Len(t, lines, 2)
	assert.Equal(t, []string{"1000", "100", "200", "1000", "30.0", "20.0", "2.00", "13.00", "200"}, strings.Fields(lines[1]))
}
