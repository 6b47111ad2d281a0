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
	"strconv"

	"pgregory.net/rapid"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// gen draws inputs. A tame one draws what schemas allow, from few values so that they meet; a wild one now and then
// draws anything that fits the types. Values that let more be placed are listed more often: else nearly every fleet
// would be one on which nothing fits.
type gen struct {
	*rapid.T
	wild bool
}

func (g gen) now(label string) bool {
	return g.wild && pick(g, label, false, false, false, false, false, true)
}

func pick[T any](g gen, label string, values ...T) T {
	return rapid.SampledFrom(values).Draw(g.T, label)
}

// many draws a list that is as long as one of lengths.
func many[T any](g gen, label string, draw func() T, lengths ...int) []T {
	var drawn []T
	for range pick(g, label, lengths...) {
		drawn = append(drawn, draw())
	}
	return drawn
}

func (g gen) text(label string, values ...string) string {
	if g.now("wild " + label) {
		return rapid.String().Draw(g.T, label)
	}
	return pick(g, label, values...)
}

func (g gen) count(label string, values ...int64) int64 {
	if g.now("wild " + label) {
		return rapid.Int64().Draw(g.T, label)
	}
	return pick(g, label, values...)
}

func (g gen) number(label string, values ...int32) int32 {
	if g.now("wild " + label) {
		return rapid.Int32().Draw(g.T, label)
	}
	return pick(g, label, values...)
}

func (g gen) device() modelplane.Device {
	d := modelplane.Device{
		Name:            g.text("device", "gpu", "nic"),
		Claim:           modelplane.DeviceClaim(g.text("claim", "", "DRA", "DRA", "DRA", "Synthetic")),
		Driver:          testDriver,
		DeviceClassName: testDriver,
		Capacity:        map[string]modelplane.DeviceCapacity{"memory": {Value: g.text("memory", "96Gi", "96Gi", "192Gi", "192Gi", "40Gi")}},
		Attributes:      map[string]modelplane.DeviceAttribute{"kind": {String: new(string)}},
	}
	*d.Attributes["kind"].String = g.text("kind", "ib", "ib", "eth")
	if pick(g, "count known", true, true, true, true, false) {
		count := g.count("device count", 8, 8, 2, 1, 0)
		d.Count = &count
	}
	if g.now("wild attribute") {
		d.Driver = rapid.String().Draw(g.T, "driver")
		version := rapid.StringMatching(`[0-9]{0,2}(\.[0-9]{0,2}){0,3}(-[a-z]*)?`).Draw(g.T, "version")
		d.Attributes[rapid.String().Draw(g.T, "attribute")] = modelplane.DeviceAttribute{Version: &version}
		d.Capacity[rapid.String().Draw(g.T, "capacity")] = modelplane.DeviceCapacity{
			Value: rapid.StringMatching(`-?[0-9]{0,3}\.?[0-9]{0,3}([kMGTPE]i?|m|[eE]-?[0-9]{1,12})?`).Draw(g.T, "quantity"),
		}
	}
	return d
}

func (g gen) pools() []modelplane.GPUPool {
	name := 'a' - 1
	return many(g, "pools", func() modelplane.GPUPool {
		name++
		return modelplane.GPUPool{
			Name:    g.text("pool", string(name)),
			Nodes:   g.count("nodes", 9, 9, 5, 5, 2, 1, 0),
			Devices: many(g, "devices", g.device, 1, 2, 2, 3, 3, 0),
		}
	}, 2, 3, 3, 4, 1, 0)
}

func (g gen) request() modelplane.DeviceRequest {
	r := modelplane.DeviceRequest{
		Name: g.text("request", "x", "y", "z"),
		Selectors: many(g, "selectors", func() modelplane.DeviceSelector {
			return modelplane.DeviceSelector{CEL: g.text("selector", atLeast(80), atLeast(80), atLeast(80), atLeast(80), "true",
				"true", "true", "true", atLeast(150), atLeast(150), lessThan(150), lessThan(150),
				`device.attributes["gpu.acme.test"].kind == "ib"`, `device.attributes["gpu.acme.test"].kind == "ib"`,
				`device.attributes["zzz"].x`, `quantity("10Mo").isInteger()`)}
		}, 1, 1, 1, 0, 2),
	}
	if rapid.Bool().Draw(g.T, "request counts") {
		count := g.count("request count", 1, 1, 1, 2, 3)
		r.Count = &count
	}
	return r
}

func (g gen) engines() []evenkeel.EngineRequirements {
	name, number, size := 0, []int{1, 1, 1, 2, 3}, []int{1, 1, 1, 2}
	if g.wild {
		number, size = append(number, 0), append(size, 0)
	}
	return many(g, "engines", func() evenkeel.EngineRequirements {
		name++
		return evenkeel.EngineRequirements{
			Name:   g.text("engine", "engine-"+strconv.Itoa(name)),
			Copies: g.number("copies", 1, 1, 1, 2),
			Members: many(g, "members", func() evenkeel.MemberRequirements {
				return evenkeel.MemberRequirements{
					Role:    modelplane.MemberRole(g.text("role", "", "Leader", "Worker")),
					Nodes:   g.number("member nodes", 1, 1, 1, 3),
					Devices: many(g, "requests", g.request, 1, 1, 1, 1, 2, 0),
				}
			}, size...),
		}
	}, number...)
}

func (g gen) taints() []modelplane.Taint {
	return many(g, "taints", func() modelplane.Taint {
		return modelplane.Taint{
			Key:    g.text("taint key", "a", "b"),
			Value:  g.text("taint value", "", "1"),
			Effect: modelplane.TaintEffect(g.text("taint effect", "NoSchedule", "NoExecute", "PreferNoSchedule")),
		}
	}, 0, 0, 0, 1, 2, 3)
}

func (g gen) tolerations() []modelplane.Toleration {
	return many(g, "tolerations", func() modelplane.Toleration {
		t := modelplane.Toleration{
			Key:      g.text("key", "a", "b", ""),
			Operator: modelplane.TolerationOperator(g.text("operator", "Exists", "Equal", "")),
			Value:    g.text("value", "", "1"),
			Effect:   modelplane.TaintEffect(g.text("effect", "", "NoSchedule", "NoExecute")),
		}
		if rapid.Bool().Draw(g.T, "for a time") {
			seconds := g.count("seconds", 0, 300)
			t.TolerationSeconds = &seconds
		}
		return t
	}, 1, 2, 3, 0)
}

// free draws how much of each pool is free, also of pools that are not there.
func (g gen) free() func(string) int64 {
	known := map[string]int64{}
	for _, pool := range []string{"a", "b", "c", "d"} {
		known[pool] = g.count("free", 9, 9, 4, 4, 2, 1, 0, -2)
	}
	other := g.count("free elsewhere", 3, 0)
	return func(pool string) int64 {
		if n, ok := known[pool]; ok {
			return n
		}
		return other
	}
}

// assigned draws an assignment that fits the requirements more often than not.
func (g gen) assigned(engines []evenkeel.EngineRequirements) []evenkeel.EngineAssignment {
	var drawn []evenkeel.EngineAssignment
	for i := range engines {
		if g.now("engine missing") {
			continue
		}
		a := evenkeel.EngineAssignment{Name: g.text("assigned engine", engines[i].Name)}
		for range engines[i].Members {
			a.Members = append(a.Members, evenkeel.MemberAssignment{NodePoolName: g.text("assigned pool", "a", "a", "b", "c", "gone")})
		}
		if g.now("one member more") {
			a.Members = append(a.Members, evenkeel.MemberAssignment{})
		}
		drawn = append(drawn, a)
	}
	return drawn
}
