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
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/table"
	"github.com/evenkeel-io/evenkeel/internal/cli/traffic/report"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// drains lists the drains of a fleet.
type drains struct {
	*cli.Factory
	scope
	cluster string
	output  string
}

func newDrains(f *cli.Factory) *cobra.Command {
	o := &drains{Factory: f}
	cmd := &cobra.Command{
		Use:   "drains",
		Short: "List every drain, why it is there and whether it holds",
		Long: `drains lists the drains of every service. STATE is Applied (the cluster is held at weight 0), Waiting (the TrafficMap
does not show the drain yet), Pending (the cluster has no entry, so nothing is held: often a typing error) or Malformed
(the annotation cannot be read, so the service's TrafficMap no longer changes).`,
		Example: fmt.Sprintf(`  %[1]s traffic drains -A
  %[1]s traffic drains -A --workload-cluster worker-a`, f.Program),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.scope.addFlags(cmd)
	cmd.Flags().StringVar(&o.cluster, "workload-cluster", "", "only drains of this cluster")
	_ = cmd.RegisterFlagCompletionFunc("workload-cluster", completeCluster(f))
	cmd.Flags().StringVarP(&o.output, "output", "o", cli.FormatTable, "table, wide, json or yaml")
	completeModes(cmd)
	return cmd
}

// drainItem is one drain in the form of the JSON.
type drainItem struct {
	Namespace string            `json:"namespace"`
	Service   string            `json:"service"`
	ID        string            `json:"id"`
	Cluster   string            `json:"cluster"`
	State     report.DrainState `json:"state"`
	Reason    string            `json:"reason"`
}

// stateMalformed stands for all drains of an annotation that cannot be read.
const stateMalformed report.DrainState = "Malformed"

func (o *drains) run(ctx context.Context) error {
	if !cli.KnownFormat(o.output) {
		return fmt.Errorf("unsupported output format %q (supported: %s)", o.output, cli.FormatNames())
	}
	namespace, err := o.Namespace()
	if err != nil {
		return err
	}
	client, err := o.Client()
	if err != nil {
		return err
	}
	members, err := o.members(ctx, client, namespace)
	if err != nil {
		return err
	}
	items := []drainItem{}
	for _, m := range members {
		items = append(items, o.itemsOf(m)...)
	}
	return o.print(items)
}

func (o *drains) itemsOf(m *member) []drainItem {
	all, err := trafficdrain.ValueOf(m.service.Annotations).Parse()
	var fault *trafficdrain.Refusal
	if errors.As(err, &fault) {
		return []drainItem{{Namespace: m.service.Namespace, Service: m.service.Name, State: stateMalformed, Reason: fault.Explain()}}
	}
	var items []drainItem
	for _, d := range all {
		if o.cluster != "" && d.Cluster != o.cluster {
			continue
		}
		items = append(items, drainItem{
			Namespace: m.service.Namespace, Service: m.service.Name, ID: d.ID, Cluster: d.Cluster,
			State: report.DrainStateOf(d, m.tm), Reason: trafficdrain.Redacted(d.Reason),
		})
	}
	return items
}

func (o *drains) print(items []drainItem) error {
	if o.output == cli.FormatJSON || o.output == cli.FormatYAML {
		return cli.WriteObject(o.Out, o.output, map[string]any{"apiVersion": fleetVersion, "kind": "TrafficDrainList", "items": items})
	}
	if len(items) == 0 {
		_, err := fmt.Fprintln(o.ErrOut, "No drains found.")
		return err
	}
	rows := [][]string{{"NAMESPACE", "SERVICE", "ID", "CLUSTER", "STATE", "REASON"}}
	for _, i := range items {
		reason := quote(i.Reason)
		if o.output != cli.FormatWide {
			reason = table.Cut(reason, maxCell)
		}
		rows = append(rows, []string{i.Namespace, i.Service, orDash(quote(i.ID)), orDash(quote(i.Cluster)), string(i.State), reason})
	}
	return table.Write(o.Out, rows)
}

// quote makes foreign text fit for a cell: an ordinary one stays as it is.
func quote(s string) string {
	quoted := fmt.Sprintf("%q", s)
	if quoted == `"`+s+`"` {
		return s
	}
	return quoted
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
