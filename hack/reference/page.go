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
	"bytes"
	"fmt"
	"strings"
)

// meaningColumn is the heading of the column that must not be empty.
const meaningColumn = "Meaning"

// page is what is written, and what it lacks.
type page struct {
	bytes.Buffer
	// missing names what has no meaning.
	missing []string
}

// table writes a Markdown table, or nothing if it has no rows. The first cell of a row is its name.
func (p *page) table(header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	line := func(cells []string) { fmt.Fprintf(p, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, row := range rows {
		for i, cell := range row {
			if header[i] == meaningColumn && cell == "" {
				p.missing = append(p.missing, row[0])
			}
		}
		line(row)
	}
	p.WriteString("\n")
}

// prose makes a text fit for a cell of a table.
func prose(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;").Replace(strings.Join(strings.Fields(text), " "))
}

// code makes a text fit for a cell, as code.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}
