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
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// fingerprint is a hash over the whole content of something, so that equal ones mean equal content.
type fingerprint [sha256.Size]byte

// Pools are the node pools that a cluster publishes, ready to be matched. They never change and are safe for concurrent
// use; nil is a cluster without pools. Preparing is the expensive part: do it once for each distinct list.
type Pools struct {
	pools []pool
	index map[string]int
	// shape covers everything but the number of nodes: clusters that differ only there share what is known of matches.
	shape fingerprint
}

type pool struct {
	name    string
	nodes   int64
	devices []device
	print   fingerprint
}

type device struct {
	dra       bool
	className string
	count     int64
	driver    string
	// malformed devices satisfy no selector, not even one that does not read the malformed value.
	malformed  bool
	attributes map[resourceapi.QualifiedName]resourceapi.DeviceAttribute
	capacity   map[resourceapi.QualifiedName]resource.Quantity
}

// PreparePools prepares what a cluster publishes. Of two pools with one name the first counts. The result shares no
// memory with its input.
func PreparePools(published []modelplane.GPUPool) *Pools {
	prepared := &Pools{index: make(map[string]int, len(published))}
	var shape []byte
	for i := range published {
		name := published[i].Name
		if _, known := prepared.index[name]; known {
			continue
		}
		p := preparePool(&published[i])
		shape = append(appendString(shape, name), p.print[:]...)
		prepared.index[name] = len(prepared.pools)
		prepared.pools = append(prepared.pools, p)
	}
	prepared.shape = sha256.Sum256(shape)
	return prepared
}

func preparePool(published *modelplane.GPUPool) pool {
	p := pool{
		name:    strings.Clone(published.Name),
		nodes:   max(published.Nodes, 0),
		devices: make([]device, 0, len(published.Devices)),
	}
	var content []byte
	for i := range published.Devices {
		p.devices = append(p.devices, prepareDevice(&published.Devices[i]))
		content = appendDevice(content, &published.Devices[i])
	}
	p.print = sha256.Sum256(content)
	return p
}

func prepareDevice(published *modelplane.Device) device {
	d := device{
		dra:        published.Claim == "" || published.Claim == modelplane.DeviceClaimDRA,
		className:  published.DeviceClassName,
		count:      max(ptr.Deref(published.Count, 0), 0),
		driver:     published.Driver,
		attributes: make(map[resourceapi.QualifiedName]resourceapi.DeviceAttribute, len(published.Attributes)),
		capacity:   make(map[resourceapi.QualifiedName]resource.Quantity, len(published.Capacity)),
	}
	for name, attribute := range published.Attributes {
		value, ok := prepareAttribute(attribute)
		d.malformed = d.malformed || !ok
		if !shadowed(name, d.driver, published.Attributes) {
			d.attributes[resourceapi.QualifiedName(name)] = value
		}
	}
	for name, capacity := range published.Capacity {
		quantity, err := parseQuantity(capacity.Value)
		d.malformed = d.malformed || err != nil
		if !shadowed(name, d.driver, published.Capacity) {
			d.capacity[resourceapi.QualifiedName(name)] = quantity
		}
	}
	return d
}

// shadowed tells whether a name without a domain means the same as another one that is spelled with the driver as its
// domain. The full name counts: without a rule the order of a map would decide.
func shadowed[V any](name, driver string, named map[string]V) bool {
	if strings.Contains(name, "/") {
		return false
	}
	_, found := named[driver+"/"+name]
	return found
}

// prepareAttribute is not ok unless the attribute has exactly one value that can be parsed.
func prepareAttribute(attribute modelplane.DeviceAttribute) (value resourceapi.DeviceAttribute, ok bool) {
	kinds := 0
	if attribute.String != nil {
		kinds++
		value.StringValue = ptr.To(*attribute.String)
	}
	if attribute.Version != nil {
		kinds++
		if _, err := semver.Parse(*attribute.Version); err != nil {
			return value, false
		}
		value.VersionValue = ptr.To(*attribute.Version)
	}
	if attribute.Bool != nil {
		kinds++
		value.BoolValue = ptr.To(*attribute.Bool)
	}
	if attribute.Int != nil {
		kinds++
		value.IntValue = ptr.To(*attribute.Int)
	}
	return value, kinds == 1
}

// input gives the device as CEL sees it. Quantities are copied for each evaluation, since CEL's add and sub change the
// big number that a large quantity holds by reference.
func (d *device) input() dracel.Device {
	capacity := make(map[resourceapi.QualifiedName]resourceapi.DeviceCapacity, len(d.capacity))
	for name, quantity := range d.capacity {
		capacity[name] = resourceapi.DeviceCapacity{Value: quantity.DeepCopy()}
	}
	return dracel.Device{Driver: d.driver, Attributes: d.attributes, Capacity: capacity}
}

// Names of the pools in published order.
func (p *Pools) Names() []string {
	names := make([]string, 0, p.len())
	for i := range p.len() {
		names = append(names, p.pools[i].name)
	}
	return names
}

// Nodes is how many nodes a pool can have; a negative number counts as none. It is not ok where no such pool is
// published.
func (p *Pools) Nodes(name string) (nodes int64, ok bool) {
	found := p.named(name)
	if found == nil {
		return 0, false
	}
	return found.nodes, true
}

func (p *Pools) named(name string) *pool {
	if p == nil {
		return nil
	}
	i, found := p.index[name]
	if !found {
		return nil
	}
	return &p.pools[i]
}

func (p *Pools) len() int {
	if p == nil {
		return 0
	}
	return len(p.pools)
}

func (p *Pools) fingerprint() fingerprint {
	if p == nil {
		return sha256.Sum256(nil)
	}
	return p.shape
}

// appendDevice writes a device unambiguously, for a fingerprint. Its name is left out: no rule reads it.
func appendDevice(b []byte, d *modelplane.Device) []byte {
	b = appendString(b, string(d.Claim))
	b = appendString(b, d.Driver)
	b = appendString(b, d.DeviceClassName)
	b = binary.AppendVarint(b, max(ptr.Deref(d.Count, 0), 0))
	b = binary.AppendUvarint(b, uint64(len(d.Attributes)))
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		attribute := d.Attributes[name]
		b = appendString(b, name)
		b = appendOptional(b, attribute.String, appendString)
		b = appendOptional(b, attribute.Version, appendString)
		b = appendOptional(b, attribute.Bool, appendBool)
		b = appendOptional(b, attribute.Int, binary.AppendVarint)
	}
	b = binary.AppendUvarint(b, uint64(len(d.Capacity)))
	for _, name := range slices.Sorted(maps.Keys(d.Capacity)) {
		b = appendString(b, name)
		b = appendString(b, d.Capacity[name].Value)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendOptional[T any](b []byte, value *T, appendValue func([]byte, T) []byte) []byte {
	if value == nil {
		return append(b, 0)
	}
	return appendValue(append(b, 1), *value)
}
