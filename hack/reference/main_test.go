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

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func parsed(t *testing.T, source string) sourceFile {
	t.Helper()
	syntax, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+source, parser.ParseComments)
	require.NoError(t, err)
	return sourceFile{path: "controllers/x/x.go", syntax: syntax}
}

// TestPage makes the whole page, on which nothing may be without a meaning.
func TestPage(t *testing.T) {
	t.Chdir("../..")
	content, err := generate()
	require.NoError(t, err)
	for _, part := range []string{
		"### kubectl evenkeel drain\n", "### kubectl evenkeel plan apply\n", "| `--accept-shortfall` |", "| `-o, --output` | `table` |",
		"## DisruptionPolicy (evenkeel.io/v1alpha1)\n", "| `spec.whenUnplaceable` | `Evict, Hold` |",
		"## HubManagerConfiguration, the configuration of hub-manager\n", "| `modelDeployments.maxParallelMoves` |",
		"### PreemptionArgs\n", "| `FailingToServe` |", "| `DrainStuck` |", "| `evenkeel.io/drain-reason` |",
		"| `evenkeel_drain_replicas_left` | `cluster",
	} {
		assert.Contains(t, string(content), part)
	}
	assert.NotContains(t, string(content), "--help")
	assert.NotContains(t, string(content), "__complete")
}

func TestTableMissesMeanings(t *testing.T) {
	p := &page{}
	p.table([]string{"Name", "Default", meaningColumn}, [][]string{{"`a`", "", "something"}, {"`b`", "1", ""}})
	assert.Equal(t, []string{"`b`"}, p.missing)
	assert.Equal(t, "| Name | Default | Meaning |\n| --- | --- | --- |\n| `a` |  | something |\n| `b` | 1 |  |\n\n", p.String())
	p = &page{}
	p.table([]string{meaningColumn}, nil)
	assert.Empty(t, p.String())
}

func TestConstants(t *testing.T) {
	file := parsed(t, `
// EventAlone is a constant of its own.
const EventAlone = "Alone"

// Reasons of events.
const (
	// EventGood is | good.
	EventGood = "Good"
	EventBad  = "Bad"
	Eventful  = "no event"
	EventNumber = 7
	other     = "Other"
)
`)
	assert.Equal(t, [][]string{
		{"`Alone`", "a constant of its own.", "`controllers/x`"},
		{"`Good`", `\| good.`, "`controllers/x`"},
		{"`Bad`", "", "`controllers/x`"},
	}, constantsOf(file, []string{"Event"}), "a comment on a group is not about each of it")
}

func TestMetricOf(t *testing.T) {
	for source, want := range map[string][]string{
		`f(Opts{Name: "evenkeel_a", Help: "About a."}, []string{"x", "y"})`: {"evenkeel_a", "About a.", "x", "y"},
		`f(Opts{Name: "evenkeel_b", Help: "About b."})`:                     {"evenkeel_b", "About b."},
		`f("evenkeel_c", "About c.", []string{"x"}, nil)`:                   {"evenkeel_c", "About c.", "x"},
		`f("evenkeel_d")`: {"", ""},
	} {
		e, err := parser.ParseExpr(source)
		require.NoError(t, err)
		name, help, labels := metricOf(e.(*ast.CallExpr))
		assert.Equal(t, want, append([]string{name, help}, labels...), source)
	}
}

func TestStructFields(t *testing.T) {
	structs := map[string]*ast.StructType{}
	for _, spec := range typesOf(parsed(t, `
type Config struct {
	Inlined `+"`json:\",inline\"`"+`
	// Parts of it.
	// +optional
	Parts []Part `+"`json:\"parts,omitempty\"`"+`
	hidden int
}
type Inlined struct {
	// Kind of it.
	Kind string `+"`json:\"kind\"`"+`
}
type Part struct {
	// Name of the part.
	Name *string `+"`json:\"name\"`"+`
}
`).syntax) {
		structs[spec.Name.Name] = spec.Type.(*ast.StructType)
	}
	assert.Equal(t, [][]string{
		{"`kind`", "Kind of it."}, {"`parts`", "Parts of it."}, {"`parts[].name`", "Name of the part."},
	}, structFields("", "Config", structs))
}
