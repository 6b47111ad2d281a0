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
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const okBody = `"cluster":"worker-a","reason":"r"`

// verdict is what the traffic commands make of a stored value.
type verdict string

const (
	ok     verdict = "ok"
	mal    verdict = "malformed or unsafe"
	bounds verdict = "safety bounds"
)

const (
	token = "eyJhbGciOiJIUzI1NiIsInR5cCI6.eyJzdWIiOiIxMjM0NTY3ODkw.SflKxwRJSMeKKF2QT4fwpMeJf36"
	any64 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
)

// vectors are the compatibility cases of OME's two rule sets, by number; those called
// "like" have none and are close to the one they name. In values, OK stands for the
// body of a good drain. drains is what the controller reads; -1 means that it refuses,
// with fault in its error.
var vectors = []struct {
	number  string
	absent  bool
	value   string
	drains  int
	fault   string
	command verdict
}{
	{number: "1", absent: true, drains: 0, command: ok},
	{number: "3 like", value: `{}`, drains: 0, command: ok},
	{number: "3", value: " {\n\t} ", drains: 0, command: ok},
	{number: "4", value: "", drains: -1, fault: "decode top-level object: EOF", command: mal},
	{number: "4 like", value: "  ", drains: -1, fault: "decode top-level object: EOF", command: mal},
	{number: "6", value: `null`, drains: -1, fault: "top-level value must be a JSON object keyed by override ID", command: mal},
	{number: "7", value: `[]`, drains: -1, fault: "top-level value must be a JSON object keyed by override ID", command: mal},
	{number: "7 like", value: `"a"`, drains: -1, fault: "top-level value must be a JSON object keyed by override ID", command: mal},
	{number: "9", value: `{`, drains: -1, fault: "close top-level object: EOF", command: mal},
	{number: "10", value: `{} {}`, drains: -1, fault: "unexpected trailing JSON token {", command: mal},
	{number: "10 like", value: `{} x`, drains: -1, fault: "decode trailing data: invalid character 'x'", command: mal},
	{number: "12", value: "\ufeff{}", drains: -1, fault: "decode top-level object: invalid character", command: mal},
	{number: "13", value: `{"a":{OK}}`, drains: 1, command: ok},
	{number: "13 like", value: "{ \"a\" :\n{ \"reason\":\"r\", \"cluster\":\"worker-a\" } }", drains: 1, command: ok},
	{number: "15", value: `{"b":{OK},"a":{OK}}`, drains: 2, command: ok},
	{number: "16", value: `{"a":{OK},"a":{OK}}`, drains: -1, fault: `duplicate override ID "a"`, command: mal},
	{number: "16 like", value: `{"a":{OK},"\u0061":{OK}}`, drains: -1, fault: `duplicate override ID "a"`, command: mal},
	{number: "18", value: `{"a":{OK},"A":{OK}}`, drains: 2, command: mal},
	{number: "19", value: `{"":{OK}}`, drains: -1, fault: "override ID must be non-empty", command: mal},
	{number: "19 like", value: `{" a":{OK}}`, drains: -1, fault: "override ID must not have leading or trailing whitespace", command: mal},
	{number: "21", value: `{"a\u00a0":{OK}}`, drains: -1, fault: "override ID must not have leading or trailing whitespace", command: mal},
	{number: "22", value: `{"a\u200b":{OK}}`, drains: 1, command: mal},
	{number: "24 like", value: `{"a":"worker-a"}`, drains: -1, fault: `override "a" must be a JSON object`, command: mal},
	{number: "24", value: `{"a":null}`, drains: -1, fault: `override "a" must be a JSON object`, command: mal},
	{number: "25", value: `{"a":[]}`, drains: -1, fault: `override "a" must be a JSON object`, command: mal},
	{number: "27 like", value: `{"a":{}}`, drains: -1, fault: `override "a" cluster must be non-empty`, command: mal},
	{number: "27", value: `{"a":{"cluster":"worker-a"}}`, drains: -1, fault: `override "a" reason must be non-empty`, command: mal},
	{number: "28", value: `{"a":{"reason":"r"}}`, drains: -1, fault: `override "a" cluster must be non-empty`, command: mal},
	{number: "28 like", value: `{"a":{"cluster":null,"reason":"r"}}`, drains: -1, fault: `override "a" cluster must be non-empty`, command: mal},
	{number: "30", value: `{"a":{"cluster":1,"reason":"r"}}`, drains: -1, fault: `override "a" field "cluster" must be a string: json: cannot unmarshal number into Go value of type string`, command: mal},
	{number: "31", value: `{"a":{"cluster":["worker-a"],"reason":"r"}}`, drains: -1, fault: `override "a" field "cluster" must be a string: json: cannot unmarshal array`, command: mal},
	{number: "33 like", value: `{"a":{"Cluster":"worker-a","reason":"r"}}`, drains: -1, fault: `override "a" has unknown field "Cluster"`, command: mal},
	{number: "33", value: `{"a":{OK,"weight":"0"}}`, drains: -1, fault: `override "a" has unknown field "weight"`, command: mal},
	{number: "34", value: `{"a":{OK,"weight":0}}`, drains: -1, fault: `override "a" field "weight" must be a string: json: cannot unmarshal number`, command: mal},
	{number: "36", value: `{"a":{"cluster":"worker-a","cluster":"worker-b","reason":"r"}}`, drains: -1, fault: `override "a" has duplicate field "cluster"`, command: mal},
	{number: "37", value: `{"a":{"cluster":" worker-a","reason":"r"}}`, drains: -1, fault: `override "a" cluster must not have leading or trailing whitespace`, command: mal},
	{number: "39", value: `{"a":{"cluster":"worker-a","reason":"r\n"}}`, drains: -1, fault: `override "a" reason must not have leading or trailing whitespace`, command: mal},
	{number: "40", value: `{"a":{OK},}`, drains: -1, fault: "decode override ID: invalid character '}'", command: mal},
	{number: "42", value: `{"a":{OK}`, drains: -1, fault: "close top-level object: EOF", command: mal},
	{number: "43a", value: `{'a':{OK}}`, drains: -1, fault: `decode override ID: invalid character '\''`, command: mal},
	{number: "43b", value: `{a:{OK}}`, drains: -1, fault: "decode override ID: invalid character 'a'", command: mal},
	{number: "45", value: "{\"a\":{\"cluster\":\"worker-a\",\"reason\":\"x\ny\"}}", drains: -1, fault: `override "a" field "reason" must be a string: invalid character '\n' in string literal`, command: mal},
	{number: "46", value: `{"a":{"cluster":"worker-a","reason":"line\nbreak"}}`, drains: 1, command: mal},
	{number: "48 ZWSP", value: `{"a":{"cluster":"worker-a","reason":"x\u200by"}}`, drains: 1, command: mal},
	{number: "48 ZWJ", value: `{"a":{"cluster":"worker-a","reason":"👩` + "\u200d" + `🔧 fixes it"}}`, drains: 1, command: mal},
	{number: "48 U+202E", value: `{"a":{"cluster":"worker-a","reason":"x\u202ey"}}`, drains: 1, command: mal},
	{number: "48 U+00AD", value: `{"a":{"cluster":"worker-a","reason":"x\u00ady"}}`, drains: 1, command: mal},
	{number: "48 U+FEFF", value: `{"a":{"cluster":"worker-a","reason":"x\ufeffy"}}`, drains: 1, command: mal},
	{number: "49", value: `{"a":{"cluster":"worker-a","reason":"x\u2028y"}}`, drains: 1, command: mal},
	{number: "51", value: `{"a":{"cluster":"worker-a","reason":"planned maintenance — rack 2"}}`, drains: 1, command: ok},
	{number: "52a", value: `{"a":{"cluster":"worker-a","reason":"` + strings.Repeat("r", 256) + `"}}`, drains: 1, command: ok},
	{number: "52b", value: `{"a":{"cluster":"worker-a","reason":"` + strings.Repeat("r", 257) + `"}}`, drains: 1, command: mal},
	{number: "54", value: `{"a":{"cluster":"worker-a","reason":"sk-123456789012345678901234"}}`, drains: 1, command: mal},
	{number: "55a", value: `{"a":{"cluster":"worker-a","reason":"` + token + `"}}`, drains: 1, command: mal},
	{number: "55b", value: `{"a":{"cluster":"worker-a","reason":"token ` + token + `"}}`, drains: 1, command: ok},
	{number: "57a", value: "{\"a\":{\"cluster\":\"worker-a\",\"reason\":\"x\xffy\"}}", drains: 1, command: ok},
	{number: "57b", value: `{"a":{"cluster":"worker-a","reason":"x\ud800y"}}`, drains: 1, command: ok},
	{number: "58", value: `{"BAD ID":{"cluster":"a","reason":"one"}}`, drains: 1, command: mal},
	{number: "60a", value: `{"0":{OK}}`, drains: 1, command: ok},
	{number: "60b", value: `{"` + any64[:63] + `":{OK}}`, drains: 1, command: ok},
	{number: "60c", value: `{"` + any64 + `":{OK}}`, drains: 1, command: mal},
	{number: "61a", value: `{"sk-abcdefghijklmnopqrst":{OK}}`, drains: 1, command: mal},
	{number: "61b", value: `{"sk-abcdefghijklmnopqrs":{OK}}`, drains: 1, command: ok},
	{number: "63a", value: `{"a":{"cluster":"BAD_CLUSTER","reason":"r"}}`, drains: 1, command: mal},
	{number: "63b", value: `{"a":{"cluster":"Worker-A","reason":"r"}}`, drains: 1, command: mal},
	{number: "63c", value: `{"a":{"cluster":"worker-a.","reason":"r"}}`, drains: 1, command: mal},
	{number: "63d", value: `{"a":{"cluster":"worker..a","reason":"r"}}`, drains: 1, command: mal},
	{number: "63e", value: `{"a":{"cluster":"*","reason":"r"}}`, drains: 1, command: mal},
	{number: "64a", value: `{"a":{"cluster":"` + strings.Repeat("a", 253) + `","reason":"r"}}`, drains: 1, command: ok},
	{number: "64b", value: `{"a":{"cluster":"` + strings.Repeat("a", 254) + `","reason":"r"}}`, drains: 1, command: mal},
	{number: "66", value: `{"a":{"cluster":"aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.cccccccccccccccc","reason":"r"}}`, drains: 1, command: mal},
	{number: "67", value: `{"a":{"cluster":"no-such-cluster","reason":"r"}}`, drains: 1, command: ok},
	{number: "69 with 64", value: numbered(64).Encode(), drains: 64, command: ok},
	{number: "69 with 65", value: numbered(65).Encode(), drains: 65, command: bounds},
	{number: "70 with 32768", value: padded(MaxBytes), drains: 1, command: ok},
	{number: "70 with 32769", value: padded(MaxBytes + 1), drains: 1, command: bounds},
}

// numbered returns n good drains of one cluster.
func numbered(n int) Drains {
	var ds Drains
	for i := range n {
		ds = append(ds, Drain{ID: fmt.Sprintf("d-%03d", i), Cluster: "worker-a", Reason: "r"})
	}
	return ds
}

// padded returns a good value of exactly that many bytes.
func padded(bytes int) string {
	value := `{"a":{` + okBody + `}}`
	return value + strings.Repeat(" ", bytes-len(value))
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.number, func(t *testing.T) {
			value := Value{Raw: strings.ReplaceAll(v.value, "OK", okBody), Present: !v.absent}

			drains, err := value.Parse()
			if v.drains < 0 {
				require.Error(t, err)
				assert.Contains(t, err.Error(), v.fault)
			} else {
				require.NoError(t, err)
				assert.Len(t, drains, v.drains)
			}

			strict, err := value.ParseStrict()
			switch v.command {
			case ok:
				require.NoError(t, err)
				assert.Equal(t, drains, strict)
			case mal, bounds:
				require.Error(t, err)
			}

			// Both commands read the stored value first, so both must meet its verdict.
			_, addErr := Add(value, Drain{ID: "new", Cluster: "worker-b", Reason: "r"})
			_, removeErr := Remove(value, "new")
			switch v.command {
			case ok:
				if v.drains < MaxDrains {
					assert.NoError(t, addErr)
				} else {
					assert.EqualError(t, addErr, MessageBounds)
				}
				assert.EqualError(t, removeErr, textIDMissing)
			case mal:
				assert.EqualError(t, addErr, MessageUnsafe)
				assert.EqualError(t, removeErr, MessageUnsafe)
			case bounds:
				assert.EqualError(t, addErr, MessageBounds)
				assert.EqualError(t, removeErr, MessageBounds)
			}
		})
	}
}

func TestVector15OrdersByID(t *testing.T) {
	drains, err := Parse(`{"b":{` + okBody + `},"a":{` + okBody + `}}`)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, drains.On("worker-a"))
}

func TestVector57ReplacesBadBytes(t *testing.T) {
	for _, value := range []string{
		"{\"a\":{\"cluster\":\"worker-a\",\"reason\":\"x\xffy\"}}",
		`{"a":{"cluster":"worker-a","reason":"x\ud800y"}}`,
	} {
		drains, err := Parse(value)
		require.NoError(t, err)
		assert.Equal(t, "x\ufffdy", drains[0].Reason)
	}
}

func TestVector70SizeGoesBeforeContent(t *testing.T) {
	_, err := ParseStrict(strings.Repeat("x", MaxBytes+1))
	var refusal *Refusal
	require.True(t, errors.As(err, &refusal))
	assert.Equal(t, RuleSize, refusal.Rule)
}

func TestVector72IdenticalDrainExists(t *testing.T) {
	drain := Drain{ID: "a", Cluster: "worker-a", Reason: "r"}
	_, err := Add(Drains{drain}.Value(), drain)
	assert.EqualError(t, err, "traffic drain refused: override ID already exists")
}
