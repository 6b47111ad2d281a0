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

package follow

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli/table"
)

// NewLines gives a view that prints a line for each change.
func NewLines(out io.Writer) View { return &lines{out: out} }

type lines struct {
	out  io.Writer
	took time.Duration
}

func (l *lines) Show(_, changed []*Row, took time.Duration) error {
	l.took = took
	for _, row := range changed {
		if err := l.Say(row.String()); err != nil {
			return err
		}
	}
	return nil
}

func (l *lines) Say(line string) error {
	_, err := fmt.Fprintf(l.out, "%4.0fs  %s\n", l.took.Seconds(), line)
	return err
}

func (*lines) Close() error { return nil }

// NewScreen gives a view that is drawn anew on a terminal with each change. It shows as many rows as
// fit, what is on the move first.
func NewScreen(terminal *os.File) View {
	return &screen{out: terminal, now: time.Now, size: func() (int, int) {
		width, height, err := term.GetSize(int(terminal.Fd()))
		if err != nil || width < minWidth || height < minHeight {
			return defaultWidth, defaultHeight
		}
		return width, height
	}}
}

// Sizes of a terminal, in cells: those taken where it does not tell, and the least that is drawn on.
const (
	defaultWidth, defaultHeight = 80, 24
	minWidth, minHeight         = 20, 4
)

type screen struct {
	out  io.Writer
	now  func() time.Time
	size func() (width, height int)
	// drawn is how many lines of the view stand above the cursor.
	drawn int
}

const (
	clearToEnd = "\x1b[J"
	cursorUp   = "\x1b[%dA"
)

func (s *screen) Show(rows, _ []*Row, took time.Duration) error {
	width, height := s.size()
	text := screenLines(rows, took, s.now(), height-1)
	var b strings.Builder
	s.home(&b)
	for _, line := range text {
		b.WriteString(table.Cut(line, width-1) + "\n")
	}
	s.drawn = len(text)
	_, err := io.WriteString(s.out, b.String())
	return err
}

// home moves to where the view begins, and clears it.
func (s *screen) home(b *strings.Builder) {
	if s.drawn > 0 {
		fmt.Fprintf(b, cursorUp, s.drawn)
	}
	b.WriteString("\r" + clearToEnd)
	s.drawn = 0
}

func (s *screen) Say(line string) error {
	var b strings.Builder
	s.home(&b)
	b.WriteString(line + "\n")
	_, err := io.WriteString(s.out, b.String())
	return err
}

func (*screen) Close() error { return nil }

// screenLines is the view as lines, at most height of them.
func screenLines(rows []*Row, took time.Duration, now time.Time, height int) []string {
	text := []string{fmt.Sprintf("%d of %s left, %s", LeftOf(rows), countOf(len(rows)), took.Round(time.Second))}
	if len(rows) == 0 {
		return text
	}
	cells := [][]string{{"REPLICA", "STEP", "TO", "TIME", "WAITS FOR"}}
	for _, row := range byUrgency(rows) {
		cells = append(cells, []string{row.Replica.String(), row.Step, dash(row.To), row.Took(now).String(), dash(row.WaitingFor)})
	}
	hidden := 0
	if room := height - len(text); len(cells) > room {
		hidden = len(cells) - room + 1
		cells = cells[:len(cells)-hidden]
	}
	var b strings.Builder
	_ = table.Write(&b, cells) // a builder takes everything
	text = append(text, strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")...)
	if hidden > 0 {
		text = append(text, fmt.Sprintf("... and %d more", hidden))
	}
	return text
}

// byUrgency puts first what is on the move, then what waits, then what is over.
func byUrgency(rows []*Row) []*Row {
	var moving, waiting, over []*Row
	for _, row := range rows {
		switch {
		case row.Step == evenkeel.StepServing || row.Step == StepStays || row.Step == StepGone:
			over = append(over, row)
		case row.Step == evenkeel.StepWaiting || row.Step == StepTolerating:
			waiting = append(waiting, row)
		default:
			moving = append(moving, row)
		}
	}
	return append(append(moving, waiting...), over...)
}

func countOf(n int) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
