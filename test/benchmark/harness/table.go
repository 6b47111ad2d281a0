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

package harness

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// WriteTable prints rows under a header, all columns aligned to the right, which
// suits numbers.
func WriteTable(w io.Writer, header []string, rows [][]string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range append([][]string{header}, rows...) {
		// The writer aligns what a tab ends.
		if _, err := fmt.Fprintf(table, "%s\t\n", strings.Join(row, "\t")); err != nil {
			return fmt.Errorf("print a table: %w", err)
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print a table: %w", err)
	}
	return nil
}

// Decimals formats a number for a cell.
func Decimals(value float64, places int) string { return strconv.FormatFloat(value, 'f', places, 64) }
