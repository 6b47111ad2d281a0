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

package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/complete"
	"github.com/evenkeel-io/evenkeel/internal/cli/table"
)

// history lists the moves from and to a cluster that finished placements remember.
type history struct {
	*cli.Factory
	output string
	now    func() time.Time
}

// NewHistory makes `kubectl evenkeel history`.
func NewHistory(f *cli.Factory) *cobra.Command {
	o := &history{Factory: f, now: time.Now}
	cmd := &cobra.Command{
		Use:   "history CLUSTER",
		Short: "Show which replicas have left a cluster or come to it, why, and who asked for it",
		Long: `history lists the finished moves from and to a cluster, the oldest first: cause, who asked for it, from, to, and how long
it took from when the replica had to leave until it was gone. Finished placements are kept for a day, at most ten a
deployment (ttlAfterFinished and historyLimit in hub-manager's configuration), so it goes back no further.`,
		Example: fmt.Sprintf(`  %[1]s history gpu-us-east
  %[1]s history gpu-us-east -o json`, f.Program),
		Args:              oneCluster(f),
		ValidArgsFunction: complete.First(complete.Names(f, complete.Clusters)),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", cli.FormatTable, "table, wide, json, yaml or jsonpath=TEMPLATE")
	complete.Flag(cmd, "output", complete.Values(append(cli.Formats(), cli.FormatJSONPath)...))
	return cmd
}

func (o *history) run(ctx context.Context, name string) error {
	if err := cli.ValidateOutput(o.output, cli.Formats()...); err != nil {
		return err
	}
	client, err := o.Client()
	if err != nil {
		return err
	}
	// A cluster that is gone has a history too, so it is not asked for.
	all, err := cli.List[evenkeel.ReplicaPlacement](ctx, client, placements, metav1.NamespaceAll, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list replicaplacements: %w", err)
	}
	return o.print(name, movesOf(all, name))
}

// apiVersion of what the commands print as JSON and YAML.
const apiVersion = "cli.evenkeel.io/v1alpha1"

func (o *history) print(name string, moves []Move) error {
	if cli.Structured(o.output) {
		return cli.WriteObject(o.Out, o.output, map[string]any{"apiVersion": apiVersion, "kind": "MoveList", "cluster": name, "items": moves})
	}
	if len(moves) == 0 {
		_, err := fmt.Fprintf(o.ErrOut, "No finished moves from or to %s are remembered.\n", name)
		return err
	}
	header := []string{"FINISHED", "NAMESPACE", "DEPLOYMENT", "REPLICA", "CAUSE", "BY", "FROM", "TO", "TOOK"}
	if o.output == cli.FormatWide {
		header = append(header, "OUTCOME")
	}
	rows := [][]string{header}
	for _, m := range moves {
		row := []string{
			duration.HumanDuration(o.now().Sub(m.Finished.Time)) + " ago", m.Namespace, m.Deployment, m.Replica, m.Cause,
			orNone(m.By), m.From, orNone(m.To), duration.HumanDuration(m.Took.Duration),
		}
		if o.output == cli.FormatWide {
			row = append(row, m.Outcome)
		}
		rows = append(rows, row)
	}
	return table.Write(o.Out, rows)
}

func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}
