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
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func TestReplicaCost(t *testing.T) {
	d := deployment("chat", 1,
		copies(2, engineOf("gang", leader(askGPU(80)), workers(3, askGPU(80)))),
		engineOf("thin", leader(), memberOf(modelplane.MemberRoleWorker, askGPU(80))),
		single("other", askGPU(80)),
	)
	replica := running(d, "east", 0, "a", "a", "b")
	assert.Equal(t, map[string]int64{"a": 2*4 + 1, "b": 1}, ReplicaCost(&replica.Spec))
	assert.Empty(t, ReplicaCost(&modelplane.ModelReplicaSpec{}))

	claim := []modelplane.ReplicaDeviceRequest{{Name: "gpu"}}
	huge := modelplane.ReplicaMember{
		Role: modelplane.MemberRoleWorker, NodePoolName: "a", Worker: &modelplane.WorkerGroup{Nodes: math.MaxInt32}, DeviceRequests: claim,
	}
	negative := modelplane.ReplicaMember{NodePoolName: "b", DeviceRequests: claim}
	assert.Equal(t, map[string]int64{"a": math.MaxInt64, "b": 1}, ReplicaCost(&modelplane.ModelReplicaSpec{Engines: []modelplane.ReplicaEngine{
		{Copies: ptr.To[int32](math.MaxInt32), Members: []modelplane.ReplicaMember{huge, huge, huge}},
		{Copies: ptr.To[int32](-3), Members: []modelplane.ReplicaMember{negative}},
	}}))
}

func assigned(d *modelplane.ModelDeployment, pools ...string) []evenkeel.EngineAssignment {
	replica := running(d, "east", 0, pools...)
	return AssignmentOf(replica.Spec.Engines)
}

func TestCost(t *testing.T) {
	m := NewMatcher()
	d := deployment("chat", 1,
		copies(2, engineOf("gang", leader(ask("fabric", 1, fabricIs("ib"))), workers(3, askGPU(80)))),
		single("other", askGPU(80)),
	)
	engines := RequirementsOf(d.Spec.Template.Spec.Engines)
	pools := prepared(poolOf("a", 1, gpuDevice(96), nic("ib")), poolOf("b", 1))
	assert.Equal(t, map[string]int64{"a": 6, "b": 1}, m.Cost(engines, assigned(d, "a", "b"), pools), "the leader claims nothing")
	assert.Equal(t, map[string]int64{"a": 6}, m.Cost(engines, assigned(d, "a", "gone"), pools), "a pool that is not published costs nothing")
	assert.Equal(t, map[string]int64{"b": 9}, m.Cost(engines, assigned(d, "b", "b"), pools), "a leader that does not match any more counts")
	assert.Empty(t, m.Cost(engines, assigned(d, "a", "b"), nil))

	reordered := assigned(d, "a", "b")
	reordered[0], reordered[1] = reordered[1], reordered[0]
	assert.Equal(t, map[string]int64{"a": 6, "b": 1}, m.Cost(engines, reordered, pools), "engines are known by name")
	short := assigned(d, "a", "b")
	short[0].Members = short[0].Members[:1]
	assert.Equal(t, map[string]int64{"b": 1}, m.Cost(engines, short, pools))
	strange := append(assigned(d, "a", "b"), evenkeel.EngineAssignment{Name: "unknown", Members: []evenkeel.MemberAssignment{{NodePoolName: "a"}}})
	strange[0].Members = append(strange[0].Members, evenkeel.MemberAssignment{NodePoolName: "a"})
	assert.Equal(t, map[string]int64{"a": 6, "b": 1}, m.Cost(engines, strange, pools))
}

// V1, V5: a claimed request carries name, class, count and selectors; a synthetic one is not among them.
func TestResolve(t *testing.T) {
	m := NewMatcher()
	d := deployment("chat", 1,
		engineOf("gang", leader(ask("fabric", 1, fabricIs("ib"))), workers(3, ask("gpu", 2, atLeast(80), "true"), ask("fabric", 1, fabricIs("ib")))),
		single("other", askGPU(80)),
	)
	engines := RequirementsOf(d.Spec.Template.Spec.Engines)
	device := deviceOf("gpu", 96, 8)
	device.DeviceClassName = "h100.acme.test"
	pools := prepared(poolOf("a", 1, device, nic("ib")), poolOf("b", 1))
	claims := func(class, name string, count int64, selectors ...string) []modelplane.ReplicaDeviceRequest {
		r := ask(name, count, selectors...)
		return []modelplane.ReplicaDeviceRequest{{Name: r.Name, DeviceClassName: class, Count: r.Count, Selectors: r.Selectors}}
	}
	want := [][][]modelplane.ReplicaDeviceRequest{
		{nil, claims("h100.acme.test", "gpu", 2, atLeast(80), "true")},
		{claims(testDriver, "gpu", 1, atLeast(80))},
	}
	got, err := m.Resolve(engines, assigned(d, "a", "b"), pools)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	got[0][1][0].Selectors[0].CEL, *got[0][1][0].Count = "changed", 99
	reordered := assigned(d, "a", "b")
	reordered[0], reordered[1] = reordered[1], reordered[0]
	got, err = m.Resolve(engines, reordered, pools)
	require.NoError(t, err)
	assert.Equal(t, want, got, "in the order of the requirements, and not shared")

	short := assigned(d, "a", "b")
	short[0].Members = short[0].Members[:1]
	misnamed := assigned(d, "a", "b")
	misnamed[1].Name = "x"
	for name, c := range map[string]struct {
		assigned []evenkeel.EngineAssignment
		message  string
	}{
		"too few engines": {assigned(d, "a", "b")[:1], "1 engines are assigned to pools, but the template has 2"},
		"other engine":    {misnamed, `engine "other" is not assigned to a pool`},
		"too few members": {short, `engine "gang": 1 members are assigned to pools, but the template has 2`},
		"pool gone":       {assigned(d, "a", "gone"), `engine "other", member 0: node pool "gone" is not published`},
		"no match":        {assigned(d, "b", "b"), `engine "gang", member 0: node pool "b" has no device left for request "fabric"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := m.Resolve(engines, c.assigned, pools)
			assert.EqualError(t, err, c.message)
		})
	}

	onlyFabric := deployment("chat", 1, single("main", ask("fabric", 1, fabricIs("ib"))))
	_, err = m.Resolve(RequirementsOf(onlyFabric.Spec.Template.Spec.Engines), assigned(onlyFabric, "a"), pools)
	assert.EqualError(t, err, `engine "main" claims no device on its node pools`)

	broken := deployment("chat", 1, single("main", ask("gpu", 1, "(")))
	var invalid *InvalidSelectorError
	_, err = m.Resolve(RequirementsOf(broken.Spec.Template.Spec.Engines), assigned(broken, "a"), pools)
	assert.ErrorAs(t, err, &invalid)
}
