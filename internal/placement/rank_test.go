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
)

func TestBest(t *testing.T) {
	best := func(candidates ...Candidate) string {
		got, ok := Best(candidates, DefaultComparators())
		assert.True(t, ok)
		return got.Cluster
	}
	assert.Equal(t, "west", best(Candidate{"east", 2, false}, Candidate{"west", 1, false}))
	assert.Equal(t, "east", best(Candidate{"west", 1, false}, Candidate{"east", 1, false}))
	assert.Equal(t, "west", best(Candidate{"east", 1, false}, Candidate{"west", 1, true}), "cached weights before the name")
	assert.Equal(t, "east", best(Candidate{"east", 0, false}, Candidate{"west", 1, true}), "load before cached weights")

	_, ok := Best(nil, DefaultComparators())
	assert.False(t, ok)

	for _, order := range [][]Candidate{{{"b", 0, false}, {"a", 0, false}}, {{"a", 0, false}, {"b", 0, false}}} {
		got, _ := Best(order, nil)
		assert.Equal(t, "a", got.Cluster, "without comparators the name decides")
	}
}

func TestExplain(t *testing.T) {
	comparators := DefaultComparators()
	loaded, idle := Candidate{"gpu-us-east", 2, true}, Candidate{"gpu-us-west", 0, false}
	want := "gpu-us-west before gpu-us-east: fewest replicas of the deployment (0, not 2)"
	assert.Equal(t, want, Explain(loaded, idle, comparators))
	assert.Equal(t, want, Explain(idle, loaded, comparators))
	assert.Equal(t, "b before a: weights cached (true, not false)", Explain(Candidate{"a", 1, false}, Candidate{"b", 1, true}, comparators))
	assert.Equal(t, "a before b: name (a, not b)", Explain(Candidate{"b", 1, true}, Candidate{"a", 1, true}, comparators))
	assert.Equal(t, "a before b: name", Explain(Candidate{"b", 1, true}, Candidate{"a", 1, true}, nil))

	bare := []Comparator{{Name: "luck", Compare: func(a, b Candidate) int { return a.Load - b.Load }}}
	assert.Equal(t, "gpu-us-west before gpu-us-east: luck", Explain(loaded, idle, bare))
}
