//go:build integration

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

package manager

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/standin"
)

var (
	maintSoon = modelplane.Taint{Key: "acme.test/maint", Value: "soon", Effect: modelplane.TaintEffectNoSchedule}
	retire    = modelplane.Taint{Key: "acme.test/retire", Effect: modelplane.TaintEffectNoExecute}
	reserved  = modelplane.Taint{Key: "acme.test/res", Effect: modelplane.TaintEffectNoSchedule}
)

func exists(key string, effect ...modelplane.TaintEffect) modelplane.Toleration {
	t := modelplane.Toleration{Key: key, Operator: modelplane.TolerationOpExists}
	if len(effect) > 0 {
		t.Effect = effect[0]
	}
	return t
}

func equal(key, value string) modelplane.Toleration {
	return modelplane.Toleration{Key: key, Operator: modelplane.TolerationOpEqual, Value: value}
}

// gang is an engine of some copies, each on a leader's node and on some workers'.
func gang(copies, workers int32) modelplane.Engine {
	e := engine("main", atLeast80Gi)
	leader, worker := e.Members[0], e.Members[0]
	leader.Role, worker.Role = modelplane.MemberRoleLeader, modelplane.MemberRoleWorker
	worker.Worker = &modelplane.WorkerGroup{Nodes: workers}
	e.Copies, e.Members = &copies, []modelplane.Member{leader, worker}
	return e
}

// have makes chat's replicas that were there before: "east/0(h)".
func (w *world) have(places ...string) {
	w.t.Helper()
	for _, place := range places {
		at, onPool, _ := strings.Cut(strings.TrimSuffix(place, ")"), "(")
		cluster, index, _ := strings.Cut(at, "/")
		w.existing("chat", cluster, int32(index[0]-'0'), onPool)
	}
}

// TestCompatibilityCases runs the cases of scaling, retaining and draining with the binaries that users run. Where a
// result is not Modelplane's, the case says why.
func TestCompatibilityCases(t *testing.T) {
	w := newWorld(t, standin.Options{})
	for _, tc := range []struct {
		id    string
		given func(*world)
		want  string
	}{
		{"P1", func(w *world) { w.deploy("chat", 1) }, ""},
		{"P2", func(w *world) { w.cluster("east", 2); w.deploy("chat", 1) }, "chat@east/0(h)"},
		{"P7", func(w *world) {
			w.cluster("east", 5)
			w.cluster("west", 6)
			w.deploy("chat", 1, engines(gang(2, 2)))
		}, "chat@west/0(h)"},
		{"P8", func(w *world) {
			w.cluster("west", 2)
			w.cluster("east", 2)
			w.cluster("north", 2)
			w.deploy("chat", 2)
		}, "chat@east/0(h) chat@north/0(h)"},
		// Modelplane drops a replica whose cluster publishes nothing. Evenkeel keeps what runs: the cluster is not Ready.
		{"P10", func(w *world) { w.cluster("east", 2, noStatus); w.have("east/0(h)"); w.deploy("chat", 1) }, "chat@east/0(h)"},
		{"S1", func(w *world) { w.cluster("east", 2); w.deploy("chat", 2) }, "chat@east/0(h) chat@east/1(h)"},
		{"S3", func(w *world) {
			w.cluster("east", 5)
			w.cluster("west", 5)
			w.deploy("chat", 3)
		}, "chat@east/0(h) chat@east/1(h) chat@west/0(h)"},
		{"S4", func(w *world) {
			w.cluster("east", 5)
			w.cluster("west", 1)
			w.deploy("chat", 4)
		}, "chat@east/0(h) chat@east/1(h) chat@east/2(h) chat@west/0(h)"},
		{"S6", func(w *world) { w.cluster("east", 5); w.have("east/0(h)", "east/2(h)"); w.deploy("chat", 3) },
			"chat@east/0(h) chat@east/1(h) chat@east/2(h)"},
		{"S7", func(w *world) {
			w.cluster("east", 9)
			w.cluster("north", 9)
			w.cluster("west", 9)
			w.have("west/0(h)", "west/1(h)")
			w.deploy("chat", 4)
		}, "chat@east/0(h) chat@north/0(h) chat@west/0(h) chat@west/1(h)"},

		{"S9", func(w *world) {
			w.cluster("east", 0, pools(pool("a", 1), pool("b", 2)))
			w.deploy("chat", 3)
		}, "chat@east/0(a) chat@east/1(b) chat@east/2(b)"},

		{"C1", func(w *world) {
			w.cluster("east", 2)
			w.cluster("west", 2)
			w.have("east/0(h)", "east/1(h)", "west/0(h)")
			w.deploy("chat", 2)
		}, "chat@east/0(h) chat@west/0(h)"},
		{"C3", func(w *world) {
			w.cluster("east", 2)
			w.cluster("west", 2)
			w.have("west/0(h)", "east/0(h)")
			w.deploy("chat", 1)
		}, "chat@east/0(h)"},
		{"C4", func(w *world) {
			w.cluster("east", 2)
			w.cluster("west", 2)
			w.have("east/0(h)", "east/1(h)", "west/0(h)", "west/1(h)")
			w.deploy("chat", 2)
		}, "chat@east/0(h) chat@west/0(h)"},
		{"C6", func(w *world) {
			w.cluster("east", 2, taints(retire))
			w.cluster("west", 2)
			w.have("east/0(h)", "west/0(h)")
			w.deploy("chat", 1)
		}, "chat@west/0(h)"},
		// Modelplane does not look at health and keeps east/0. Evenkeel drops the one that is on a cluster in trouble.
		{"C7", func(w *world) {
			w.cluster("east", 2, notReady, noGateway)
			w.cluster("west", 2)
			w.have("east/0(h)", "west/0(h)")
			w.deploy("chat", 1)
		}, "chat@west/0(h)"},

		{"T2", func(w *world) { w.cluster("east", 2, notReady, noGateway); w.have("east/0(h)"); w.deploy("chat", 1) }, "chat@east/0(h)"},
		{"T3", func(w *world) { w.cluster("west", 2); w.have("east/0(h)"); w.deploy("chat", 1) }, "chat@west/0(h)"},
		{"T5", func(w *world) { w.cluster("east", 3); w.have("east/0(h)", "east/1(h)"); w.deploy("chat", 2) }, "chat@east/0(h) chat@east/1(h)"},
		{"T6", func(w *world) {
			w.cluster("east", 0, pools(pool("p1", 1), pool("p2", 1)))
			w.existing("chat", "east", 0, "p2", named("chat-east-0-copy"))
			w.existing("chat", "east", 0, "p1", named("chat-east-0"))
			w.deploy("chat", 1)
		}, "chat@east/0(p1)"},
		{"T8", func(w *world) {
			w.cluster("east", 4)
			w.existing("chat", "east", 0, "h", named("a"))
			w.existing("chat", "east", 1, "h", named("b"), indexLabel("two"))
			w.deploy("chat", 2)
		}, "chat@east/0(h) chat@east/1(h)"},
		// Modelplane uses index 0 again. Evenkeel's replacement has a place before the old one goes, so it has another index.
		{"T9", func(w *world) {
			w.cluster("east", 0, pools(pool("n1", 2)))
			w.have("east/0(gone)")
			w.deploy("chat", 1)
		}, "chat@east/1(n1)"},
		{"T11", func(w *world) { w.cluster("east", 0); w.have("east/0(h)"); w.deploy("chat", 1) }, "chat@east/0(h)"},
		// The index, as in T9.
		{"T12", func(w *world) {
			w.cluster("east", 2)
			w.have("east/0(h)")
			w.deploy("chat", 1, engines(engine("e2", atLeast80Gi)))
		}, "chat@east/1(h)"},
		{"T15", func(w *world) {
			w.cluster("east", 1)
			w.have("east/0(h)")
			more := engine("main", atLeast80Gi)
			more.Copies = ptr.To[int32](3)
			w.deploy("chat", 1, engines(more))
		}, "chat@east/0(h)"},
		{"T17 first pool", func(w *world) {
			w.cluster("east", 0, pools(pool("a", 1), pool("b", 1)))
			w.have("east/0(a)")
			w.deploy("chat", 1)
		}, "chat@east/0(a)"},
		{"T17 second pool", func(w *world) {
			w.cluster("east", 0, pools(pool("a", 1), pool("b", 1)))
			w.have("east/0(b)")
			w.deploy("chat", 1)
		}, "chat@east/0(b)"},
		// The index, as in T9.
		{"T18", func(w *world) {
			small := pool("a", 1)
			small.Devices = []modelplane.Device{device("gpu", "40Gi")}
			w.cluster("east", 0, pools(small, pool("b", 1)))
			w.have("east/0(a)")
			w.deploy("chat", 1)
		}, "chat@east/1(b)"},
		{"T20", func(w *world) {
			w.cluster("east", 2)
			w.cluster("west", 2, labels(map[string]string{"tier": "a"}))
			w.have("east/0(h)")
			w.deploy("chat", 1, selector(map[string]string{"tier": "a"}))
		}, "chat@west/0(h)"},

		{"L1", func(w *world) {
			w.cluster("east", 1)
			w.existing("search", "east", 0, "h")
			w.deploy("chat", 1)
		}, "search@east/0(h)"},
		{"L2", func(w *world) {
			w.cluster("east", 0, pools(pool("n1", 1)))
			w.existing("search", "east", 0, "gone")
			w.deploy("chat", 1)
		}, "chat@east/0(n1) search@east/0(gone)"},
		// The index, as in T9.
		{"L4", func(w *world) {
			w.cluster("east", 0, pools(pool("n1", 2)))
			w.have("east/0(n1)", "east/1(gone)")
			w.deploy("chat", 2)
		}, "chat@east/0(n1) chat@east/2(n1)"},
		{"L7", func(w *world) {
			w.cluster("east", 1, taints(retire))
			w.cluster("west", 1)
			w.have("east/0(h)")
			w.deploy("chat", 1)
		}, "chat@west/0(h)"},
		// The index, as in T9.
		{"L8", func(w *world) {
			w.cluster("east", 1)
			w.have("east/0(h)")
			w.deploy("chat", 1, engines(engine("e2", atLeast80Gi)))
		}, "chat@east/1(h)"},

		{"V10 the pool with the right device", func(w *world) {
			weak := pool("d", 1)
			weak.Devices = []modelplane.Device{device("gpu", "40Gi")}
			w.cluster("east", 0, pools(weak, pool("f", 1)))
			w.deploy("chat", 1)
		}, "chat@east/0(f)"},
		{"G11 one node", func(w *world) {
			w.cluster("east", 1)
			w.deploy("chat", 1, engines(engine("first", atLeast80Gi), engine("second", atLeast80Gi)))
		}, ""},
		{"G11 two pools", func(w *world) {
			w.cluster("east", 0, pools(pool("a", 1), pool("b", 1)))
			w.deploy("chat", 1, engines(engine("first", atLeast80Gi), engine("second", atLeast80Gi)))
		}, "chat@east/0(a,b)"},

		{"D1", func(w *world) { w.cluster("east", 2, taints(maintSoon)); w.deploy("chat", 1) }, ""},
		{"D2", func(w *world) { w.cluster("east", 4, taints(maintSoon)); w.have("east/0(h)"); w.deploy("chat", 2) }, "chat@east/0(h)"},
		{"D3", func(w *world) {
			w.cluster("east", 2, taints(maintSoon))
			w.deploy("chat", 1, tolerations(exists("acme.test/maint")))
		}, "chat@east/0(h)"},
		{"D4", func(w *world) {
			w.cluster("east", 2, taints(retire))
			w.cluster("west", 2)
			w.have("east/0(h)")
			w.deploy("chat", 1)
		}, "chat@west/0(h)"},
		{"D5", func(w *world) {
			w.cluster("east", 2, taints(retire))
			w.cluster("west", 2)
			w.have("east/0(h)")
			w.deploy("chat", 1, tolerations(exists("acme.test/retire")))
		}, "chat@east/0(h)"},
		{"D6", func(w *world) { w.cluster("east", 2, taints(retire)); w.have("east/0(h)"); w.deploy("chat", 1) }, ""},
		{"D8", func(w *world) {
			w.cluster("east", 2, taints(maintSoon, reserved))
			w.cluster("west", 2)
			w.deploy("chat", 1, tolerations(exists("acme.test/maint")))
		}, "chat@west/0(h)"},
		{"D9 equal", func(w *world) {
			w.cluster("east", 2, taints(maintSoon))
			w.deploy("chat", 1, tolerations(equal("acme.test/maint", "soon")))
		}, "chat@east/0(h)"},
		{"D9 other value", func(w *world) {
			w.cluster("east", 2, taints(maintSoon))
			w.deploy("chat", 1, tolerations(equal("acme.test/maint", "later")))
		}, ""},
		{"D9 no value", func(w *world) {
			w.cluster("east", 2, taints(maintSoon))
			w.deploy("chat", 1, tolerations(equal("acme.test/maint", "")))
		}, ""},
		{"D9 no operator", func(w *world) {
			w.cluster("east", 2, taints(maintSoon))
			w.deploy("chat", 1, tolerations(modelplane.Toleration{Key: "acme.test/maint", Value: "soon"}))
		}, "chat@east/0(h)"},
		{"D11", func(w *world) {
			w.cluster("east", 2, taints(maintSoon, retire))
			w.deploy("chat", 1, tolerations(exists("")))
		}, "chat@east/0(h)"},
		{"D12", func(w *world) {
			w.cluster("east", 2, taints(maintSoon, retire))
			w.cluster("west", 2)
			w.deploy("chat", 1, tolerations(exists("", modelplane.TaintEffectNoSchedule)))
		}, "chat@west/0(h)"},
		{"D14", func(w *world) {
			w.cluster("east", 2, taints(maintSoon, retire))
			w.cluster("west", 2)
			w.have("east/0(h)")
			w.deploy("chat", 2, tolerations(exists("", modelplane.TaintEffectNoExecute)))
		}, "chat@east/0(h) chat@west/0(h)"},
		{"D15", func(w *world) {
			w.cluster("east", 2)
			w.cluster("west", 2)
			w.have("west/0(h)", "west/1(h)")
			w.deploy("chat", 2)
		}, "chat@west/0(h) chat@west/1(h)"},
		{"D17", func(w *world) {
			w.cluster("east", 2, taints(retire))
			w.cluster("west", 1)
			w.have("east/0(h)", "west/0(h)")
			w.deploy("chat", 2)
		}, "chat@west/0(h)"},
		{"D18", func(w *world) {
			w.cluster("east", 2, taints(retire))
			w.cluster("west", 2, taints(maintSoon))
			w.have("east/0(h)")
			w.deploy("chat", 1)
		}, ""},
		{"D20", func(w *world) {
			w.cluster("east", 2, taints(retire))
			w.cluster("north", 2)
			w.cluster("west", 2)
			w.have("east/0(h)", "east/1(h)")
			w.deploy("chat", 2)
		}, "chat@north/0(h) chat@west/0(h)"},
		{"D21", func(w *world) {
			w.cluster("east", 2, taints(retire), notReady, noGateway)
			w.cluster("west", 2)
			w.have("east/0(h)")
			w.deploy("chat", 1)
		}, "chat@west/0(h)"},
		// A pool that is lost under a NoSchedule taint: the replica cannot come back to the cluster.
		{"D23", func(w *world) {
			w.cluster("east", 0, taints(maintSoon), pools(pool("n1", 2)))
			w.have("east/0(gone)")
			w.deploy("chat", 1)
		}, ""},

		{"F1", func(w *world) { w.cluster("east", 2); w.deploy("chat", 1, cachedBy("none")) }, ""},
		{"F2", func(w *world) { w.cluster("east", 2); w.have("east/0(h)"); w.deploy("chat", 1, cachedBy("none")) }, "chat@east/0(h)"},
		{"F3", func(w *world) { w.cluster("east", 5); w.have("east/0(h)"); w.deploy("chat", 3, cachedBy("none")) }, "chat@east/0(h)"},
		{"F4", func(w *world) {
			w.cluster("east", 5)
			w.have("east/0(h)", "east/1(h)")
			w.deploy("chat", 1, cachedBy("none"))
		}, "chat@east/0(h)"},
		{"F5", func(w *world) {
			w.cluster("east", 2, taints(retire))
			w.cluster("west", 2)
			w.have("east/0(h)")
			w.deploy("chat", 1, cachedBy("none"))
		}, ""},
	} {
		w.run(tc.id, func(w *world) {
			tc.given(w)
			w.stays(strings.Fields(tc.want)...)
		})
	}
}

// TestTerminatingReplicaHoldsItsNodes is case L11: what is being deleted runs until its object is gone.
func TestTerminatingReplicaHoldsItsNodes(t *testing.T) {
	w := newWorld(t, standin.Options{})
	w.cluster("east", 1)
	other := w.existing("other", "east", 0, "h", func(r *modelplane.ModelReplica) { r.Finalizers = []string{"acme.test/hold"} })
	require.NoError(t, hub.Client.Delete(w.ctx, other))
	w.deploy("chat", 1)
	w.expectCondition("chat", replicasScheduled, metav1.ConditionFalse, "InsufficientCapacity", "0 of 1 replicas scheduled (checked 1 clusters): 0/1 clusters are available: ...")
	w.expect("other@east/0(h) terminating")

	w.release(w.ctx, other)

	w.stays("chat@east/0(h)")
}

// TestSchemaRefusals are the cases in which the API server itself refuses.
func TestSchemaRefusals(t *testing.T) {
	w := newIdleWorld(t)
	w.refuses("D24", taints(modelplane.Taint{Key: "k", Effect: "PreferNoSchedule"}))
	w.refuses("D26", taints(
		modelplane.Taint{Key: "k", Value: "a", Effect: modelplane.TaintEffectNoSchedule},
		modelplane.Taint{Key: "k", Value: "b", Effect: modelplane.TaintEffectNoSchedule},
	))
}
