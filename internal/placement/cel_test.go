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
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

type verdict string

const (
	yes        verdict = "matches"
	no         verdict = "does not match"
	badProgram verdict = "does not compile"
)

// novaDevice is the device of the compatibility cases about CEL.
func novaDevice() modelplane.Device {
	return modelplane.Device{
		Name:   "gpu",
		Driver: testDriver,
		Count:  ptr.To[int64](1),
		Attributes: map[string]modelplane.DeviceAttribute{
			"arch":                {String: ptr.To("Nova")},
			"cc":                  {Version: ptr.To("9.5.3")},
			"topo.acme.test/root": {String: ptr.To("pci7")},
			"ok":                  {Bool: ptr.To(true)},
			"no":                  {Bool: ptr.To(false)},
			"n":                   {Int: ptr.To[int64](8)},
		},
		Capacity: map[string]modelplane.DeviceCapacity{"memory": {Value: "141Gi"}},
	}
}

// judge evaluates an expression, in which A stands for the device's own attributes and M for its memory.
func judge(m *Matcher, published modelplane.Device, expression string) verdict {
	expression = strings.NewReplacer(
		"A.", `device.attributes["gpu.acme.test"].`,
		"M.", `device.capacity["gpu.acme.test"].memory.`,
		"(M)", `(device.capacity["gpu.acme.test"].memory)`,
	).Replace(expression)
	d := prepareDevice(&published)
	budget := uint64(resourceapi.CELSelectorExpressionMaxCost)
	p := m.program(expression)
	switch {
	case p.err != nil:
		return badProgram
	case p.matches(&d, &budget):
		return yes
	default:
		return no
	}
}

func TestSelectorExpressions(t *testing.T) {
	m := NewMatcher()
	for _, c := range []struct {
		id, expression string
		want           verdict
	}{
		{"E1", `device.driver == "gpu.acme.test"`, yes},
		{"E1", `device.driver == "nic.acme.test"`, no},
		{"E2", `M.compareTo(quantity("141Gi")) >= 0`, yes},
		{"E2", `M.compareTo(quantity("200Gi")) >= 0`, no},
		{"E4", `sign(M) == 1`, yes},
		{"E5, Modelplane allows it", `M.sign() == 1`, badProgram},
		{"E5, Modelplane allows it", `compareTo(M, quantity("1")) == 1`, badProgram},
		{"E7", `M.add(quantity("1Gi")).compareTo(quantity("142Gi")) == 0`, yes},
		{"E7", `M.sub(quantity("1Gi")).compareTo(quantity("140Gi")) == 0`, yes},
		{"E8", `A.cc.isGreaterThan(semver("9.0.0"))`, yes},
		{"E8", `A.cc.isGreaterThan(semver("9.9.0"))`, no},
		{"E8", `A.cc.major() == 9 && A.cc.minor() == 5 && A.cc.patch() == 3`, yes},
		{"E10", `A.arch == "Nova"`, yes},
		{"E10", `A.ok`, yes},
		{"E10", `A.n >= 8`, yes},
		{"E10", `A.no`, no},
		{"E10", `A.n >= 9`, no},
		{"E11", `device.attributes["topo.acme.test"].root == "pci7"`, yes},
		{"E11", `A.root == "pci7"`, no},
		{"E13 unknown domain", `device.attributes["zzz.test"].x == "y"`, no},
		{"E13 unknown domain, negated", `device.attributes["zzz.test"].x != "y"`, no},
		{"E13 unknown name", `A.nope == "x"`, no},
		{"E14", `has(A.arch)`, yes},
		{"E14", `has(A.zz)`, no},
		{"E14", `!has(A.zz)`, yes},
		{"E14, Modelplane allows it", `has(device.attributes["gpu.acme.test"])`, badProgram},
		{"E16, in Modelplane no match", `"5"`, badProgram},
		{"E16", `A.n`, no},
		{"E17", `A.arch > 3`, no},
		{"E19", `not ) valid (`, badProgram},
		{"E19", `gadget.driver == "x"`, badProgram},
		{"E19", `frob("x") == 1`, badProgram},
		{"E19 nothing", ``, badProgram},
		{"quantity and version, in Modelplane no match", `quantity("1").compareTo(semver("1.0.0")) == 0`, badProgram},
		{"allowed here only", `"h100-sxm".find("h[0-9]+") == "h100"`, yes},
		{"allowed here only", `[1, 2].sum() == 3`, yes},
		{"allowed here only", `ip("192.0.2.1").family() == 4`, yes},
		{"allowed here only", `cidr("192.0.2.0/24").containsIP("192.0.2.1")`, yes},
		{"allowed here only", `cel.bind(a, device.attributes["gpu.acme.test"], a.ok && a.n == 8)`, yes},
		{"allowed here only", `"%d".format([8]) == "8"`, yes},
		{"allowed here only", `device.allowMultipleAllocations`, no},
		{"no lists of attributes", `[1].includes(1)`, badProgram},
	} {
		t.Run(c.id+" "+c.expression, func(t *testing.T) {
			assert.Equal(t, c.want, judge(m, novaDevice(), c.expression))
		})
	}
}

func TestQuantitiesInSelectors(t *testing.T) {
	m := NewMatcher()
	isQuantity := func(id string, want verdict, texts ...string) {
		for _, text := range texts {
			assert.Equal(t, want, judge(m, novaDevice(), fmt.Sprintf("isQuantity(%q)", text)), "%s: %q", id, text)
		}
	}
	isQuantity("Q1", yes, "20", "20M", "20Mi", "256e3", "1E3", "100n", "100u", "5.", "1.3Gi", "10000k", "10E", "256E")
	isQuantity("Q1, in Modelplane none", yes, "Mi", "Ki", "m", "k")
	isQuantity("Q2", no, "20Mo", "10Mm", "200K", "1,3G", "Three", "", " 5Gi", "5Gi ")
	for _, c := range []struct {
		id, expression string
		want           verdict
	}{
		{"Q4", `quantity("0.0000000004").compareTo(quantity("0.000000001")) == 0`, yes},
		{"Q5", `quantity("200M") == quantity("0.2G") && quantity("0.2G") == quantity("200000k")`, yes},
		{"Q5", `quantity("50M").isLessThan(quantity("50Mi")) && quantity("50Mi").isGreaterThan(quantity("50M"))`, yes},
		{"Q5", `quantity("200M") != quantity("0.3G")`, yes},
		{"Q7", `quantity("8Ei") == quantity("10Ei") && quantity("10Ei") == quantity("9223372036854775807")`, yes},
		{"Q7", `quantity("-10Ei") == quantity("-9223372036854775807") && quantity("7Ei").isLessThan(quantity("8Ei"))`, yes},
		{"Q8", `quantity("256E") == quantity("256000000000000000000") && quantity("256E").isGreaterThan(quantity("1Ei"))`, yes},
		{"Q10", `quantity("50.703k").asApproximateFloat() == 50703.0 && quantity("50000000G").isInteger()`, yes},
		{"Q11", `quantity("10Mo").isGreaterThan(quantity("1"))`, no},
		{"Q11", `!quantity("10Mo").isGreaterThan(quantity("1"))`, no},
		{"of the device", `quantity(A.arch).isGreaterThan(quantity("1"))`, no},
		{"not of text", `isQuantity(A.n)`, no},
		{"not of text", `quantity(A.n).isInteger()`, no},
	} {
		assert.Equal(t, c.want, judge(m, novaDevice(), c.expression), "%s: %s", c.id, c.expression)
	}
}

func TestVersionsInSelectors(t *testing.T) {
	m := NewMatcher()
	isSemver := func(id string, want verdict, suffix string, texts ...string) {
		for _, text := range texts {
			assert.Equal(t, want, judge(m, novaDevice(), fmt.Sprintf("isSemver(%q%s)", text, suffix)), "%s: %q", id, text)
		}
	}
	isSemver("Z2", no, "", "v1.0.0", "1", "1.1", "01.01.01", "hello", "", " 1.0.0", "1.0.0 ", "1. 0.0", "200K")
	isSemver("Z2", yes, "", "1.0.0", "1.0.0-rc.1+b")
	isSemver("Z3", yes, ", true", "v1.0.0", "1", "1.1", "01.01.01")
	isSemver("Z3", no, ", true", "", " 1.0.0", "1.0.0 ", "1-alpha")
	for _, c := range []struct{ id, expression string }{
		{"Z5", `semver("1.0.0").isLessThan(semver("1.2.3")) && semver("1.2.3").isLessThan(semver("2.0.0"))`},
		{"Z5", `!semver("1.0.0").isLessThan(semver("1.0.0")) && semver("1.2.3").compareTo(semver("0.1.2")) == 1`},
		{"Z6", `semver("1.0.0-rc.1").isLessThan(semver("1.0.0"))`},
		{"Z6", `semver("1.0.0-2").isLessThan(semver("1.0.0-10")) && semver("1.0.0-10").isLessThan(semver("1.0.0-a"))`},
		{"Z6", `semver("1.0.0+a").compareTo(semver("1.0.0+b")) == 0 && semver("1.0.0+a") == semver("1.0.0+b")`},
	} {
		assert.Equal(t, yes, judge(m, novaDevice(), c.expression), "%s: %s", c.id, c.expression)
	}
}

// A selector that is expensive does not match, and takes no time in which the scheduler would stand still.
func TestExpensiveSelectors(t *testing.T) {
	m := NewMatcher()
	ten := "[1,2,3,4,5,6,7,8,9,10]"
	nested := func(depth int) string {
		expression := "true"
		for i := range depth {
			expression = fmt.Sprintf("%s.all(v%d, %s)", ten, i, expression)
		}
		return expression
	}
	assert.Equal(t, yes, judge(m, novaDevice(), nested(4)))
	assert.Equal(t, no, judge(m, novaDevice(), nested(6)), "beyond the limit at run time")
	for _, text := range []string{`"1e100000000"`, `"1e-100000000"`, `"1e" + "100000000"`, `"9E999999999999999999"`, `"1e4294967297"`} {
		assert.Equal(t, no, judge(m, novaDevice(), fmt.Sprintf(`quantity(%s).isGreaterThan(quantity("1"))`, text)), text)
		assert.Equal(t, no, judge(m, novaDevice(), fmt.Sprintf(`isQuantity(%s)`, text)), text)
	}
	assert.Equal(t, no, judge(m, novaDevice(), fmt.Sprintf(`isQuantity("%s")`, strings.Repeat("1", 200))))
	assert.Equal(t, yes, judge(m, novaDevice(), `isQuantity("1e100") && quantity("1e100").isGreaterThan(quantity("1e99"))`))

	// One evaluation costs some 34,000.
	costly := m.program(nested(4))
	d := prepareDevice(ptr.To(novaDevice()))
	budget := uint64(50_000)
	assert.True(t, costly.matches(&d, &budget))
	assert.True(t, costly.matches(&d, &budget), "what is left is more than nothing")
	assert.Zero(t, budget)
	assert.False(t, costly.matches(&d, &budget))

	var requests []request
	for range 40 {
		requests = append(requests, request{count: 0, programs: []*program{costly}})
	}
	found := matchDevices(requests, []device{d})
	assert.False(t, found.ok, "all selectors share one budget")
	assert.Greater(t, len(found.devices), 20)
}

func TestInvalidSelectorError(t *testing.T) {
	m := NewMatcher()
	long := `"` + strings.Repeat("ö", 700) + `" + 1`
	engines := RequirementsOf([]modelplane.Engine{
		engineOf("main", leader(), workers(2, askGPU(80), ask("second", 1, "true", long))),
	})
	err := m.Validate(engines)
	var invalid *InvalidSelectorError
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, []any{"main", 1, "second", 1, long},
		[]any{invalid.Engine, invalid.Member, invalid.Request, invalid.Selector, invalid.Expression})
	assert.Contains(t, err.Error(), `engine "main", member 1, device request "second", selector 1: `)
	assert.Less(t, len(err.Error()), 1024)
	assert.True(t, utf8.ValidString(err.Error()))
	assert.ErrorIs(t, err, invalid.Err)

	first := RequirementsOf([]modelplane.Engine{single("main", ask("gpu", 1, "true", "(", ")")), single("other", ask("gpu", 1, "]"))})
	require.ErrorAs(t, m.Validate(first), &invalid)
	assert.Equal(t, "(", invalid.Expression, "the first is reported")

	assert.NoError(t, m.Validate(RequirementsOf(chat(1).Spec.Template.Spec.Engines)))
	assert.NoError(t, m.Validate(nil))
	assert.Error(t, m.Validate(engines), "the second time too")
}

func TestBounded(t *testing.T) {
	assert.Equal(t, "short", bounded("short", 10))
	assert.Equal(t, "exactly-10", bounded("exactly-10", 10))
	assert.Equal(t, "longer ...", bounded("longer than ten", 10))
	assert.Equal(t, "ööö...", bounded(strings.Repeat("ö", 50), 10))
	assert.Equal(t, "a\uFFFDb", bounded("a\xffb", 10))
}
