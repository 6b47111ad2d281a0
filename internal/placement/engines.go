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

	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Limits of what a Matcher remembers. Together they are some tens of megabytes at most; a fleet has few distinct pools
// and few distinct templates and uses a fraction of that.
const (
	programLimit     = 4096
	expressionWeight = 256 // bytes of source that weigh as much as one small program
	enginesLimit     = 2048
	enginesWeight    = 1024 // bytes of requirements that weigh as much as one small template
	matchLimit       = 65536
	fitLimit         = 32768
)

// Matcher matches engines to node pools. It compiles each selector once, evaluates it once for each distinct device
// list, and remembers the results within bounds. It is safe for concurrent use; a process needs one.
type Matcher struct {
	compiler compiler
	programs *memo[string, *program]
	engines  *memo[string, *Engines]
	matches  *memo[matchKey, *match]
	fits     *memo[fitKey, *fit]
}

// NewMatcher makes a Matcher that remembers nothing yet.
func NewMatcher() *Matcher {
	return &Matcher{
		compiler: newCompiler(),
		programs: newMemo[string, *program](programLimit),
		engines:  newMemo[string, *Engines](enginesLimit),
		matches:  newMemo[matchKey, *match](matchLimit),
		fits:     newMemo[fitKey, *fit](fitLimit),
	}
}

// Engines are a template's requirements with their selectors compiled. They never change and are safe for concurrent
// use. Whoever tries one template on many clusters prepares it once.
type Engines struct {
	matcher *Matcher
	engines []engine
	invalid *InvalidSelectorError
}

type engine struct {
	name    string
	members []member
}

type member struct {
	role modelplane.MemberRole
	// nodes that all copies of the member cost if it claims devices.
	nodes    int64
	requests []request
	print    fingerprint
}

type request struct {
	name      string
	count     int64
	selectors []modelplane.DeviceSelector
	programs  []*program
}

// PrepareEngines compiles a template's requirements. The error is an *InvalidSelectorError for the first selector that
// does not compile.
func (m *Matcher) PrepareEngines(requirements []evenkeel.EngineRequirements) (*Engines, error) {
	prepared := m.prepareEngines(requirements)
	if prepared.invalid != nil {
		return nil, prepared.invalid
	}
	return prepared, nil
}

func (m *Matcher) prepareEngines(requirements []evenkeel.EngineRequirements) *Engines {
	var buffer [1024]byte
	key := appendEngines(buffer[:0], requirements)
	if known, ok := m.engines.get(string(key)); ok {
		return known
	}
	prepared := &Engines{matcher: m, engines: make([]engine, 0, len(requirements))}
	for i := range requirements {
		prepared.engines = append(prepared.engines, m.prepareEngine(&requirements[i], &prepared.invalid))
	}
	m.engines.put(string(key), prepared, 1+len(key)/enginesWeight)
	return prepared
}

func (m *Matcher) prepareEngine(requirements *evenkeel.EngineRequirements, invalid **InvalidSelectorError) engine {
	e := engine{name: requirements.Name, members: make([]member, 0, len(requirements.Members))}
	for i := range requirements.Members {
		required := &requirements.Members[i]
		mem := member{
			role:  roleOf(required.Role),
			nodes: memberNodes(required.Nodes, requirements.Copies),
			print: sha256.Sum256(appendRequests(nil, required.Devices)),
		}
		for j := range required.Devices {
			r := m.prepareRequest(&required.Devices[j])
			mem.requests = append(mem.requests, r)
			for k, p := range r.programs {
				if p.err != nil && *invalid == nil {
					*invalid = &InvalidSelectorError{
						Engine: e.name, Member: i, Request: r.name, Selector: k, Expression: r.selectors[k].CEL, Err: p.err,
					}
				}
			}
		}
		e.members = append(e.members, mem)
	}
	return e
}

func (m *Matcher) prepareRequest(wanted *modelplane.DeviceRequest) request {
	r := request{name: wanted.Name, count: requestCount(wanted.Count)}
	for i := range wanted.Selectors {
		r.selectors = append(r.selectors, wanted.Selectors[i])
		r.programs = append(r.programs, m.program(wanted.Selectors[i].CEL))
	}
	return r
}

// appendEngines writes requirements unambiguously: the key under which they are known once prepared.
func appendEngines(b []byte, requirements []evenkeel.EngineRequirements) []byte {
	for i := range requirements {
		e := &requirements[i]
		b = appendString(b, e.Name)
		b = binary.AppendVarint(b, int64(e.Copies))
		b = binary.AppendUvarint(b, uint64(len(e.Members)))
		for j := range e.Members {
			b = appendString(b, string(e.Members[j].Role))
			b = binary.AppendVarint(b, int64(e.Members[j].Nodes))
			b = appendRequests(b, e.Members[j].Devices)
		}
	}
	return b
}

func appendRequests(b []byte, requests []modelplane.DeviceRequest) []byte {
	b = binary.AppendUvarint(b, uint64(len(requests)))
	for i := range requests {
		b = appendString(b, requests[i].Name)
		b = binary.AppendVarint(b, ptr.Deref(requests[i].Count, 1))
		b = binary.AppendUvarint(b, uint64(len(requests[i].Selectors)))
		for j := range requests[i].Selectors {
			b = appendString(b, requests[i].Selectors[j].CEL)
		}
	}
	return b
}
