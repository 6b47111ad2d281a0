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

package trafficdrain

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// Parse reads a value by the rules of OME's hub controller. They are strict about JSON
// (no name twice, no unknown field, nothing after the object) but set no limits and do
// not care what an ID, a cluster or a reason looks like beyond being trimmed and not
// empty. The first fault in the order of the document is returned, as a *Refusal with
// the words that OME logs after "parse ome.io/traffic-drain: "; the tail that comes from
// the JSON library depends on the Go version. On error the whole value counts for
// nothing: OME then keeps the last valid TrafficMap.
func Parse(value string) (Drains, error) {
	p := parser{dec: json.NewDecoder(strings.NewReader(value))}
	drains, refusal := p.document()
	if refusal != nil {
		return nil, refusal
	}
	slices.SortFunc(drains, func(a, b Drain) int { return strings.Compare(a.ID, b.ID) })
	return drains, nil
}

type parser struct {
	dec *json.Decoder
}

func (p parser) document() (Drains, *Refusal) {
	token, err := p.dec.Token()
	if err != nil {
		return nil, malformed("", "decode top-level object: %v", err)
	}
	if token != json.Delim('{') {
		return nil, malformed("", "top-level value must be a JSON object keyed by override ID")
	}
	var drains Drains
	seen := map[string]bool{}
	for p.dec.More() {
		id, refusal := p.id(seen)
		if refusal != nil {
			return nil, refusal
		}
		drain, refusal := p.drain(id)
		if refusal != nil {
			return nil, refusal
		}
		drains = append(drains, drain)
	}
	return drains, p.end()
}

func (p parser) id(seen map[string]bool) (string, *Refusal) {
	token, err := p.dec.Token()
	if err != nil {
		return "", malformed("", "decode override ID: %v", err)
	}
	id, ok := token.(string)
	if !ok {
		return "", malformed("", "override ID must be a JSON object key")
	}
	if fault := textFault(id); fault != "" {
		return "", malformed(id, "override ID %s", fault)
	}
	if seen[id] {
		return "", malformed(id, "duplicate override ID %q", id)
	}
	seen[id] = true
	return id, nil
}

func (p parser) drain(id string) (Drain, *Refusal) {
	token, err := p.dec.Token()
	if err != nil {
		return Drain{}, malformed(id, "override %q: decode object: %v", id, err)
	}
	if token != json.Delim('{') {
		return Drain{}, malformed(id, "override %q must be a JSON object", id)
	}
	fields := map[string]string{}
	for p.dec.More() {
		if refusal := p.field(id, fields); refusal != nil {
			return Drain{}, refusal
		}
	}
	token, err = p.dec.Token()
	if err != nil {
		return Drain{}, malformed(id, "override %q: close object: %v", id, err)
	}
	if token != json.Delim('}') {
		return Drain{}, malformed(id, "override %q must end with a JSON object", id)
	}
	for _, name := range []string{fieldCluster, fieldReason} {
		if fault := textFault(fields[name]); fault != "" {
			return Drain{}, malformed(id, "override %q %s %s", id, name, fault)
		}
	}
	return Drain{ID: id, Cluster: fields[fieldCluster], Reason: fields[fieldReason]}, nil
}

const (
	fieldCluster = "cluster"
	fieldReason  = "reason"
)

// field reads one member of a drain. The value is decoded before the name is judged, as
// OME does it, so an unknown name with a number is reported as "must be a string".
func (p parser) field(id string, fields map[string]string) *Refusal {
	token, err := p.dec.Token()
	if err != nil {
		return malformed(id, "override %q: decode field: %v", id, err)
	}
	name, ok := token.(string)
	if !ok {
		return malformed(id, "override %q field name must be a string", id)
	}
	if _, twice := fields[name]; twice {
		return malformed(id, "override %q has duplicate field %q", id, name)
	}
	var text string
	if err := p.dec.Decode(&text); err != nil {
		return malformed(id, "override %q field %q must be a string: %v", id, name, err)
	}
	if name != fieldCluster && name != fieldReason {
		return malformed(id, "override %q has unknown field %q", id, name)
	}
	fields[name] = text
	return nil
}

func (p parser) end() *Refusal {
	token, err := p.dec.Token()
	if err != nil {
		return malformed("", "close top-level object: %v", err)
	}
	if token != json.Delim('}') {
		return malformed("", "top-level value must end with a JSON object")
	}
	token, err = p.dec.Token()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return malformed("", "decode trailing data: %v", err)
	}
	return malformed("", "unexpected trailing JSON token %v", token)
}

// textFault applies the one rule that OME's controller has for the content of strings.
// White space is what Unicode calls White_Space: U+00A0 is, U+200B is not.
func textFault(s string) string {
	trimmed := strings.TrimSpace(s)
	switch {
	case trimmed == "":
		return "must be non-empty"
	case trimmed != s:
		return "must not have leading or trailing whitespace"
	default:
		return ""
	}
}
