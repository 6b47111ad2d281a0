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

package systemnodes

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/systemnodes"
)

func report() *systemnodes.Report {
	return &systemnodes.Report{
		SystemNodes: []string{"a", "b"},
		Components: []systemnodes.ComponentReport{
			{
				Component: "cert-manager", Namespace: "cert-manager", Name: "cm", Wanted: 1, Ready: 1, Nodes: []string{"a"},
				Drains: map[string]systemnodes.Outcome{"a": systemnodes.OutcomeInterrupts}, CordonAll: systemnodes.OutcomeInterrupts, Fixes: []string{"scale it"},
			},
			{
				Component: "endpoint-picker", Namespace: "ml", Name: "chat-epp", Counts: true, Wanted: 3, Ready: 2, Nodes: []string{"", "a", "a"}, Budgets: []string{"x", "y"},
				Drains: map[string]systemnodes.Outcome{"b": systemnodes.OutcomeBlocks, "a": systemnodes.OutcomeInterrupts, "c": systemnodes.OutcomeOK}, CordonAll: systemnodes.OutcomeBlocks, Fixes: []string{"one", "two"},
			},
			{Component: "coredns", Namespace: "sys", Name: "dns", Counts: true, Wanted: 0, CordonAll: systemnodes.OutcomeOK},
		},
		Others: []string{"pod team/db-0 keeps the drain of node a from ending: x"},
	}
}

func TestTheTable(t *testing.T) {
	var out bytes.Buffer
	o := &check{Factory: cli.NewFactory(cli.Evenkeel, genericiooptions.IOStreams{Out: &out}), output: cli.FormatTable}
	require.NoError(t, o.print(report()))
	const want = `NAMESPACE      NAME       COMPONENT         READY   NODES            BUDGET   DRAIN                        CORDON-ALL
cert-manager   cm         cert-manager      1/1     a                <none>   interrupts (a)               interrupts
ml             chat-epp   endpoint-picker   2/3     Pending,a(2)     x,y      blocks (b),interrupts (a)    blocks
sys            dns        coredns           0/0     <none>           <none>   ok                           ok

pod team/db-0 keeps the drain of node a from ending: x

cert-manager/cm: (requests do not fail for it)
  - scale it

ml/chat-epp:
  - one
  - two

Maintenance of the system nodes (a, b) would interrupt serving, or never end.
`
	assert.Equal(t, compact(want), compact(out.String()))
	assert.Contains(t, out.String(), "Maintenance of the system nodes (a, b)")

	out.Reset()
	require.NoError(t, o.print(&systemnodes.Report{OK: true}))
	assert.Contains(t, out.String(), "No maintenance of the system nodes (<none>) would interrupt serving.")
}

// TestTheAnswer is what the exit code says, which a script may be all that reads.
func TestTheAnswer(t *testing.T) {
	fine := report()
	fine.OK = true
	blocked := &systemnodes.Report{Others: []string{"pod team/db-0 keeps the drain of node a from ending: x"}}
	for name, tc := range map[string]struct {
		report *systemnodes.Report
		code   int
		says   string
	}{
		"fine":       {fine, cli.ExitOK, ""},
		"interrupts": {report(), cli.ExitError, ""},
		"blocks":     {blocked, cli.ExitError, ""},
		"elsewhere":  {&systemnodes.Report{OK: true}, cli.ExitUnknown, "error: nothing here is a component of the serving path"},
	} {
		t.Run(name, func(t *testing.T) {
			var errOut bytes.Buffer
			cmd := &cobra.Command{Use: "check", Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true}
			cmd.RunE = func(*cobra.Command, []string) error {
				o := &check{Factory: cli.NewFactory(cli.Evenkeel, genericiooptions.IOStreams{Out: &bytes.Buffer{}}), output: cli.FormatTable}
				return o.answer(tc.report)
			}
			cli.Answers(cmd)
			cmd.SetArgs([]string{})
			assert.Equal(t, tc.code, cli.Report(&errOut, cmd.Execute()))
			assert.Contains(t, errOut.String(), tc.says)
		})
	}
}

// compact makes runs of spaces one, which is all that the widths of columns are.
func compact(text string) string {
	var b bytes.Buffer
	space := false
	for _, r := range text {
		if r == ' ' && space {
			continue
		}
		space = r == ' '
		b.WriteRune(r)
	}
	return b.String()
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	o := &check{Factory: cli.NewFactory(cli.Evenkeel, genericiooptions.IOStreams{Out: &out}), output: cli.FormatJSON}
	require.NoError(t, o.print(report()))
	var got systemnodes.Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	assert.Equal(t, report(), &got)
}

func TestWhatItRefuses(t *testing.T) {
	o := &check{Factory: cli.NewFactory(cli.Evenkeel, genericiooptions.IOStreams{}), output: "wide"}
	require.ErrorContains(t, o.run(t.Context()), `unsupported output format "wide"`)
	o.output, o.config = cli.FormatTable, "testdata/none.yaml"
	require.ErrorContains(t, o.run(t.Context()), "read the configuration")
}
