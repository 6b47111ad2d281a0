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

package traffic

import (
	"fmt"
	"io"
	"strings"

	"github.com/evenkeel-io/evenkeel/internal/cli/guarded"
	"github.com/evenkeel-io/evenkeel/internal/cli/table"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

const (
	previewTitle = "ALPHA guarded traffic action (not TrafficMap convergence)"
	// previewCells is the widest value of a row; a longer one goes on in the next.
	previewCells = 60
)

var previewNotes = []string{
	"API acceptance is not TrafficMap convergence or data-plane realization.",
	"The exact InferenceService UID/resourceVersion is tested atomically.",
	"Other annotations and traffic-drain override IDs are preserved.",
	"Run the previewed traffic status command to observe controller evidence.",
}

// preview says on stderr exactly what is going to be done.
func (a *action) preview(t target, p *guarded.Plan) error {
	rows := [][]string{{"FIELD", "VALUE"}}
	for _, row := range [][2]string{
		{"Action", a.name},
		{"Context", t.context},
		{"Workload NS", t.namespace},
		{"Target", "InferenceService/" + t.name},
		{"UID", string(p.Service.UID)},
		{"ResourceVersion", p.Service.ResourceVersion},
		{"Dry-run", a.dryRun},
		{"Override ID", p.Drain.ID},
		{"Cluster", p.Drain.Cluster},
		{"Reason", fmt.Sprintf("%q", p.Drain.Reason)},
		{"Override count", arrow(len(p.Before), len(p.After))},
		{"Annotation", trafficdrain.AnnotationKey},
		{"Follow-up", a.followUp(t)},
	} {
		rows = append(rows, previewRows(row[0], row[1])...)
	}
	var b strings.Builder
	b.WriteString(previewTitle + "\n")
	if err := table.Write(&b, rows); err != nil {
		return err
	}
	b.WriteString(strings.Join(previewNotes, "\n") + "\n")
	_, err := io.WriteString(a.ErrOut, b.String())
	return err
}

func previewRows(field, value string) [][]string {
	if value == "" {
		value = "<absent>"
	}
	var rows [][]string
	for _, piece := range table.Fold(value, previewCells) {
		rows = append(rows, []string{field, piece})
		field = "(continued)"
	}
	return rows
}

func arrow(before, after int) string {
	return fmt.Sprintf("%d -> %d", before, after)
}
