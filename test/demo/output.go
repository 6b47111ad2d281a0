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
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// printer writes what a user sees. On a terminal the line of progress is written
// over; elsewhere each change of it is a line.
type printer struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	columns  func() int // of the terminal, or zero if that is not known
	steps    int
	progress string // the line that is written over, if one is open
}

func newPrinter(out io.Writer) *printer {
	p := &printer{out: out, columns: func() int { return 0 }}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.terminal = true
		p.columns = func() int {
			columns, _, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 0
			}
			return columns
		}
	}
	return p
}

// printf writes text as it is.
func (p *printer) printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeProgress()
	// Nobody can be told that nobody can be told.
	_, _ = fmt.Fprintf(p.out, format, args...)
}

// title starts a scenario.
func (p *printer) title(format string, args ...any) {
	p.steps = 0
	p.printf("\n== %s\n", fmt.Sprintf(format, args...))
}

// step starts a numbered step of a scenario.
func (p *printer) step(format string, args ...any) {
	p.steps++
	p.printf("\n%d. %s\n", p.steps, fmt.Sprintf(format, args...))
}

// command shows a command and what it printed.
func (p *printer) command(line, output string) {
	p.printf("   $ %s\n%s", line, indent(output))
}

func (p *printer) passed(name string) {
	p.printf("   ok    %s\n", name)
}

func (p *printer) failed(name, detail string) {
	p.printf("   FAIL  %s\n%s", name, indent(detail))
}

// report shows how far something is.
func (p *printer) report(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.terminal {
		_, _ = fmt.Fprintf(p.out, "   .. %s\n", line)
		return
	}
	line = "   .. " + line
	if columns := p.columns(); columns > 0 && len(line) >= columns {
		line = line[:columns-1] // a line that wraps cannot be written over
	}
	padding := max(0, len(p.progress)-len(line))
	_, _ = fmt.Fprintf(p.out, "\r%s%s", line, strings.Repeat(" ", padding))
	p.progress = line
}

// endProgress leaves the last line of progress on the screen.
func (p *printer) endProgress() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeProgress()
}

func (p *printer) closeProgress() {
	if p.progress != "" {
		_, _ = fmt.Fprintln(p.out)
		p.progress = ""
	}
}

func indent(text string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return ""
	}
	return "   " + strings.ReplaceAll(text, "\n", "\n   ") + "\n"
}
