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
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/complete"
	"github.com/evenkeel-io/evenkeel/internal/cli/table"
	"github.com/evenkeel-io/evenkeel/internal/servingpath"
	"github.com/evenkeel-io/evenkeel/internal/systemnodes"
)

// NewCommand makes `kubectl evenkeel system-nodes`.
func NewCommand(f *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "system-nodes",
		Short: "See what the maintenance of a workload cluster's system nodes would do",
		Args:  cli.Subcommands,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCheck(f))
	return cmd
}

var formats = []string{cli.FormatTable, cli.FormatJSON, cli.FormatYAML}

// check plays the maintenance of a cluster's system nodes on a copy.
type check struct {
	*cli.Factory
	output string
	config string
}

func newCheck(f *cli.Factory) *cobra.Command {
	o := &check{Factory: f}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Tell whether draining any system node, or cordoning all of them, would interrupt serving",
		Long: `check reads a workload cluster's nodes, pods and PodDisruptionBudgets, and plays on a copy of them what a drain of each
system node would do, and what the maintenance of all of them would do: all cordoned, then one after the other drained,
restarted and uncordoned. It writes nothing to the cluster. System nodes are those without the taint of GPU nodes.

It ends with exit code 0 if no maintenance would interrupt serving; with 1 if any would leave a component on the request
path, or one that pods there need to be made anew, without a Ready replica, or would never end, and then it says what to do
about it; and with more than 1 if it could not find out. It needs list on nodes, pods, deployments and poddisruptionbudgets
in all namespaces.`,
		Example: fmt.Sprintf("  %s system-nodes check --context gpu-us-east", f.Program),
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", cli.FormatTable, "table, json, yaml or jsonpath=TEMPLATE")
	cmd.Flags().StringVar(&o.config, "config", "", "File with the ServingPathConfiguration of the cluster's workload-manager. Without one the shipped components hold.")
	complete.Flag(cmd, "output", complete.Values(append(slices.Clone(formats), cli.FormatJSONPath)...))
	cli.Answers(cmd)
	return cmd
}

func (o *check) run(ctx context.Context) error {
	if err := cli.ValidateOutput(o.output, formats...); err != nil {
		return err
	}
	catalogue, err := o.catalogue()
	if err != nil {
		return err
	}
	snapshot, err := o.read(ctx)
	if err != nil {
		return err
	}
	report, err := systemnodes.Check(ctx, snapshot, catalogue)
	if err != nil {
		return err
	}
	return o.answer(report)
}

// answer prints the report and says by the error what it comes to.
func (o *check) answer(report *systemnodes.Report) error {
	if len(report.Components) == 0 && report.OK { // which must not pass for good news: it is how any other cluster looks
		return &cli.Error{Message: "nothing here is a component of the serving path, so there is nothing to tell: is --context the workload cluster's? " +
			"Components that are not shipped ones have to be in a file that --config names"}
	}
	if err := o.print(report); err != nil {
		return err
	}
	if !report.OK {
		return &cli.Error{Code: cli.ExitError} // the answer; the report says why
	}
	return nil
}

func (o *check) catalogue() (*servingpath.Catalogue, error) {
	var data []byte
	if o.config != "" {
		var err error
		if data, err = os.ReadFile(o.config); err != nil {
			return nil, fmt.Errorf("read the configuration: %w", err)
		}
	}
	config, err := configapi.DecodeServingPathConfiguration(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.config, err)
	}
	return servingpath.New(config)
}

func (o *check) read(ctx context.Context) (*systemnodes.Snapshot, error) {
	client, err := o.Client()
	if err != nil {
		return nil, err
	}
	s := &systemnodes.Snapshot{}
	group, ctx := errgroup.WithContext(ctx)
	list(ctx, group, client, corev1.SchemeGroupVersion.WithResource("nodes"), &s.Nodes)
	list(ctx, group, client, corev1.SchemeGroupVersion.WithResource("pods"), &s.Pods)
	list(ctx, group, client, appsv1.SchemeGroupVersion.WithResource("deployments"), &s.Deployments)
	list(ctx, group, client, policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), &s.Budgets)
	return s, group.Wait()
}

func list[T any](ctx context.Context, group *errgroup.Group, client *cli.Client, resource schema.GroupVersionResource, into *[]T) {
	group.Go(func() (err error) {
		if *into, err = cli.List[T](ctx, client, resource, metav1.NamespaceAll, metav1.ListOptions{}); err != nil {
			return fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		return nil
	})
}

func (o *check) print(report *systemnodes.Report) error {
	if o.output != cli.FormatTable {
		return cli.WriteObject(o.Out, o.output, report)
	}
	rows := [][]string{{"NAMESPACE", "NAME", "COMPONENT", "READY", "NODES", "BUDGET", "DRAIN", "CORDON-ALL"}}
	for i := range report.Components {
		rows = append(rows, row(&report.Components[i]))
	}
	if err := table.Write(o.Out, rows); err != nil {
		return err
	}
	_, err := fmt.Fprint(o.Out, advice(report))
	return err
}

func row(r *systemnodes.ComponentReport) []string {
	return []string{
		r.Namespace, r.Name, r.Component, strconv.Itoa(r.Ready) + "/" + strconv.Itoa(int(r.Wanted)),
		nodes(r.Nodes), orNone(strings.Join(r.Budgets, ",")), drains(r.Drains), string(r.CordonAll),
	}
}

// nodes counts the pods on each node: system-a(2).
func nodes(list []string) string {
	var said []string
	for i := 0; i < len(list); {
		n := 1
		for i+n < len(list) && list[i+n] == list[i] {
			n++
		}
		name := list[i]
		if name == "" {
			name = "Pending"
		}
		if n > 1 {
			name += "(" + strconv.Itoa(n) + ")"
		}
		said = append(said, name)
		i += n
	}
	return orNone(strings.Join(said, ","))
}

func drains(outcomes map[string]systemnodes.Outcome) string {
	var said []string
	for node, outcome := range outcomes {
		if outcome != systemnodes.OutcomeOK {
			said = append(said, string(outcome)+" ("+node+")")
		}
	}
	if len(said) == 0 {
		return string(systemnodes.OutcomeOK)
	}
	slices.Sort(said)
	return strings.Join(said, ",")
}

func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}

// advice is what follows the table.
func advice(report *systemnodes.Report) string {
	var b strings.Builder
	for _, other := range report.Others {
		b.WriteString("\n" + other + "\n")
	}
	for i := range report.Components {
		r := &report.Components[i]
		if len(r.Fixes) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s/%s:", r.Namespace, r.Name)
		if !r.Counts {
			b.WriteString(" (requests do not fail for it)")
		}
		b.WriteString("\n")
		for _, fix := range r.Fixes {
			b.WriteString("  - " + fix + "\n")
		}
	}
	verdict := "No maintenance of the system nodes (%s) would interrupt serving.\n"
	if !report.OK {
		verdict = "Maintenance of the system nodes (%s) would interrupt serving, or never end.\n"
	}
	fmt.Fprintf(&b, "\n"+verdict, orNone(strings.Join(report.SystemNodes, ", ")))
	return b.String()
}
