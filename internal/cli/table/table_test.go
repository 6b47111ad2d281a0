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

package table

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWrite(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Write(&b, [][]string{{"A", "BB", "C"}, {"維持", "b", ""}, {"long one", "", "x"}}))
	assert.Equal(t, "A          BB   C\n維持       b    \nlong one        x\n", b.String())
}

func TestCells(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "維": 2, "é": 1, "e\u0301": 1, "—": 1} {
		assert.Equal(t, want, Cells(s), "%q", s)
	}
}

// TestFold: the pieces are the text, and none is wider than it may be.
func TestFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		limit := rapid.IntRange(2, 20).Draw(t, "limit")
		pieces := Fold(s, limit)
		if got := strings.Join(pieces, ""); got != s {
			t.Fatalf("the pieces are %q", got)
		}
		for _, p := range pieces {
			if Cells(p) > limit {
				t.Fatalf("%q is %d cells wide", p, Cells(p))
			}
		}
	})
}

func TestCut(t *testing.T) {
	assert.Equal(t, "-", Cut("", 5))
	assert.Equal(t, "abcde", Cut("abcde", 5))
	assert.Equal(t, "ab...", Cut("abcdef", 5))
	assert.Equal(t, "維...", Cut("維維維", 5))
}
