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
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// E20: a device with one malformed value satisfies no selector, not even one that does not read it.
func TestMalformedDevices(t *testing.T) {
	m := NewMatcher()
	const reads = `device.driver == "gpu.acme.test"`
	assert.Equal(t, yes, judge(m, novaDevice(), reads))
	attribute := func(a modelplane.DeviceAttribute) modelplane.Device {
		d := novaDevice()
		d.Attributes["x"] = a
		return d
	}
	capacity := func(value string) modelplane.Device {
		d := novaDevice()
		d.Capacity["x"] = modelplane.DeviceCapacity{Value: value}
		return d
	}
	for name, d := range map[string]modelplane.Device{
		"version of two parts":       attribute(modelplane.DeviceAttribute{Version: ptr.To("9.0")}),
		"no value":                   attribute(modelplane.DeviceAttribute{}),
		"two values":                 attribute(modelplane.DeviceAttribute{String: ptr.To("a"), Int: ptr.To[int64](1)}),
		"four values":                attribute(modelplane.DeviceAttribute{String: ptr.To("a"), Int: ptr.To[int64](1), Bool: ptr.To(true), Version: ptr.To("1.0.0")}),
		"quantity without a unit":    capacity("10Mo"),
		"empty quantity":             capacity(""),
		"quantity out of all bounds": capacity("1e-100000000"),
		"huge quantity":              capacity("1e100000000"),
	} {
		assert.Equal(t, no, judge(m, d, reads), name)
	}
	for name, d := range map[string]modelplane.Device{
		"empty string": attribute(modelplane.DeviceAttribute{String: ptr.To("")}),
		"zero":         attribute(modelplane.DeviceAttribute{Int: ptr.To[int64](0)}),
		"false":        attribute(modelplane.DeviceAttribute{Bool: ptr.To(false)}),
		"large":        capacity("256E"),
	} {
		assert.Equal(t, yes, judge(m, d, reads), name)
	}

	// A request without selectors asks nothing of the device but its count.
	d := attribute(modelplane.DeviceAttribute{Version: ptr.To("9.0")})
	pools := PreparePools([]modelplane.GPUPool{{Name: "h", Nodes: 1, Devices: []modelplane.Device{d}}})
	decision, _ := m.Place(RequirementsOf([]modelplane.Engine{single("main", ask("any", 1))}), pools, func(string) int64 { return 1 })
	assert.NotNil(t, decision)
}

func TestDomains(t *testing.T) {
	m := NewMatcher()
	both := novaDevice()
	both.Attributes["gpu.acme.test/arch"] = modelplane.DeviceAttribute{String: ptr.To("Qualified")}
	both.Capacity["gpu.acme.test/memory"] = modelplane.DeviceCapacity{Value: "1Gi"}
	for range 20 { // the order of a map must not decide
		assert.Equal(t, yes, judge(m, both, `A.arch == "Qualified" && M.compareTo(quantity("1Gi")) == 0`))
	}
	both.Attributes["arch"] = modelplane.DeviceAttribute{}
	assert.Equal(t, no, judge(m, both, `A.arch == "Qualified"`), "a shadowed value must be well formed too")

	capacity := novaDevice()
	capacity.Capacity["topo.acme.test/lanes/x"] = modelplane.DeviceCapacity{Value: "16"}
	assert.Equal(t, yes, judge(m, capacity, `device.capacity["topo.acme.test"]["lanes/x"] == quantity("16")`))

	noDriver := novaDevice()
	noDriver.Driver = ""
	assert.Equal(t, yes, judge(m, noDriver, `device.driver == "" && device.attributes[""].arch == "Nova"`))
}

// CEL's add changes the big number that a large quantity refers to; the next evaluation must not see that.
func TestEvaluationLeavesDevicesAlone(t *testing.T) {
	m := NewMatcher()
	published := novaDevice()
	published.Capacity["memory"] = modelplane.DeviceCapacity{Value: "256000000000000000001"}
	d := prepareDevice(&published)
	p := m.program(`device.capacity["gpu.acme.test"].memory.add(quantity("1")) == quantity("256000000000000000002")`)
	for range 3 {
		budget := uint64(1000)
		assert.True(t, p.matches(&d, &budget))
	}
}

func TestPreparePools(t *testing.T) {
	published := []modelplane.GPUPool{
		{Name: "b", Nodes: 3, Devices: []modelplane.Device{gpuDevice(96)}},
		{Name: "a", Nodes: -3},
		{Name: "b", Nodes: 100},
	}
	pools := PreparePools(published)
	assert.Equal(t, []string{"b", "a"}, pools.Names(), "published order, and the first of a name")
	for _, c := range []struct {
		name  string
		nodes int64
		ok    bool
	}{{"b", 3, true}, {"a", 0, true}, {"c", 0, false}, {"", 0, false}} {
		nodes, ok := pools.Nodes(c.name)
		assert.Equal(t, c.nodes, nodes, c.name)
		assert.Equal(t, c.ok, ok, c.name)
	}

	for count, want := range map[*int64]int64{nil: 0, ptr.To[int64](-3): 0, ptr.To[int64](0): 0, ptr.To[int64](8): 8} {
		assert.Equal(t, want, prepareDevice(&modelplane.Device{Count: count}).count)
	}

	var none *Pools
	assert.Empty(t, none.Names())
	_, ok := none.Nodes("a")
	assert.False(t, ok)
	assert.Equal(t, PreparePools(nil).fingerprint(), none.fingerprint())
}

// Whatever a rule reads must be in the fingerprint, and the number of nodes must not be.
func TestShapes(t *testing.T) {
	base := func() []modelplane.GPUPool {
		return []modelplane.GPUPool{{Name: "a", Nodes: 1, Devices: []modelplane.Device{novaDevice()}}, {Name: "b", Nodes: 1}}
	}
	of := func(change func([]modelplane.GPUPool) []modelplane.GPUPool) fingerprint {
		return PreparePools(change(base())).fingerprint()
	}
	same := of(func(p []modelplane.GPUPool) []modelplane.GPUPool { return p })
	assert.Equal(t, same, of(func(p []modelplane.GPUPool) []modelplane.GPUPool { p[0].Nodes = 7; return p }))
	assert.Equal(t, same, of(func(p []modelplane.GPUPool) []modelplane.GPUPool { p[0].Devices[0].Name = "other"; return p }))

	device := func(change func(*modelplane.Device)) fingerprint {
		return of(func(p []modelplane.GPUPool) []modelplane.GPUPool { change(&p[0].Devices[0]); return p })
	}
	attribute := func(a modelplane.DeviceAttribute) fingerprint {
		return device(func(d *modelplane.Device) { d.Attributes["x"] = a })
	}
	prints := map[fingerprint]string{same: "unchanged"}
	for name, print := range map[string]fingerprint{
		"pool name":  of(func(p []modelplane.GPUPool) []modelplane.GPUPool { p[0].Name = "c"; return p }),
		"pool order": of(func(p []modelplane.GPUPool) []modelplane.GPUPool { return []modelplane.GPUPool{p[1], p[0]} }),
		"pool gone":  of(func(p []modelplane.GPUPool) []modelplane.GPUPool { return p[:1] }),
		"devices moved": of(func(p []modelplane.GPUPool) []modelplane.GPUPool {
			p[0].Devices, p[1].Devices = nil, p[0].Devices
			return p
		}),
		"claim":           device(func(d *modelplane.Device) { d.Claim = modelplane.DeviceClaimSynthetic }),
		"driver":          device(func(d *modelplane.Device) { d.Driver = "x" }),
		"class":           device(func(d *modelplane.Device) { d.DeviceClassName = "x" }),
		"count":           device(func(d *modelplane.Device) { d.Count = ptr.To[int64](2) }),
		"no count":        device(func(d *modelplane.Device) { d.Count = nil }),
		"capacity":        device(func(d *modelplane.Device) { d.Capacity["memory"] = modelplane.DeviceCapacity{Value: "1"} }),
		"capacity name":   device(func(d *modelplane.Device) { d.Capacity = map[string]modelplane.DeviceCapacity{"m": {Value: "141Gi"}} }),
		"empty attribute": attribute(modelplane.DeviceAttribute{}),
		"string 1":        attribute(modelplane.DeviceAttribute{String: ptr.To("1")}),
		"version 1":       attribute(modelplane.DeviceAttribute{Version: ptr.To("1")}),
		"bool 1":          attribute(modelplane.DeviceAttribute{Bool: ptr.To(true)}),
		"bool 0":          attribute(modelplane.DeviceAttribute{Bool: ptr.To(false)}),
		"int 1":           attribute(modelplane.DeviceAttribute{Int: ptr.To[int64](1)}),
	} {
		other, found := prints[print]
		assert.False(t, found, "%s and %s", name, other)
		prints[print] = name
	}
	assert.NotEqual(t, appendString(appendString(nil, "ab"), "c"), appendString(appendString(nil, "a"), "bc"))
}
