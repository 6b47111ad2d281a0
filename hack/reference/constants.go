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
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"strings"
)

// sections are the kinds of constants that people meet on objects, by how the constants' names begin.
var sections = []struct {
	title, intro string
	prefixes     []string
}{
	{"Conditions", "Types of conditions that Evenkeel writes.", []string{"Condition"}},
	{"Reasons", "Reasons of conditions.", []string{"Reason"}},
	{"Causes", "Why a replica must leave: the reason of the condition `DisruptionTarget`.", []string{"Cause"}},
	{"Steps and waits of moves", "In `status.move` of a ReplicaPlacement: `step`, and `reason` while the replica has not left.", []string{"Step", "Leaving"}},
	{"Events", "Reasons of events.", []string{"Event", "reason"}},
	{"Annotations and labels", "On objects of any kind.", []string{"Annotation", "Label"}},
}

// own tells the folders whose constants are Evenkeel's to define: other people's kinds have their own reference.
func own(path string) bool {
	return !strings.HasPrefix(path, filepath.Join("apis", "modelplane")) && !strings.HasPrefix(path, filepath.Join("apis", "ome")) &&
		!strings.HasPrefix(path, filepath.Join("internal", "standin")) && !strings.HasPrefix(path, filepath.Join("internal", "cli"))
}

// constants writes the strings that stand on objects and in events.
func constants(p *page, source []sourceFile) {
	for _, section := range sections {
		var rows [][]string
		for _, file := range source {
			if own(file.path) {
				rows = append(rows, constantsOf(file, section.prefixes)...)
			}
		}
		fmt.Fprintf(p, "## %s\n\n%s\n\n", section.title, section.intro)
		p.table([]string{"Name", meaningColumn, "Defined in"}, rows)
	}
}

func constantsOf(file sourceFile, prefixes []string) [][]string {
	var rows [][]string
	for _, d := range file.syntax.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if len(v.Names) != 1 || len(v.Values) != 1 || !named(v.Names[0].Name, prefixes) {
				continue
			}
			doc := v.Doc
			if doc == nil && !g.Lparen.IsValid() {
				doc = g.Doc
			}
			if value, is := literal(v.Values[0]); is {
				rows = append(rows, []string{code(value), prose(meaning(v.Names[0].Name, comment(doc))), code(filepath.Dir(file.path))})
			}
		}
	}
	return rows
}

// named tells whether a name begins with one of the prefixes and goes on as a new word.
func named(name string, prefixes []string) bool {
	for _, prefix := range prefixes {
		rest, has := strings.CutPrefix(name, prefix)
		if has && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
			return true
		}
	}
	return false
}

// meaning takes the constant's name, which readers of this page do not have, from the beginning of its comment.
func meaning(name, text string) string {
	return strings.TrimPrefix(strings.TrimPrefix(text, name+" "), "is ")
}
