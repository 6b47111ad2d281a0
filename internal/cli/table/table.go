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

// Package table prints aligned columns as kubectl does, also where texts hold characters
// that a terminal shows two cells wide or none.
package table

import (
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// gap is what stands between two columns.
const gap = "   "

// Write prints rows, of which the first usually holds the headers. The last cell of a row is
// not padded.
func Write(out io.Writer, rows [][]string) error {
	widths := columnWidths(rows)
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-Cells(cell)) + gap)
			}
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func columnWidths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Cells(cell))
		}
	}
	return widths
}

// Cells is how wide a terminal shows a text.
func Cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// Fold splits a text into pieces of at most limit cells, which must be at least 2. An empty
// text is one empty piece.
func Fold(s string, limit int) []string {
	var pieces []string
	start, used := 0, 0
	for i, r := range s {
		n := runeCells(r)
		if used+n > limit {
			pieces = append(pieces, s[start:i])
			start, used = i, 0
		}
		used += n
	}
	return append(pieces, s[start:])
}

const ellipsis = "..."

// Cut shortens a text to at most limit cells, of which the last three then say that it is
// longer. An empty text becomes "-".
func Cut(s string, limit int) string {
	if s == "" {
		return "-"
	}
	if Cells(s) <= limit {
		return s
	}
	return Fold(s, limit-len(ellipsis))[0] + ellipsis
}
