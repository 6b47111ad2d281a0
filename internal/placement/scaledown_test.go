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

func TestScaleDown(t *testing.T) {
	healthy := func(name, cluster string, index int32) Placed { return Placed{name, cluster, index, true} }
	sick := func(name, cluster string, index int32) Placed { return Placed{name, cluster, index, false} }
	for _, c := range []struct {
		name   string
		placed []Placed
		keep   int
		want   []string
	}{
		{"nothing to drop", []Placed{healthy("a", "east", 0)}, 1, nil},
		{"nothing there", nil, 3, nil},
		{"C1 most loaded cluster", []Placed{healthy("a", "east", 0), healthy("b", "east", 1), healthy("c", "west", 0)}, 2, []string{"b"}},
		{"C3 equal load, later name", []Placed{healthy("a", "west", 0), healthy("b", "east", 0)}, 1, []string{"a"}},
		{
			"C4 load is counted anew", []Placed{healthy("a", "east", 0), healthy("b", "east", 1), healthy("c", "west", 0), healthy("d", "west", 1)},
			2, []string{"d", "b"},
		},
		{"C7 ours: unhealthy first", []Placed{sick("a", "east", 0), healthy("b", "west", 0), healthy("c", "west", 1)}, 2, []string{"a"}},
		{
			"among unhealthy ones the same order", []Placed{sick("a", "east", 0), sick("b", "west", 0), healthy("c", "west", 1)},
			1, []string{"b", "a"},
		},
		{"one index twice", []Placed{healthy("a", "east", 0), healthy("b", "east", 0)}, 1, []string{"b"}},
		{"to nothing", []Placed{healthy("a", "east", 0), healthy("b", "east", 1)}, 0, []string{"b", "a"}},
		{"less than nothing", []Placed{healthy("a", "east", 0)}, -4, []string{"a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := append([]Placed(nil), c.placed...)
			var got []string
			for _, victim := range ScaleDown(c.placed, c.keep) {
				got = append(got, victim.Name)
			}
			assert.Equal(t, c.want, got)
			assert.Equal(t, before, c.placed, "the input stays as it is")
		})
	}
}
