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

func prepared(options ...clusterOption) *Pools {
	c := cluster("east", options...)
	return PreparePools(c.Status.GPUPools)
}

// freeOf counts pools that are not named as full of nodes.
func freeOf(nodes map[string]int64) func(string) int64 {
	return func(pool string) int64 {
		if n, known := nodes[pool]; known {
			return n
		}
		return math.MaxInt64
	}
}

func TestDecision(t *testing.T) {
	m := NewMatcher()
	engines := RequirementsOf([]modelplane.Engine{
		copies(2, engineOf("prefill", leader(askGPU(150)), workers(3, askGPU(80)))),
		single("decode", askGPU(80)),
		single("draft", askGPU(80)),
	})
	pools := prepared(poolOf("small", 9), poolOf("big", 9, gpuDevice(192)))
	decision, shortage := m.Place(engines, pools, freeOf(map[string]int64{"small": 1, "big": 9}))
	require.Nil(t, shortage)
	assign := func(name string, pools ...string) evenkeel.EngineAssignment {
		a := evenkeel.EngineAssignment{Name: name}
		for _, pool := range pools {
			a.Members = append(a.Members, evenkeel.MemberAssignment{NodePoolName: pool})
		}
		return a
	}
	assert.Equal(t, &Decision{
		Engines: []evenkeel.EngineAssignment{assign("prefill", "big", "big"), assign("decode", "small"), assign("draft", "big")},
		Cost:    map[string]int64{"big": 9, "small": 1},
	}, decision)

	again, _ := m.Place(engines, pools, freeOf(map[string]int64{"small": 1, "big": 100}))
	assert.Same(t, decision, again, "equal decisions are shared")
	other, _ := m.Place(engines, pools, freeOf(map[string]int64{"small": 2, "big": 8}))
	assert.Equal(t, map[string]int64{"big": 8, "small": 2}, other.Cost, "and only equal ones")
	once, _ := m.Place(engines, pools, freeOf(map[string]int64{"small": 1, "big": 9}))
	assert.Equal(t, decision, once)
}

func TestShortages(t *testing.T) {
	fabric := ask("fabric", 1, fabricIs("ib"))
	gang := engineOf("main", leader(askGPU(150)), workers(3, askGPU(80)))
	for _, c := range []struct {
		name    string
		engines []modelplane.Engine
		pools   *Pools
		free    map[string]int64
		want    Shortage
	}{
		{
			"no pools", []modelplane.Engine{single("main", askGPU(80))}, nil, nil,
			Shortage{Kind: NoMatchingPool, Engine: "main"},
		},
		{
			"no engines", nil, prepared(poolOf("h", 1)), nil,
			Shortage{Kind: NothingToClaim},
		},
		{
			"the pool that meets most requests", []modelplane.Engine{single("main", ask("a", 1, "true"), ask("b", 1, atLeast(80)), fabric)},
			prepared(poolOf("none", 1, gpuDevice(40)), poolOf("one", 1, gpuDevice(96)), poolOf("two", 1, deviceOf("gpu", 96, 2)), poolOf("two-too", 1, deviceOf("gpu", 96, 3))), nil,
			Shortage{Kind: NoMatchingPool, Engine: "main", Pool: "two", Request: "fabric"},
		},
		{
			"the first request that is not met",
			[]modelplane.Engine{engineOf("main", leader(ask("big", 1, atLeast(200))), workers(1, ask("bigger", 1, atLeast(300))))},
			prepared(poolOf("h", 1)), nil,
			Shortage{Kind: NoMatchingPool, Engine: "main", Pool: "h", Request: "big"},
		},
		{
			"a member would claim nothing in the only pool that matches all",
			[]modelplane.Engine{engineOf("main", leader(askGPU(150)), workers(1, ask("gpu", 1, lessThan(150))))},
			prepared(poolOf("mixed", 1, gpuDevice(96), synthetic(gpuDevice(192))), poolOf("big", 1, gpuDevice(192))), nil,
			Shortage{Kind: NoMatchingPool, Engine: "main", Pool: "mixed"},
		},
		{
			"nothing to claim", []modelplane.Engine{single("main", fabric)}, prepared(poolOf("eth", 1, nic("eth")), poolOf("f", 1, nic("ib"))), nil,
			Shortage{Kind: NothingToClaim, Engine: "main", Pool: "f"},
		},
		{
			"an engine that requests nothing", []modelplane.Engine{single("main")}, prepared(poolOf("h", 1)), nil,
			Shortage{Kind: NothingToClaim, Engine: "main", Pool: "h"},
		},
		{
			"the pool that lacks fewest", []modelplane.Engine{copies(4, single("main", askGPU(80)))},
			prepared(poolOf("a", 9), poolOf("b", 5), poolOf("c", 7)), map[string]int64{"a": 1, "b": 2, "c": 2},
			Shortage{Kind: NotEnoughNodes, Engine: "main", Pool: "b", Need: 4, Free: 2, Nodes: 5},
		},
		{
			"less than none is none", []modelplane.Engine{single("main", askGPU(80))},
			prepared(poolOf("a", 1), poolOf("b", 2)), map[string]int64{"a": -7, "b": math.MinInt64},
			Shortage{Kind: NotEnoughNodes, Engine: "main", Pool: "a", Need: 1, Free: 0, Nodes: 1},
		},
		{
			"with what the replica's other engines take", []modelplane.Engine{gang, single("decode", askGPU(150))},
			prepared(poolOf("h", 9), poolOf("big", 4, gpuDevice(192))), map[string]int64{"big": 4},
			Shortage{Kind: NotEnoughNodes, Engine: "decode", Pool: "big", Need: 5, Free: 4, Nodes: 4},
		},
		{
			"what never fits comes before what is full", []modelplane.Engine{single("first", askGPU(80)), single("second", askGPU(200))},
			prepared(poolOf("h", 1)), map[string]int64{"h": 0},
			Shortage{Kind: NoMatchingPool, Engine: "second", Pool: "h", Request: "gpu"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := NewMatcher()
			for range 2 {
				decision, shortage := m.Place(RequirementsOf(c.engines), c.pools, freeOf(c.free))
				assert.Nil(t, decision)
				assert.Equal(t, &c.want, shortage)
			}
		})
	}
}

// What costs more than a number can hold must not become cheap.
func TestHugeCosts(t *testing.T) {
	huge := evenkeel.MemberRequirements{Nodes: math.MaxInt32, Devices: []modelplane.DeviceRequest{askGPU(80)}}
	engines := []evenkeel.EngineRequirements{
		{Name: "a", Copies: math.MaxInt32, Members: []evenkeel.MemberRequirements{huge, huge}},
		{Name: "b", Copies: math.MaxInt32, Members: []evenkeel.MemberRequirements{huge, huge}},
	}
	m := NewMatcher()
	pools := prepared(poolOf("h", 1))
	decision, shortage := m.Place(engines, pools, freeOf(map[string]int64{"h": math.MaxInt64 - 1}))
	assert.Nil(t, decision)
	assert.Equal(t, &Shortage{Kind: NotEnoughNodes, Engine: "b", Pool: "h", Need: math.MaxInt64, Free: math.MaxInt64 - 1, Nodes: 1}, shortage)

	none := RequirementsOf([]modelplane.Engine{single("main", askGPU(80))})
	none[0].Copies, none[0].Members[0].Nodes, none[0].Members[0].Devices[0].Count = -1, 0, ptr.To[int64](-5)
	decision, _ = m.Place(none, pools, freeOf(map[string]int64{"h": 1}))
	assert.Equal(t, map[string]int64{"h": 1}, decision.Cost, "bad numbers count as one")
	resolved, err := m.Resolve(none, decision.Engines, pools)
	require.NoError(t, err)
	assert.EqualValues(t, 1, *resolved[0][0][0].Count)
	decision, _ = m.Place(none, pools, freeOf(map[string]int64{"h": 0}))
	assert.Nil(t, decision)
	none[0].Members[0].Devices = append(none[0].Members[0].Devices, ask("second", 1, "true"))
	_, shortage = m.Place(none, pools, freeOf(nil))
	assert.Equal(t, NoMatchingPool, shortage.Kind, "less than none of a device does not make more of it")
}

// More pools and engines than the schemas allow.
func TestManyPools(t *testing.T) {
	var options []clusterOption
	var engines []modelplane.Engine
	for i := range 20 {
		name := string(rune('a' + i))
		options = append(options, poolOf(name, 1))
		engines = append(engines, single(name, askGPU(80)))
	}
	decision, shortage := NewMatcher().Place(RequirementsOf(engines), prepared(options...), func(string) int64 { return 1 })
	require.Nil(t, shortage)
	assert.Len(t, decision.Cost, 20)
}

// Everything of a template that a decision depends on must tell templates apart.
func TestTemplatesAreToldApart(t *testing.T) {
	base := func() []evenkeel.EngineRequirements {
		return RequirementsOf([]modelplane.Engine{engineOf("main", leader(askGPU(80)), workers(2, ask("a", 1, "true", "!false"), ask("b", 1, "true")))})
	}
	keys := map[string]string{string(appendEngines(nil, base())): "base"}
	for name, change := range map[string]func([]evenkeel.EngineRequirements) []evenkeel.EngineRequirements{
		"engine name": func(e []evenkeel.EngineRequirements) []evenkeel.EngineRequirements { e[0].Name = "x"; return e },
		"copies":      func(e []evenkeel.EngineRequirements) []evenkeel.EngineRequirements { e[0].Copies = 2; return e },
		"nodes": func(e []evenkeel.EngineRequirements) []evenkeel.EngineRequirements {
			e[0].Members[1].Nodes = 3
			return e
		},
		"role": func(e []evenkeel.EngineRequirements) []evenkeel.EngineRequirements {
			e[0].Members[1].Role = "x"
			return e
		},
		"one member": func(e []evenkeel.EngineRequirements) []evenkeel.EngineRequirements {
			e[0].Members = e[0].Members[:1]
			return e
		},
		"two engines": func(e []evenkeel.EngineRequirements) []evenkeel.EngineRequirements { return append(e, e[0]) },
		"request name": func(e []evenkeel.EngineRequirements) []evenkeel.EngineRequirements {
			e[0].Members[1].Devices[0].Name = "x"
			return e
		},
		"request count": func(e []evenkeel.EngineRequirements) []evenkeel.EngineRequirements {
			*e[0].Members[1].Devices[0].Count = 2
			return e
		},
		"selector": func(e []evenkeel.EngineRequirements) []evenkeel.EngineRequirements {
			e[0].Members[1].Devices[0].Selectors[0].CEL = "false"
			return e
		},
		"a selector that belongs to the other request": func(e []evenkeel.EngineRequirements) []evenkeel.EngineRequirements {
			d := e[0].Members[1].Devices
			d[0].Selectors, d[1].Selectors = d[0].Selectors[:1], append(d[0].Selectors[1:2:2], d[1].Selectors...)
			return e
		},
	} {
		key := string(appendEngines(nil, change(base())))
		other, found := keys[key]
		assert.False(t, found, "%s and %s", name, other)
		keys[key] = name
	}
}
