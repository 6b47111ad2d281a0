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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func TestLedger(t *testing.T) {
	search := deployment("search", 1, single("main", askGPU(80)))
	gang := deployment("search", 1, copies(2, span(2)))
	thinLeader := deployment("search", 1, engineOf("main", leader(), workers(1, askGPU(80))))
	terminating := running(search, "east", 0, "h")
	terminating.DeletionTimestamp = &metav1.Time{}
	runCases(t, []fleetCase{
		{id: "L1", d: chat(1), clusters: clusters(cluster("east", poolOf("h", 1))), replicas: replicas(running(search, "east", 0, "h"))},
		{
			id: "L2 a pool that is gone charges nothing", d: chat(1), clusters: clusters(cluster("east", poolOf("n1", 1))),
			replicas: replicas(running(search, "east", 0, "gone")), want: []string{"east/0 n1"},
		},
		{
			// Modelplane gives index 1 again, whose ModelReplica still exists.
			id: "L4 ours: a fresh index for the one that moves", d: chat(2), clusters: clusters(cluster("east", poolOf("n1", 2))),
			replicas: replicas(running(chat(1), "east", 0, "n1"), running(chat(1), "east", 1, "gone")),
			want:     []string{"east/0 n1", "east/2 n1"},
		},
		{
			id: "L5 four nodes are taken of four", d: chat(1), clusters: clusters(cluster("east", poolOf("h", 4))),
			replicas: replicas(running(gang, "east", 0, "h")),
		},
		{
			id: "L5 four nodes are taken of five", d: chat(1), clusters: clusters(cluster("east", poolOf("h", 5))),
			replicas: replicas(running(gang, "east", 0, "h")), want: []string{"east/0 h"},
		},
		{
			id: "L7", d: chat(1), clusters: clusters(cluster("east", poolOf("h", 1), tainted(retirement)), cluster("west", poolOf("h", 1))),
			replicas: replicas(running(chat(1), "east", 0, "h")), want: []string{"west/0 h"},
		},
		{
			// Modelplane gives index 0 again, whose ModelReplica still exists.
			id: "L8 ours: onto the node it frees, with a fresh index", d: deployment("chat", 1, single("renamed", askGPU(80))),
			clusters: clusters(cluster("east", poolOf("h", 1))), replicas: replicas(running(chat(1), "east", 0, "h")),
			want: []string{"east/1 h"},
		},
		{
			id: "L10 a member that claims nothing costs nothing", d: chat(1), clusters: clusters(cluster("east", poolOf("h", 2))),
			replicas: replicas(running(thinLeader, "east", 0, "h")), want: []string{"east/0 h"},
		},
		{id: "L11 a terminating replica counts", d: chat(1), clusters: clusters(cluster("east", poolOf("h", 1))), replicas: replicas(terminating)},
	})
}

func TestDevicesAndPools(t *testing.T) {
	wants := func(requests ...modelplane.DeviceRequest) *modelplane.ModelDeployment {
		return deployment("chat", 1, single("main", requests...))
	}
	placedOn := func(pool string) []string { return []string{"east/0 " + pool} }
	eight := deviceOf("gpu", 96, 8)
	bigAndSmall := []modelplane.Device{deviceOf("big", 192, 1), deviceOf("small", 96, 1)}
	infiniband := ask("fabric", 1, fabricIs("ib"))
	east := func(options ...clusterOption) []modelplane.InferenceCluster {
		return clusters(cluster("east", options...))
	}
	noCount := gpuDevice(96)
	noCount.Count = nil
	runCases(t, []fleetCase{
		{id: "V1", d: wants(askGPU(80)), clusters: east(poolOf("n1", 2)), want: placedOn("n1")},
		{id: "V2", d: wants(askGPU(200)), clusters: east(poolOf("n1", 2))},
		{id: "V4 device count 0", d: chat(1), clusters: east(poolOf("h", 2, deviceOf("gpu", 96, 0)))},
		{id: "V4 device count -3", d: chat(1), clusters: east(poolOf("h", 2, deviceOf("gpu", 96, -3)))},
		{id: "V4 device count absent", d: chat(1), clusters: east(poolOf("h", 2, noCount))},
		{id: "V4 nodes 0", d: chat(1), clusters: east(poolOf("h", 0))},
		{id: "V4 nodes -3", d: chat(1), clusters: east(poolOf("h", -3))},
		{
			id: "V5 a synthetic device satisfies", d: wants(askGPU(80), infiniband),
			clusters: east(poolOf("h", 1, gpuDevice(96), nic("ib"))), want: placedOn("h"),
		},
		{id: "V7 two requests, one device", d: wants(askGPU(80), ask("second", 1, atLeast(80))), clusters: east(poolOf("h", 2))},
		{id: "V8 five and four of eight", d: wants(ask("a", 5, atLeast(80)), ask("b", 4, atLeast(80))), clusters: east(poolOf("h", 1, eight))},
		{
			id: "V8 six and two of eight", d: wants(ask("a", 6, atLeast(80)), ask("b", 2, atLeast(80))),
			clusters: east(poolOf("h", 1, eight)), want: placedOn("h"),
		},
		{
			id: "V10", d: wants(askGPU(80), infiniband),
			clusters: east(poolOf("d", 1, gpuDevice(96), nic("eth")), poolOf("f", 1, gpuDevice(96), nic("ib"))), want: placedOn("f"),
		},
		{id: "V11 nothing to claim", d: wants(infiniband), clusters: east(poolOf("f", 1, gpuDevice(96), nic("ib")))},
		{
			id: "V13 greedy, rejects wrongly", d: wants(ask("any", 1, atLeast(80)), ask("big", 1, atLeast(150))),
			clusters: east(poolOf("h", 1, bigAndSmall...)),
		},
		{
			id: "V13 the other order", d: wants(ask("big", 1, atLeast(150)), ask("any", 1, atLeast(80))),
			clusters: east(poolOf("h", 1, bigAndSmall...)), want: placedOn("h"),
		},
	})
}

func TestEnginesAndGangs(t *testing.T) {
	one := func(members ...modelplane.Member) *modelplane.ModelDeployment {
		return deployment("chat", 1, engineOf("main", members...))
	}
	two := func(a, b modelplane.DeviceRequest) *modelplane.ModelDeployment {
		return deployment("chat", 1, single("first", a), single("second", b))
	}
	small, big := gpuDevice(96), gpuDevice(192)
	east := func(options ...clusterOption) []modelplane.InferenceCluster {
		return clusters(cluster("east", options...))
	}
	mixed := func(nodesOfB int64) []modelplane.InferenceCluster {
		return east(poolOf("a", 2, small, synthetic(big)), poolOf("b", nodesOfB, big))
	}
	runCases(t, []fleetCase{
		{
			id: "G2 no single pool", d: one(leader(askGPU(150)), workers(1, ask("gpu", 1, lessThan(150)))),
			clusters: east(poolOf("small", 9, small), poolOf("big", 9, big)),
		},
		{
			id: "G3", d: deployment("chat", 1, span(2)),
			clusters: east(poolOf("small", 9, gpuDevice(40)), poolOf("big", 1, big)),
		},
		{id: "G5 no leader without a claim", d: one(leader(askGPU(150)), workers(1, askGPU(80))), clusters: mixed(2), want: []string{"east/0 b"}},
		{id: "G6 whatever is free", d: one(leader(askGPU(150)), workers(1, askGPU(80))), clusters: mixed(0)},
		{id: "G8", d: one(leader(askGPU(80)), workers(1, askGPU(200))), clusters: east(poolOf("h", 9))},
		{id: "G9 two nodes", d: one(leader(), workers(2, askGPU(80))), clusters: east(poolOf("n1", 2)), want: []string{"east/0 n1"}},
		{id: "G9 one node", d: one(leader(), workers(2, askGPU(80))), clusters: east(poolOf("n1", 1))},
		{id: "G11 one node", d: two(askGPU(80), askGPU(80)), clusters: east(poolOf("h", 1))},
		{id: "G11 two nodes", d: two(askGPU(80), askGPU(80)), clusters: east(poolOf("h", 2)), want: []string{"east/0 h"}},
		{
			id: "G11 two pools", d: two(askGPU(80), askGPU(80)), clusters: east(poolOf("a", 1), poolOf("b", 1)),
			want: []string{"east/0 a,b"},
		},
		{
			id: "G12", d: two(askGPU(150), ask("gpu", 1, lessThan(150))),
			clusters: east(poolOf("small", 1, small), poolOf("big", 1, big)), want: []string{"east/0 big,small"},
		},
		{id: "G14 greedy", d: two(askGPU(80), askGPU(150)), clusters: east(poolOf("big", 1, big), poolOf("small", 1, small))},
		{
			id: "G14 the other order", d: two(askGPU(150), askGPU(80)),
			clusters: east(poolOf("big", 1, big), poolOf("small", 1, small)), want: []string{"east/0 big,small"},
		},
		{
			id: "G15 a worker without its block", d: one(leader(), memberOf(modelplane.MemberRoleWorker, askGPU(80))),
			clusters: east(poolOf("h", 1)), want: []string{"east/0 h"},
		},
	})
}
