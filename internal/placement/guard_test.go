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
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Selectors that would take minutes or gigabytes in a single call end at once, and match nothing. Each ends with a test
// that would be true.
func TestSelectorsThatNeverEnd(t *testing.T) {
	const deadline = 30 * time.Second
	letters := strings.Repeat("x", 2000)
	for name, expression := range map[string]string{
		"a long range":               `lists.range(1000000000).size() > 0`,
		"many long ranges":           `lists.range(2000).exists(i, lists.range(1000000000 + i).size() > 0)`,
		"texts between letters":      fmt.Sprintf(`"%s".replace("", "%s").replace("", "%s").replace("", "%s").size() > 0`, letters, letters, letters, letters),
		"an error is no way around":  fmt.Sprintf(`"%s".replace("", "%s").replace("", "%s").replace("", "%s").size() > 0 || true`, letters, letters, letters, letters),
		"joined by a long separator": fmt.Sprintf(`lists.range(1000).map(i, "%s").join("%s").size() > 0`, letters, letters),
		"shared lists are compared":  shared(40, "x39 == y39"),
		"shared lists differ":        shared(40, "!(x39 != y39)"),
		"shared lists in a list":     shared(40, "x39 in [y39]"),
		"shared lists are flattened": shared(40, "x39.flatten(100).size() > 0"),
		"shared sets":                shared(40, "sets.contains([x39], [y39])"),
		"digits without end":         `"%.1000000000f".format([1.0]).size() > 0`,
		"a text that doubles":        doubled(60),
		"a pattern with repetitions": fmt.Sprintf(`"%s".replace("", "xxxxxxxx").matches("%s$") || true`, letters, strings.Repeat("(x?){1000}", 300)),
		"a pattern that is computed": fmt.Sprintf(`"%s".matches(string(device.driver.size()) + "%s$") || true`, letters, strings.Repeat("(x?){1000}", 300)),
		"all different ones":         `lists.range(2000).map(i, [i]).distinct().size() > 0`,
	} {
		t.Run(name, func(t *testing.T) {
			require.LessOrEqual(t, len(expression), 10240, "the longest selector that a deployment can have")
			verdicts := make(chan verdict, 1)
			go func() { verdicts <- judge(NewMatcher(), novaDevice(), expression) }()
			select {
			case got := <-verdicts:
				assert.NotEqual(t, yes, got)
			case <-time.After(deadline):
				require.Fail(t, "the selector is still being evaluated")
			}
		})
	}
}

// shared gives two equal lists x and y that have themselves twice in each level.
func shared(levels int, test string) string {
	expression := test
	for level := levels - 1; level >= 0; level-- {
		for _, name := range []string{"x", "y"} {
			value := `["a"]`
			if level > 0 {
				value = fmt.Sprintf("[dyn(%s%d), dyn(%s%d)]", name, level-1, name, level-1)
			}
			expression = fmt.Sprintf("cel.bind(%s%d, %s, %s)", name, level, value, expression)
		}
	}
	return expression
}

func doubled(times int) string {
	expression := fmt.Sprintf("s%d.size() > 0", times)
	for i := times; i > 0; i-- {
		expression = fmt.Sprintf("cel.bind(s%d, s%d + s%d, %s)", i, i-1, i-1, expression)
	}
	return `cel.bind(s0, "abcdefgh", ` + expression + ")"
}

// What is measured is far above what selectors have any use for.
func TestSelectorsOfAnyUse(t *testing.T) {
	var models []string
	for i := range 400 {
		models = append(models, fmt.Sprintf("%q", fmt.Sprintf("model-%d", i)))
	}
	long := strings.Repeat("a", 250)
	for _, expression := range []string{
		`A.arch in [` + strings.Join(models, ", ") + `, "Nova"]`,
		`[` + strings.Join(models, ", ") + `].exists(m, m == "model-399")`,
		`["Nova", "Terra"].map(m, m.lowerAscii()).exists(m, m == A.arch.lowerAscii())`,
		`"` + long + `".matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")`,
		`A.arch.matches("^(Nova|Terra){1,3}$")`,
		`"` + long + `".replace("a", "bb").size() == 500`,
		`lists.range(64).filter(i, i % 8 == 0).size() == 8`,
		`["a", "b", "a"].distinct().join("-") == "a-b"`,
		`"%d of %d".format([7, 8]) == "7 of 8"`,
		`sets.contains(["Nova", "Terra"], [A.arch])`,
		`{"Nova": 80, "Terra": 40}[A.arch] >= 80`,
		`A.arch.split("").size() == 4 && A.arch.contains("ov") && A.arch.indexOf("v") == 2`,
		`timestamp("2026-01-01T00:00:00Z").getFullYear() == 2026 && duration("1h").getMinutes() == 60`,
		`A.cc.compareTo(semver("9.5.3")) == 0 && semver("v1.2", true).minor() == 2`,
		`-A.n == 0 - 8 && A.n * 2 - 8 == 8 && A.n / 2 == 4 && !A.no`,
		`A.?nope.orValue("none") == "none" || A.arch == "Nova"`,
		`[1, 2] + [3] == [1, 2, 3] && {"a": [1]} == {"a": [1]} && "a" + "b" != "a"`,
	} {
		t.Run(expression, func(t *testing.T) {
			assert.Equal(t, yes, judge(NewMatcher(), novaDevice(), expression))
		})
	}
}

func TestCountedRepetitions(t *testing.T) {
	for expression, want := range map[string]verdict{
		`"aaa".matches("^a{3}$")`:   yes,
		`"aaa".matches("^a{2,}$")`:  yes,
		`"aaa".matches("^a{1,2}$")`: no,
		fmt.Sprintf(`"x".matches("%s")`, strings.Repeat("(x?){1000}", 10)):          yes,
		fmt.Sprintf(`"x".matches("%s")`, strings.Repeat("(x?){1000}", 11)):          badProgram,
		fmt.Sprintf(`"x".matches("%s")`, strings.Repeat("(x?){1,1000}", 11)):        badProgram,
		fmt.Sprintf(`"x".matches("%s")`, strings.Repeat("(x?)\\u007b1000}", 11)):    badProgram,
		fmt.Sprintf(`["%s"].exists(p, "x" == p)`, strings.Repeat("(x?){1000}", 11)): badProgram,
		fmt.Sprintf(`"x".matches("%s") ||`, strings.Repeat("(x?){1000}", 11)):       badProgram,
	} {
		assert.Equal(t, want, judge(NewMatcher(), novaDevice(), expression), expression)
	}
	err := NewMatcher().program(fmt.Sprintf(`"x".matches("%s")`, strings.Repeat("(x?){1000}", 11))).err
	assert.ErrorContains(t, err, "11000 counted repetitions such as a{1000}, and 10000 are allowed in all")
}
