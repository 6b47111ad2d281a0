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

// Command reference writes docs/reference.md: every command with its flags, every field of Evenkeel's kinds and
// configuration files, every reason, event and metric. It reads them from the commands themselves and from the Go source,
// so that what it writes is what the programs have; what it means is in the comments there.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	out := flag.String("out", "docs/reference.md", "file to write")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	b := &bytes.Buffer{}
	b.WriteString(`# Reference

This page is made by ` + "`make generate`" + ` from the commands and the source. What belongs together, and what to do when, is in
[concepts.md](concepts.md), [drain.md](drain.md) and [operations.md](operations.md).

`)
	commands(b)
	if err := kinds(b); err != nil {
		return err
	}
	source, err := parse("apis", "cmd", "controllers", "internal", "plugins", "webhooks")
	if err != nil {
		return err
	}
	constants(b, source)
	metrics(b, source)
	return os.WriteFile(out, b.Bytes(), 0o644)
}

// table writes a Markdown table, or nothing if it has no rows.
func table(b *bytes.Buffer, header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	line := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	b.WriteString("\n")
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
