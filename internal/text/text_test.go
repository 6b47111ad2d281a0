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

package text

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestPrefix(t *testing.T) {
	for _, tc := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc"},
		{"abcd", 0, ""},
		{"abcd", -1, ""},
		{"aöb", 2, "a"},
		{"aöb", 3, "aö"},
		{"€", 2, ""},
	} {
		assert.Equal(t, tc.want, Prefix(tc.in, tc.n), "%q cut to %d", tc.in, tc.n)
	}
}

func FuzzPrefix(f *testing.F) {
	f.Add("aö€", 4)
	f.Fuzz(func(t *testing.T, s string, n int) {
		got := Prefix(s, n)
		assert.LessOrEqual(t, len(got), max(n, 0))
		assert.Equal(t, s[:len(got)], got)
		if utf8.ValidString(s) {
			assert.True(t, utf8.ValidString(got))
		}
	})
}
