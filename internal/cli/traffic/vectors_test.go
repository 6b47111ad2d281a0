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

package traffic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

const okBody = `"cluster":"worker-a","reason":"r"`

func one(id, body string) string { return fmt.Sprintf(`{%q:{%s}}`, id, body) }

func reason(r string) string { return fmt.Sprintf(`{"a":{"cluster":"worker-a","reason":"%s"}}`, r) }

func cluster(c string) string { return fmt.Sprintf(`{"a":{"cluster":%q,"reason":"r"}}`, c) }

func many(n int) string {
	var drains []string
	for i := range n {
		drains = append(drains, fmt.Sprintf(`"d-%d":{%s}`, i, okBody))
	}
	return "{" + strings.Join(drains, ",") + "}"
}

const (
	malformed = "error: traffic action refused: existing traffic-drain annotation is malformed or unsafe\n"
	bounds    = "error: traffic action refused: traffic-drain state exceeds safety bounds\n"
	fine      = ""
)

const token = "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.cccccccccccccccc"

// TestCommandVectors has the compatibility cases of the annotation by number: what drain and
// undrain do on a service that holds a value.
func TestCommandVectors(t *testing.T) {
	big := reason(strings.Repeat("r", 256))
	for _, tc := range []struct {
		id, value, want string
	}{
		{"3", " {\n\t} ", fine},
		{"4", "", malformed},
		{"6", "null", malformed},
		{"7", "[]", malformed},
		{"9", "{", malformed},
		{"10", "{} {}", malformed},
		{"12", "\ufeff{}", malformed},
		{"13", one("a", okBody), fine},
		{"15", `{"b":{` + okBody + `},"a":{` + okBody + `}}`, fine},
		{"16", `{"a":{` + okBody + `},"a":{` + okBody + `}}`, malformed},
		{"18", `{"a":{` + okBody + `},"A":{` + okBody + `}}`, malformed},
		{"19", one("", okBody), malformed},
		{"21", `{"a\u00a0":{` + okBody + `}}`, malformed},
		{"22", `{"a\u200b":{` + okBody + `}}`, malformed},
		{"24", `{"a":null}`, malformed},
		{"25", `{"a":[]}`, malformed},
		{"27", `{"a":{"cluster":"worker-a"}}`, malformed},
		{"28", `{"a":{"reason":"r"}}`, malformed},
		{"30", `{"a":{"cluster":1,"reason":"r"}}`, malformed},
		{"31", `{"a":{"cluster":["worker-a"],"reason":"r"}}`, malformed},
		{"33", `{"a":{` + okBody + `,"weight":"0"}}`, malformed},
		{"34", `{"a":{` + okBody + `,"weight":0}}`, malformed},
		{"36", `{"a":{"cluster":"worker-a","cluster":"worker-b","reason":"r"}}`, malformed},
		{"37", cluster(" worker-a"), malformed},
		{"39", reason(`r\n`), malformed},
		{"40", `{"a":{` + okBody + `},}`, malformed},
		{"42", `{"a":{` + okBody + `}`, malformed},
		{"43 quotes", `{'a':{` + okBody + `}}`, malformed},
		{"43 bare", `{a:{` + okBody + `}}`, malformed},
		{"45", reason("line\nbreak"), malformed},
		{"46", reason(`line\nbreak`), malformed},
		{"48 ZWSP", reason("a\u200bb"), malformed},
		{"48 ZWJ", reason("\U0001F469\u200d\U0001F52C"), malformed},
		{"48 bidi", reason("a\u202eb"), malformed},
		{"48 soft hyphen", reason("a\u00adb"), malformed},
		{"48 BOM", reason("a\ufeffb"), malformed},
		{"49", reason("a\u2028b"), malformed},
		{"51", reason("planned maintenance — rack 2"), fine},
		{"52 most", big, fine},
		{"52 more", reason(strings.Repeat("r", 257)), malformed},
		{"54", reason("sk-123456789012345678901234"), malformed},
		{"55 bare", reason(token), malformed},
		{"55 among words", reason("token " + token), fine},
		{"57", reason(`\ud800`), fine},
		{"58", one("BAD ID", okBody), malformed},
		{"60 digit", one("0", okBody), fine},
		{"60 most", one(strings.Repeat("a", 63), okBody), fine},
		{"60 more", one(strings.Repeat("a", 64), okBody), malformed},
		{"61 twenty", one("sk-abcdefghijklmnopqrst", okBody), malformed},
		{"61 nineteen", one("sk-abcdefghijklmnopqrs", okBody), fine},
		{"63 underscore", cluster("BAD_CLUSTER"), malformed},
		{"63 case", cluster("Worker-A"), malformed},
		{"63 dot", cluster("worker-a."), malformed},
		{"63 dots", cluster("worker..a"), malformed},
		{"63 star", cluster("*"), malformed},
		{"64 most", cluster(strings.Repeat("a", 253)), fine},
		{"64 more", cluster(strings.Repeat("a", 254)), malformed},
		{"66", cluster(token), malformed},
		{"67", cluster("no-such-cluster"), fine},
		{"69", many(65), bounds},
		{"70", "{" + strings.Repeat(" ", 32767) + "}", bounds},
	} {
		t.Run(tc.id, func(t *testing.T) {
			s := newServer(t, chat(drained(tc.value)))
			drain := s.execute(t, "drain", "chat", "--workload-cluster=worker-a", "--id=new", "--reason=r", "--yes")
			undrain := s.execute(t, "undrain", "chat", "--id=new", "--yes")
			if tc.want == fine {
				assert.Zero(t, drain.code, drain.stderr)
				assert.True(t, strings.HasPrefix(undrain.stderr, "error: traffic undrain refused: override ID does not exist\n"), undrain.stderr)
				return
			}
			for _, o := range []outcome{drain, undrain} {
				assert.Equal(t, 1, o.code)
				assert.True(t, strings.HasPrefix(o.stderr, tc.want), o.stderr)
				assert.Empty(t, o.stdout)
				assert.NotContains(t, o.stderr, "sk-123456789012345678901234", "a secret is not repeated")
			}
			assert.Empty(t, s.patches)
		})
	}
}

// TestCommandVector1 and 72 are about values that are not there, or there already.
func TestCommandVector1(t *testing.T) {
	s := newServer(t, chat())
	assert.Zero(t, s.execute(t, "drain", "chat", "--workload-cluster=worker-a", "--id=a", "--reason=r", "--yes").code)
	o := s.execute(t, "undrain", "chat", "--id=a", "--yes")
	assert.True(t, strings.HasPrefix(o.stderr, "error: traffic undrain refused: override ID does not exist\n"), o.stderr)
}

func TestCommandVector72(t *testing.T) {
	s := newServer(t, chat(drained(one("a", okBody))))
	o := s.execute(t, "drain", "chat", "--workload-cluster=worker-a", "--id=a", "--reason=r", "--yes")
	assert.Equal(t, 1, o.code)
	assert.True(t, strings.HasPrefix(o.stderr, "error: traffic drain refused: override ID already exists\n"), o.stderr)
	assert.Contains(t, o.stderr, `cause: drain "a" holds cluster "worker-a". Choose another ID, or end that drain first`)
}

// TestSixtyFourDrains are as many as there may be: one more is refused, one fewer is not.
func TestSixtyFourDrains(t *testing.T) {
	s := newServer(t, chat(drained(many(trafficdrain.MaxDrains))))
	o := s.execute(t, "drain", "chat", "--workload-cluster=worker-a", "--id=new", "--reason=r", "--yes")
	assert.True(t, strings.HasPrefix(o.stderr, bounds), o.stderr)
	assert.Zero(t, s.execute(t, "undrain", "chat", "--id=d-7", "--yes").code)
}
