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
	content, err := generate()
	if err != nil {
		return err
	}
	return os.WriteFile(out, content, 0o644)
}

// generate makes the page. It is an error if something on it has no meaning: what is in the source without a comment.
func generate() ([]byte, error) {
	p := &page{}
	p.WriteString(`# Reference

This page is made by ` + "`make generate`" + ` from the commands and the source. What belongs together, and what to do when, is in
[concepts.md](concepts.md), [drain.md](drain.md) and [operations.md](operations.md).

`)
	commands(p)
	if err := kinds(p); err != nil {
		return nil, err
	}
	source, err := parse("apis", "cmd", "controllers", "internal", "plugins", "webhooks")
	if err != nil {
		return nil, err
	}
	constants(p, source)
	metrics(p, source)
	if len(p.missing) > 0 {
		return nil, fmt.Errorf("without a comment, description or help text: %s", strings.Join(p.missing, ", "))
	}
	return p.Bytes(), nil
}
