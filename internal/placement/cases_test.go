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

package placement

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// fleetCase is a compatibility case: a deployment, a fleet, and all replicas that the deployment must have afterwards.
type fleetCase struct {
	id       string
	d        *modelplane.ModelDeployment
	clusters []modelplane.InferenceCluster
	replicas []modelplane.ModelReplica
	hold     bool
	want     []string
}

func clusters(c ...modelplane.InferenceCluster) []modelplane.InferenceCluster { return c }

func replicas(r ...modelplane.ModelReplica) []modelplane.ModelReplica { return r }

func runCases(t *testing.T, cases []fleetCase) {
	t.Helper()
	m := NewMatcher()
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			// Twice, so that what the Matcher remembers is used too.
			for range 2 {
				result, err := fleet{clusters: c.clusters, replicas: c.replicas, hold: c.hold}.reconcile(m, c.d)
				require.NoError(t, err)
				assert.Equal(t, c.want, asStrings(result))
			}
		})
	}
}

func asStrings(result []placed) []string {
	var s []string
	for _, p := range result {
		s = append(s, p.String())
	}
	return s
}

func TestPlainPlacement(t *testing.T) {
	runCases(t, []fleetCase{
		{id: "P1", d: chat(1)},
		{id: "P2", d: chat(1), clusters: clusters(cluster("east", poolOf("h", 2))), want: []string{"east/0 h"}},
		{id: "P4 no gateway address", d: chat(1), clusters: clusters(cluster("east", poolOf("h", 2), withoutGateway))},
		{id: "P5 a gang of five on three nodes", d: deployment("chat", 1, span(5)), clusters: clusters(cluster("east", poolOf("h", 3)))},
		{
			id: "P7 three nodes, two copies", d: deployment("chat", 1, copies(2, span(3))),
			clusters: clusters(cluster("east", poolOf("h", 5)), cluster("west", poolOf("h", 6))),
			want:     []string{"west/0 h"},
		},
		{
			id: "P8 by name, not by list order", d: chat(2),
			clusters: clusters(cluster("west", poolOf("h", 2)), cluster("east", poolOf("h", 2)), cluster("north", poolOf("h", 2))),
			want:     []string{"east/0 h", "north/0 h"},
		},
		{
			id: "P10 no status at all", d: chat(1), clusters: clusters(cluster("east", withoutStatus)),
			replicas: replicas(running(chat(1), "east", 0, "h")),
		},
	})
}

func TestSpreadAndIndices(t *testing.T) {
	runCases(t, []fleetCase{
		{id: "S1", d: chat(2), clusters: clusters(cluster("east", poolOf("h", 2))), want: []string{"east/0 h", "east/1 h"}},
		{
			id: "S3", d: chat(3), clusters: clusters(cluster("east", poolOf("h", 5)), cluster("west", poolOf("h", 5))),
			want: []string{"east/0 h", "east/1 h", "west/0 h"},
		},
		{
			id: "S4", d: chat(4), clusters: clusters(cluster("east", poolOf("h", 5)), cluster("west", poolOf("h", 1))),
			want: []string{"east/0 h", "east/1 h", "east/2 h", "west/0 h"},
		},
		{
			id: "S6 the gap is filled", d: chat(3), clusters: clusters(cluster("east", poolOf("h", 5))),
			replicas: replicas(running(chat(1), "east", 0, "h"), running(chat(1), "east", 2, "h")),
			want:     []string{"east/0 h", "east/1 h", "east/2 h"},
		},
		{
			id: "S7", d: chat(4),
			clusters: clusters(cluster("east", poolOf("h", 9)), cluster("north", poolOf("h", 9)), cluster("west", poolOf("h", 9))),
			replicas: replicas(running(chat(1), "west", 0, "h"), running(chat(1), "west", 1, "h")),
			want:     []string{"east/0 h", "north/0 h", "west/0 h", "west/1 h"},
		},
		{
			id: "S9 first pool with room", d: chat(3), clusters: clusters(cluster("east", poolOf("a", 1), poolOf("b", 2))),
			want: []string{"east/0 a", "east/1 b", "east/2 b"},
		},
	})
}

func TestScaleDownOfFleet(t *testing.T) {
	east, west := cluster("east", poolOf("h", 9)), cluster("west", poolOf("h", 9))
	on := func(cluster string, index int32) modelplane.ModelReplica {
		return running(chat(1), cluster, index, "h")
	}
	runCases(t, []fleetCase{
		{
			id: "C1", d: chat(2), clusters: clusters(east, west), replicas: replicas(on("east", 0), on("east", 1), on("west", 0)),
			want: []string{"east/0 h", "west/0 h"},
		},
		{id: "C3", d: chat(1), clusters: clusters(east, west), replicas: replicas(on("west", 0), on("east", 0)), want: []string{"east/0 h"}},
		{
			id: "C4", d: chat(2), clusters: clusters(east, west),
			replicas: replicas(on("east", 0), on("east", 1), on("west", 0), on("west", 1)),
			want:     []string{"east/0 h", "west/0 h"},
		},
		{
			id: "C6 the drain counts first", d: chat(1), clusters: clusters(cluster("east", poolOf("h", 9), tainted(retirement)), west),
			replicas: replicas(on("east", 0), on("west", 0)), want: []string{"west/0 h"},
		},
		{
			// Modelplane keeps east/0, since it does not look at health.
			id: "C7 ours: the unhealthy one goes", d: chat(1), clusters: clusters(cluster("east", poolOf("h", 9), notReady), west),
			replicas: replicas(on("east", 0), on("west", 0)), want: []string{"west/0 h"},
		},
	})
}

func TestHold(t *testing.T) {
	east, west := cluster("east", poolOf("h", 9)), cluster("west", poolOf("h", 9))
	on := func(cluster string, index int32) modelplane.ModelReplica {
		return running(chat(1), cluster, index, "h")
	}
	runCases(t, []fleetCase{
		{id: "F1", d: chat(1), hold: true, clusters: clusters(east, west)},
		{id: "F2", d: chat(1), hold: true, clusters: clusters(east, west), replicas: replicas(on("east", 0)), want: []string{"east/0 h"}},
		{id: "F3", d: chat(3), hold: true, clusters: clusters(east, west), replicas: replicas(on("east", 0)), want: []string{"east/0 h"}},
		{
			id: "F4", d: chat(1), hold: true, clusters: clusters(east, west), replicas: replicas(on("east", 0), on("west", 0)),
			want: []string{"east/0 h"},
		},
		{
			id: "F5 drained but not refilled", d: chat(1), hold: true,
			clusters: clusters(cluster("east", poolOf("h", 9), tainted(retirement)), west), replicas: replicas(on("east", 0)),
		},
	})
}
