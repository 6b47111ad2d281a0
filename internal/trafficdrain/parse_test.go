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
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestParseErrorTexts has every text that the controller can log, whole. Tails of the
// JSON library are those of the Go version that the module pins.
func TestParseErrorTexts(t *testing.T) {
	for _, tc := range []struct{ name, value, text string }{
		{"garbage first", `x`, `decode top-level object: invalid character 'x' looking for beginning of value`},
		{"number", `7`, `top-level value must be a JSON object keyed by override ID`},
		{"number as ID", `{1:{OK}}`, `decode override ID: invalid character '1'`},
		{"missing comma", `{"a":{OK} "b":{OK}}`, `decode override ID: invalid character '"' after object key:value pair`},
		{"comment", `{/* x */}`, `decode override ID: invalid character '/'`},
		{"blank ID", `{"  ":{OK}}`, `override ID must be non-empty`},
		{"ID after newline", `{"\na":{OK}}`, `override ID must not have leading or trailing whitespace`},
		{"ideographic space", `{"a\u3000":{OK}}`, `override ID must not have leading or trailing whitespace`},
		{"next line", `{"a\u0085":{OK}}`, `override ID must not have leading or trailing whitespace`},
		{"duplicate ID is found before its body is read", `{"a":{OK},"a":7}`, `duplicate override ID "a"`},
		{"ID that needs quoting", `{"a\"b":7}`, `override "a\"b" must be a JSON object`},
		{"no colon", `{"a" {OK}}`, `override "a": decode object: invalid character '{' after object key`},
		{"no value", `{"a":}`, `override "a": decode object: invalid character '}' looking for beginning of value`},
		{"nothing after ID", `{"a"`, `override "a": decode object: EOF`},
		{"bad inner name", `{"a":{cluster:"x"}}`, `override "a": decode field: invalid character 'c'`},
		{"inner trailing comma", `{"a":{OK,}}`, `override "a": decode field: invalid character '}' looking for beginning of object key string`},
		{"duplicate inner name is found before its value is read", `{"a":{"reason":"r","reason":7}}`, `override "a" has duplicate field "reason"`},
		{"duplicate unknown name reports the first", `{"a":{"x":"1","x":"2"}}`, `override "a" has unknown field "x"`},
		{"object for a string", `{"a":{"reason":{}}}`, `override "a" field "reason" must be a string: json: cannot unmarshal object into Go value of type string`},
		{"bool for a string", `{"a":{"reason":true}}`, `override "a" field "reason" must be a string: json: cannot unmarshal bool into Go value of type string`},
		{"null for an unknown name", `{"a":{"x":null}}`, `override "a" has unknown field "x"`},
		{"string cut off", `{"a":{"reason":"r`, `override "a" field "reason" must be a string: unexpected EOF`},
		{"inner object cut off", `{"a":{OK`, `override "a": close object: EOF`},
		{"inner object closed as array", `{"a":{OK]}`, `override "a": close object: invalid character ']' after object key:value pair`},
		{"blank cluster", `{"a":{"cluster":" ","reason":""}}`, `override "a" cluster must be non-empty`},
		{"cluster before reason", `{"a":{"reason":" r","cluster":"c "}}`, `override "a" cluster must not have leading or trailing whitespace`},
		{"reason null", `{"a":{"cluster":"c","reason":null}}`, `override "a" reason must be non-empty`},
		{"reason in white space", `{"a":{"cluster":"c","reason":"\u00a0r"}}`, `override "a" reason must not have leading or trailing whitespace`},
		{"first fault of two wins", `{"a":{"cluster":1},"a":7}`, `override "a" field "cluster" must be a string: json: cannot unmarshal number into Go value of type string`},
		{"outer object closed as array", `{"a":{OK}]`, `close top-level object: invalid character ']' after object key:value pair`},
		{"trailing comma token", `{},`, `decode trailing data: invalid character ',' looking for beginning of value`},
		{"trailing string", `{} "x"`, `unexpected trailing JSON token x`},
		{"trailing number", `{} 12`, `unexpected trailing JSON token 12`},
		{"trailing null", `{} null`, `unexpected trailing JSON token <nil>`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			drains, err := Parse(strings.ReplaceAll(tc.value, "OK", okBody))
			assert.EqualError(t, err, tc.text)
			assert.Nil(t, drains)
			var refusal *Refusal
			require.True(t, errors.As(err, &refusal))
			assert.Equal(t, RuleMalformed, refusal.Rule)
			assert.False(t, refusal.Bounds())
			assert.Contains(t, refusal.Explain(), refusal.Safe())
		})
	}
}

func TestParseHasNoLimits(t *testing.T) {
	drains, err := Parse(numbered(2000).Encode())
	require.NoError(t, err)
	assert.Len(t, drains, 2000)

	drains, err = Parse(`{"a":{"cluster":"worker-a","reason":"` + strings.Repeat("r", 1<<20) + `"}}`)
	require.NoError(t, err)
	assert.Len(t, drains[0].Reason, 1<<20)
}

func TestParseSurvivesDepth(t *testing.T) {
	_, err := Parse(`{"a":{"x":` + strings.Repeat("[", 1<<20))
	assert.ErrorContains(t, err, `override "a" field "x" must be a string: `)
}

func TestParseOrdersBytewise(t *testing.T) {
	drains, err := Parse(`{"ä":{` + okBody + `},"b":{` + okBody + `},"B":{` + okBody + `},"a-1":{` + okBody + `},"a":{` + okBody + `}}`)
	require.NoError(t, err)
	var ids []string
	for _, d := range drains {
		ids = append(ids, d.ID)
	}
	assert.Equal(t, []string{"B", "a", "a-1", "b", "ä"}, ids)
}

func TestRefusalOfParserHidesSecrets(t *testing.T) {
	const secret = "sk-123456789012345678901234"
	for _, value := range []string{
		`{"` + secret + `":7}`,
		`{"my ` + secret + `":7}`,
		`{"a":{"` + secret + `":"x"}}`,
		`{"a":{OK}} "` + secret + `"`,
		`{"` + token + `":7}`,
		`{"\u0000` + secret + `":7}`,
		`{"a":{OK},"` + secret + `":{OK},"` + secret + `":{OK}}`,
	} {
		_, err := Parse(strings.ReplaceAll(value, "OK", okBody))
		var refusal *Refusal
		require.True(t, errors.As(err, &refusal), value)
		assert.NotContains(t, refusal.Safe(), "sk-1234", value)
		assert.NotContains(t, refusal.Explain(), "SflKxwRJSMeKKF2QT4", value)
		assert.Contains(t, refusal.Safe(), "<redacted>", value)
	}
}

func TestRefusalIsBounded(t *testing.T) {
	_, err := Parse(`{"` + strings.Repeat("ä", 100000) + `":7}`)
	var refusal *Refusal
	require.True(t, errors.As(err, &refusal))
	assert.Less(t, len(refusal.Explain()), 1000)
	assert.Equal(t, `override "`+strings.Repeat("ä", 40)+`..." must be a JSON object`, refusal.Safe())
}

func TestRefusalUnwrapsTheLibrarysError(t *testing.T) {
	_, err := Parse(`{"a":{"cluster":1}}`)
	assert.ErrorContains(t, errors.Unwrap(err), "json: cannot unmarshal number")
}
