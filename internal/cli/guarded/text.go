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

package guarded

import (
	"strings"
	"unicode"

	"github.com/evenkeel-io/evenkeel/internal/text"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// maxLine is how many bytes of somebody else's text are repeated.
const maxLine = 2000

// OneLine makes foreign text fit to be shown on one line of a terminal: what could move the
// cursor becomes a space, and what looks like a credential is taken out.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, s)
	words := strings.Fields(s)
	for i, word := range words {
		if trafficdrain.CredentialLike(strings.Trim(word, `"'`+"`,;:()[]{}")) {
			words[i] = "<redacted>"
		}
	}
	s = strings.Join(words, " ")
	if len(s) > maxLine {
		s = text.Prefix(s, maxLine) + "..."
	}
	return s
}
