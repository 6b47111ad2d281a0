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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCompatibilityCases runs the compatibility cases of placing, scaling, retaining and draining from beginning to end,
// with a scheduler that keeps to the placement rules. The same cases run against the real scheduler and API server in
// test/integration/manager; here they also show where a rule breaks.
//
// Given are the wish and the clusters as a scene has them, and the replicas that were there before as "east/0(h)".
func TestCompatibilityCases(t *testing.T) {
	for _, tc := range []struct {
		id       string
		given    []string
		existing string
		want     string
	}{
		{"P1", []string{"wants 1"}, "", ""},
		{"P2", []string{"wants 1", "east h:2"}, "", "east/0"},
		{"P4", []string{"wants 1", "east h:2 NoGateway"}, "", ""},
		{"P8", []string{"wants 2", "west h:2", "east h:2", "north h:2"}, "", "east/0 north/0"},
		// Evenkeel keeps what runs on a cluster that publishes nothing at the moment.
		{"P10", []string{"wants 1", "east NoStatus"}, "east/0", "east/0"},
		{"S1", []string{"wants 2", "east h:2"}, "", "east/0 east/1"},
		{"S3", []string{"wants 3", "east h:5", "west h:5"}, "", "east/0 east/1 west/0"},
		{"S4", []string{"wants 4", "east h:5", "west h:1"}, "", "east/0 east/1 east/2 west/0"},
		{"S6", []string{"wants 3", "east h:5"}, "east/0 east/2", "east/0 east/1 east/2"},
		{"S7", []string{"wants 4", "east h:9", "north h:9", "west h:9"}, "west/0 west/1", "east/0 north/0 west/0 west/1"},
		{"C1", []string{"wants 2", "east h:2", "west h:2"}, "east/0 east/1 west/0", "east/0 west/0"},
		{"C3", []string{"wants 1", "east h:2", "west h:2"}, "west/0 east/0", "east/0"},
		{"C4", []string{"wants 2", "east h:2", "west h:2"}, "east/0 east/1 west/0 west/1", "east/0 west/0"},
		{"C6", []string{"wants 1", "east h:2 NoExecute", "west h:2"}, "east/0 west/0", "west/0"},
		// Evenkeel drops the one on the cluster that is not ready.
		{"C7", []string{"wants 1", "east h:2 NotReady NoGateway", "west h:2"}, "east/0 west/0", "west/0"},
		{"T2", []string{"wants 1", "east h:2 NotReady NoGateway"}, "east/0", "east/0"},
		{"T3", []string{"wants 1", "west h:2"}, "east/0", "west/0"},
		{"T5", []string{"wants 2", "east h:3"}, "east/0 east/1", "east/0 east/1"},
		{"T9", []string{"wants 1", "east n1:2"}, "east/0(gone)", "east/1"},
		{"T11", []string{"wants 1", "east h:0"}, "east/0", "east/0"},
		{"T12", []string{"wants 1 engine e2", "east h:2"}, "east/0", "east/1"},
		{"T15", []string{"wants 1 copies 3", "east h:1"}, "east/0", "east/0"},
		{"T20", []string{"wants 1 selects tier=a", "east h:2", "west h:2 label tier=a"}, "east/0", "west/0"},
		{"L4", []string{"wants 2", "east n1:2"}, "east/0(n1) east/1(gone)", "east/0 east/2"},
		{"L7", []string{"wants 1", "east h:1 NoExecute", "west h:1"}, "east/0", "west/0"},
		{"L8", []string{"wants 1 engine e2", "east h:1"}, "east/0", "east/1"},
		{"D2", []string{"wants 2", "east h:4 NoSchedule"}, "east/0", "east/0"},
		{"D3", []string{"wants 1 tolerates acme.test/noschedule", "east h:2 NoSchedule"}, "", "east/0"},
		{"D5", []string{"wants 1 tolerates acme.test/noexecute", "east h:2 NoExecute"}, "east/0", "east/0"},
		{"D6", []string{"wants 1", "east h:2 NoExecute"}, "east/0", ""},
		{"D15", []string{"wants 2", "east h:2", "west h:2"}, "west/0 west/1", "west/0 west/1"},
		{"D17", []string{"wants 2", "east h:2 NoExecute", "west h:1"}, "east/0 west/0", "west/0"},
		{"D18", []string{"wants 1", "east h:2 NoExecute", "west h:2 NoSchedule"}, "east/0", ""},
		{"D20", []string{"wants 2", "east h:2 NoExecute", "north h:2", "west h:2"}, "east/0 east/1", "north/0 west/0"},
		{"D21", []string{"wants 1", "east h:2 NoExecute NotReady NoGateway", "west h:2"}, "east/0", "west/0"},
		{"F1", []string{"wants 1 cache missing", "east h:2"}, "", ""},
		{"F2", []string{"wants 1 cache missing", "east h:2"}, "east/0", "east/0"},
		{"F3", []string{"wants 3 cache missing", "east h:5"}, "east/0", "east/0"},
		{"F4", []string{"wants 1 cache missing", "east h:5"}, "east/0 east/1", "east/0"},
		{"F5", []string{"wants 1 cache missing", "east h:2 NoExecute", "west h:2"}, "east/0", ""},
	} {
		t.Run(tc.id, func(t *testing.T) {
			s := simOf(newScene(t, tc.given...), strings.Fields(tc.existing))
			require.NoError(t, s.settle())
			assert.Equal(t, strings.Fields(tc.want), s.placed())
			assert.Equal(t, int32(len(strings.Fields(tc.want))), s.deployment.Status.Replicas.Total)
		})
	}
}

// simOf makes a hub of a scene, with replicas that somebody made before.
func simOf(sc *scene, existing []string) *sim {
	s := newSim(0)
	s.deployment, s.caches = sc.Deployment, sc.CacheState
	for _, c := range sc.Clusters {
		s.clusters[c.Name] = c.InferenceCluster
	}
	s.poolsChanged = true
	stamped := testDeployment("chat", 1)
	for _, place := range existing {
		cluster, index, pool := where(sc.t, place)
		r := testReplica(stamped, replicaNameOf(cluster, index), cluster, index, pool)
		s.addReplica(r)
	}
	s.compose(0, 0)
	s.poolsChanged = false
	return s
}
