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

import "encoding/json"

// Encode writes drains in the one form that OME's traffic commands write: compact JSON,
// ordered by ID, cluster before reason, with <, > and & escaped. What it returns, Parse
// reads back to the same drains, provided their strings are valid UTF-8 and each of them
// passes Parse's rules.
func (ds Drains) Encode() string {
	type body struct {
		Cluster string `json:"cluster"`
		Reason  string `json:"reason"`
	}
	// A map gives the order by key; a map of strings cannot fail to encode.
	bodies := make(map[string]body, len(ds))
	for _, d := range ds {
		bodies[d.ID] = body{Cluster: d.Cluster, Reason: d.Reason}
	}
	encoded, _ := json.Marshal(bodies)
	return string(encoded)
}

// Value returns the annotation to store. Without drains there is none: OME never leaves
// an empty object behind.
func (ds Drains) Value() Value {
	if len(ds) == 0 {
		return Value{}
	}
	return Value{Raw: ds.Encode(), Present: true}
}
