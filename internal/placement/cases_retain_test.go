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

func TestRetainInFleet(t *testing.T) {
	two := func(a, b string) *modelplane.ModelDeployment {
		return deployment("chat", 1, single(a, askGPU(80)), single(b, askGPU(80)))
	}
	onFabric := deployment("chat", 1, single("main", askGPU(80), ask("fabric", 1, fabricIs("ib"))))
	fabricReplica := running(onFabric, "east", 0, "a")
	fabricReplica.Spec.Engines[0].Members[0].DeviceRequests = fabricReplica.Spec.Engines[0].Members[0].DeviceRequests[:1]
	on := func(cluster string, index int32, pool string) modelplane.ModelReplica {
		return running(chat(1), cluster, index, pool)
	}
	theirs := running(chat(1), "east", 0, "h")
	theirs.Namespace = "team-b"
	runCases(t, []fleetCase{
		{id: "T2", d: chat(1), clusters: clusters(cluster("east", poolOf("h", 2), notReady)), replicas: replicas(on("east", 0, "h")), want: []string{"east/0 h"}},
		{id: "T3", d: chat(1), clusters: clusters(cluster("west", poolOf("h", 2))), replicas: replicas(on("east", 0, "h")), want: []string{"west/0 h"}},
		{
			id: "T5", d: chat(2), clusters: clusters(cluster("east", poolOf("h", 3))), replicas: replicas(on("east", 0, "h"), on("east", 1, "h")),
			want: []string{"east/0 h", "east/1 h"},
		},
		{
			id: "T6 the first by name is kept", d: chat(1), clusters: clusters(cluster("east", poolOf("p1", 2), poolOf("p2", 2))),
			replicas: replicas(named("chat-east-0-copy", on("east", 0, "p2")), named("chat-east-0", on("east", 0, "p1"))), want: []string{"east/0 p1"},
		},
		{
			id: "T6 in any order", d: chat(1), clusters: clusters(cluster("east", poolOf("p1", 2), poolOf("p2", 2))),
			replicas: replicas(named("chat-east-0", on("east", 0, "p1")), named("chat-east-0-copy", on("east", 0, "p2"))), want: []string{"east/0 p1"},
		},
		{
			id: "T8 an index that is no number reads as 0", d: chat(2), clusters: clusters(cluster("east", poolOf("h", 4))),
			replicas: replicas(named("a", on("east", 0, "h")), named("b", indexed("two", on("east", 0, "h")))), want: []string{"east/0 h", "east/1 h"},
		},
		{
			// Modelplane gives index 0 again, whose ModelReplica still exists.
			id: "T9 ours: a fresh index", d: chat(1), clusters: clusters(cluster("east", poolOf("n1", 2))), replicas: replicas(on("east", 0, "gone")),
			want: []string{"east/1 n1"},
		},
		{id: "T11 nodes are not counted", d: chat(1), clusters: clusters(cluster("east", poolOf("h", 0))), replicas: replicas(on("east", 0, "h")), want: []string{"east/0 h"}},
		{
			// As T9.
			id: "T12 ours: a fresh index", d: deployment("chat", 1, single("e2", askGPU(80))), clusters: clusters(cluster("east", poolOf("h", 2))),
			replicas: replicas(on("east", 0, "h")), want: []string{"east/1 h"},
		},
		{
			id: "T14 the order of engines does not matter", d: two("b", "a"), clusters: clusters(cluster("east", poolOf("h", 2), poolOf("i", 2))),
			replicas: replicas(running(two("a", "b"), "east", 0, "h", "i")), want: []string{"east/0 h,i"},
		},
		{
			id: "T15 more copies stay", d: deployment("chat", 1, copies(3, single("main", askGPU(80)))),
			clusters: clusters(cluster("east", poolOf("h", 1))), replicas: replicas(on("east", 0, "h")), want: []string{"east/0 h"},
		},
		{
			id: "T17 pinned to a", d: chat(1), clusters: clusters(cluster("east", poolOf("a", 1), poolOf("b", 1))), replicas: replicas(on("east", 0, "a")),
			want: []string{"east/0 a"},
		},
		{
			id: "T17 pinned to b", d: chat(1), clusters: clusters(cluster("east", poolOf("a", 1), poolOf("b", 1))), replicas: replicas(on("east", 0, "b")),
			want: []string{"east/0 b"},
		},
		{
			// Modelplane gives index 0 again.
			id: "T18 ours: a fresh index", d: onFabric,
			clusters: clusters(cluster("east", poolOf("a", 1, gpuDevice(96), nic("eth")), poolOf("b", 1, gpuDevice(96), nic("ib")))),
			replicas: replicas(fabricReplica), want: []string{"east/1 b"},
		},
		{
			id: "T20 elsewhere", d: selecting(chat(1), "tier", "prod"),
			clusters: clusters(cluster("east", poolOf("h", 2)), cluster("west", poolOf("h", 2), labelled("tier", "prod"))),
			replicas: replicas(on("east", 0, "h")), want: []string{"west/0 h"},
		},
		{id: "T20 short", d: selecting(chat(1), "tier", "prod"), clusters: clusters(cluster("east", poolOf("h", 2))), replicas: replicas(on("east", 0, "h"))},
		{
			// Modelplane counts the other namespace's replica as its own.
			id: "T21 ours: namespaces are independent", d: chat(1), clusters: clusters(cluster("east", poolOf("h", 1)), cluster("west", poolOf("h", 1))),
			replicas: replicas(theirs), want: []string{"west/0 h"},
		},
	})
}

func TestDrains(t *testing.T) {
	on := func(cluster string, index int32) modelplane.ModelReplica {
		return running(chat(1), cluster, index, "h")
	}
	free := func(name string, options ...clusterOption) modelplane.InferenceCluster {
		return cluster(name, append(options, poolOf("h", 4))...)
	}
	equal := func(value string) modelplane.Toleration {
		return modelplane.Toleration{Key: "acme.test/maint", Operator: modelplane.TolerationOpEqual, Value: value}
	}
	both := tainted(maintenance, retirement)
	bothEffects := tainted(taint("acme.test/maint", "soon", modelplane.TaintEffectNoSchedule), taint("acme.test/maint", "soon", modelplane.TaintEffectNoExecute))
	reserved := taint("acme.test/res", "", modelplane.TaintEffectNoSchedule)
	runCases(t, []fleetCase{
		{id: "D2 stays", d: chat(1), clusters: clusters(free("east", tainted(maintenance))), replicas: replicas(on("east", 0)), want: []string{"east/0 h"}},
		{id: "D2 gets no second", d: chat(2), clusters: clusters(free("east", tainted(maintenance))), replicas: replicas(on("east", 0)), want: []string{"east/0 h"}},
		{id: "D3", d: tolerating(chat(1), exists("acme.test/maint")), clusters: clusters(free("east", tainted(maintenance))), want: []string{"east/0 h"}},
		{
			id: "D5", d: tolerating(chat(1), exists("acme.test/retire")), clusters: clusters(free("east", tainted(retirement)), free("west")),
			replicas: replicas(on("east", 0)), want: []string{"east/0 h"},
		},
		{id: "D6 nowhere to go", d: chat(1), clusters: clusters(free("east", tainted(retirement))), replicas: replicas(on("east", 0))},
		{
			id: "D8 one tolerated taint does not excuse another", d: tolerating(chat(1), exists("acme.test/maint")),
			clusters: clusters(free("east", tainted(maintenance, reserved)), free("west")), want: []string{"west/0 h"},
		},
		{id: "D9 Equal soon", d: tolerating(chat(1), equal("soon")), clusters: clusters(free("east", tainted(maintenance))), want: []string{"east/0 h"}},
		{id: "D9 Equal later", d: tolerating(chat(1), equal("later")), clusters: clusters(free("east", tainted(maintenance)))},
		{id: "D9 no value", d: tolerating(chat(1), equal("")), clusters: clusters(free("east", tainted(maintenance)))},
		{
			id: "D9 no operator", d: tolerating(chat(1), modelplane.Toleration{Key: "acme.test/maint", Value: "soon"}),
			clusters: clusters(free("east", tainted(maintenance))), want: []string{"east/0 h"},
		},
		{id: "D11", d: tolerating(chat(1), exists("")), clusters: clusters(free("east", both)), want: []string{"east/0 h"}},
		{
			id: "D12", d: tolerating(chat(1), existsFor("", modelplane.TaintEffectNoSchedule)), clusters: clusters(free("east", both), free("west")),
			want: []string{"west/0 h"},
		},
		{
			id: "the same key with both effects, NoSchedule tolerated", d: tolerating(chat(1), existsFor("acme.test/maint", modelplane.TaintEffectNoSchedule)),
			clusters: clusters(free("east", bothEffects), free("west")), replicas: replicas(on("east", 0)), want: []string{"west/0 h"},
		},
		{
			id: "D14 the same key with both effects, NoExecute tolerated", d: tolerating(chat(2), existsFor("acme.test/maint", modelplane.TaintEffectNoExecute)),
			clusters: clusters(free("east", bothEffects)), replicas: replicas(on("east", 0)), want: []string{"east/0 h"},
		},
		{
			id: "D15 nothing moves back", d: chat(2), clusters: clusters(free("east"), free("west")), replicas: replicas(on("west", 0), on("west", 1)),
			want: []string{"west/0 h", "west/1 h"},
		},
		{
			id: "D17", d: chat(2), clusters: clusters(free("east", tainted(retirement)), cluster("west", poolOf("h", 1))),
			replicas: replicas(on("east", 0), on("west", 0)), want: []string{"west/0 h"},
		},
		{
			id: "D18", d: chat(1), clusters: clusters(free("east", tainted(retirement)), free("west", tainted(maintenance))),
			replicas: replicas(on("east", 0)),
		},
		{
			id: "D20", d: chat(2), clusters: clusters(free("east", tainted(retirement)), free("north"), free("west")),
			replicas: replicas(on("east", 0), on("east", 1)), want: []string{"north/0 h", "west/0 h"},
		},
		{
			id: "D21 an unready cluster is drained too", d: chat(1), clusters: clusters(free("east", tainted(retirement), notReady), free("west")),
			replicas: replicas(on("east", 0)), want: []string{"west/0 h"},
		},
		{
			id: "D23", d: chat(1), clusters: clusters(cluster("east", poolOf("h", 2, gpuDevice(40)), poolOf("other", 2), tainted(maintenance))),
			replicas: replicas(on("east", 0)),
		},
		{
			id: "D24 any other effect means nothing", d: chat(1), clusters: clusters(free("east", tainted(taint("a", "", "PreferNoSchedule")))),
			want: []string{"east/0 h"},
		},
		{
			// The schema refuses two taints with one key and effect; where it is not there to do so, both count.
			id: "D26", d: tolerating(chat(1), modelplane.Toleration{Key: "k", Value: "a"}),
			clusters: clusters(free("east", tainted(taint("k", "a", modelplane.TaintEffectNoSchedule), taint("k", "b", modelplane.TaintEffectNoSchedule)))),
		},
	})
}

// V14: one selector that does not compile is an error before anything is placed, also where no cluster would match.
func TestInvalidSelectorBeforePlacement(t *testing.T) {
	m := NewMatcher()
	d := deployment("chat", 1, single("fine", askGPU(80)), single("broken", ask("gpu", 1, atLeast(80), "not ) valid (")))
	for _, published := range [][]modelplane.InferenceCluster{nil, clusters(cluster("east", poolOf("h", 2)))} {
		_, err := fleet{clusters: published}.reconcile(m, d)
		var invalid *InvalidSelectorError
		require.ErrorAs(t, err, &invalid)
		assert.Equal(t, InvalidSelectorError{
			Engine: "broken", Member: 0, Request: "gpu", Selector: 1, Expression: "not ) valid (", Err: invalid.Err,
		}, *invalid)
		assert.ErrorContains(t, err, "Syntax error")
		assert.LessOrEqual(t, len(invalid.Err.Error()), maxShownError)
	}
	east := cluster("east", poolOf("h", 2))
	decision, shortage := m.Place(RequirementsOf(d.Spec.Template.Spec.Engines), PreparePools(east.Status.GPUPools), func(string) int64 { return 9 })
	assert.Nil(t, decision)
	assert.Equal(t, &Shortage{Kind: InvalidSelector, Engine: "broken"}, shortage)
}
