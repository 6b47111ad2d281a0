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
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/guarded"
	"github.com/evenkeel-io/evenkeel/internal/cli/table"
)

// fleet is drain or undrain for every service that it concerns: one plan, one question, and
// then the same guarded patch for each, whatever becomes of the others.
type fleet struct {
	*action
	scope
	all bool
	// decide says what is to be done about one service, and why if nothing is.
	decide func(*member) decision
}

// scope says which services are looked at.
type scope struct {
	allNamespaces bool
	selector      string
}

func (s *scope) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "the services of all namespaces")
	cmd.Flags().StringVarP(&s.selector, "selector", "l", "", "only services whose labels match")
}

// member is one service with its map, which may be missing.
type member struct {
	service *v1beta1.InferenceService
	tm      *v1beta1.TrafficMap
}

// verdict is what is to be done about a service, and later what was done.
type verdict string

const (
	verdictPlanned   verdict = "Planned"
	verdictDone      verdict = "Done"
	verdictChecked   verdict = "Checked"
	verdictUnchanged verdict = "Unchanged"
	verdictLeftOut   verdict = "LeftOut"
	verdictRefused   verdict = "Refused"
	verdictConflict  verdict = "Conflict"
	verdictFailed    verdict = "Failed"
	// verdictNone is that of a service which the command is not about.
	verdictNone verdict = ""
)

// decision is a verdict with its reason and what happens to the service's traffic.
type decision struct {
	verdict verdict
	effect  string
	detail  string
}

func newFleetDrain(f *cli.Factory) *cobra.Command {
	a, cmd := drainAction(f)
	fl := &fleet{action: a, decide: nil}
	fl.decide = fl.decideDrain
	fl.addCommand(cmd, "drain the cluster from every service that routes to it, instead of from one")
	cmd.Flags().BoolVar(&a.allowBlackout, "allow-blackout", false, "also drain what would leave a service without traffic")
	cmd.Use = "drain (INFERENCESERVICE | --all-services) --workload-cluster CLUSTER --id ID --reason REASON"
	cmd.Long += `

With --all-services it does so for every service whose TrafficMap has an entry of the cluster. It shows first what becomes
of each, leaves out those that nobody would serve any more (unless --allow-blackout is given), asks once, and goes on past
failures. Run it again to take up what is left: services that have the drain already are passed over.`
	cmd.Example += fmt.Sprintf(`

  # Take a cluster out of the traffic of the whole fleet
  %s traffic drain --all-services -A --workload-cluster worker-a --id maintenance-a --reason "planned maintenance"`, f.Program)
	return cmd
}

func newFleetUndrain(f *cli.Factory) *cobra.Command {
	a, cmd := undrainAction(f)
	fl := &fleet{action: a}
	fl.decide = fl.decideUndrain
	fl.addCommand(cmd, "remove the drain from every service that has it, instead of from one")
	_ = cmd.RegisterFlagCompletionFunc("id", completeID(f, &fl.scope))
	cmd.Use = "undrain (INFERENCESERVICE | --all-services) --id ID"
	cmd.Example += fmt.Sprintf(`

  # Give a cluster its traffic back in the whole fleet
  %s traffic undrain --all-services -A --id maintenance-a`, f.Program)
	return cmd
}

func (fl *fleet) addCommand(cmd *cobra.Command, all string) {
	cmd.Flags().BoolVar(&fl.all, "all-services", false, all)
	fl.scope.addFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if fl.all {
			return fl.run(cmd.Context(), args)
		}
		if fl.allNamespaces || fl.selector != "" {
			return &cli.Error{Message: "--all-namespaces and --selector go with --all-services"}
		}
		return fl.action.run(cmd.Context(), args)
	}
}

func (fl *fleet) run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return &cli.Error{Message: "--all-services goes without the name of a service"}
	}
	if err := fl.completeModes(); err != nil {
		return err
	}
	if err := fl.validate(); err != nil {
		return err
	}
	t, err := fl.completePlace()
	if err != nil {
		return err
	}
	client, err := fl.Client()
	if err != nil {
		return err
	}
	members, err := fl.members(ctx, client, t.namespace)
	if err != nil {
		return err
	}
	results := fl.plan(members)
	if err := fl.previewFleet(t, results); err != nil {
		return &cli.Error{Message: "write traffic action preview failed", Cause: err.Error()}
	}
	if countOf(results, verdictPlanned) > 0 {
		if !fl.yes {
			if err := confirm(ctx, fl.In, fl.ErrOut); err != nil {
				return err
			}
		}
		if err := fl.apply(ctx, client, results); err != nil {
			return err
		}
	}
	if err := fl.printFleet(results); err != nil {
		return &cli.Error{Message: "write traffic action result failed; check traffic drains", Cause: err.Error()}
	}
	return fl.verdict(results)
}

// members reads all services of the scope and their maps, in two lists.
func (s *scope) members(ctx context.Context, client *cli.Client, namespace string) ([]*member, error) {
	if s.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	list, err := cli.List[v1beta1.InferenceService](ctx, client, inferenceServices, namespace, metav1.ListOptions{LabelSelector: s.selector})
	if err != nil {
		return nil, listError("inferenceservices", err)
	}
	tms, err := cli.List[v1beta1.TrafficMap](ctx, client, trafficMaps, namespace, metav1.ListOptions{})
	if err != nil {
		return nil, listError("trafficmaps", err)
	}
	byName := map[string]*v1beta1.TrafficMap{}
	for i := range tms {
		byName[tms[i].Namespace+"/"+tms[i].Name] = &tms[i]
	}
	var members []*member
	for i := range list {
		members = append(members, &member{service: &list[i], tm: byName[list[i].Namespace+"/"+list[i].Name]})
	}
	return members, nil
}

func listError(resource string, err error) error {
	return &cli.Error{Message: "list " + resource + " failed", Cause: guarded.OneLine(cli.Describe(err))}
}

// result is what becomes of one service.
type result struct {
	*member
	decision
}

func (fl *fleet) plan(members []*member) []*result {
	var results []*result
	for _, m := range members {
		if d := fl.decide(m); d.verdict != verdictNone {
			results = append(results, &result{m, d})
		}
	}
	return results
}

func countOf(results []*result, v verdict) int {
	n := 0
	for _, r := range results {
		if r.verdict == v {
			n++
		}
	}
	return n
}

// previewFleet says on stderr what is going to be done about which service.
func (fl *fleet) previewFleet(t target, results []*result) error {
	scope := "namespace " + t.namespace
	if fl.allNamespaces {
		scope = "all namespaces"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s in context %s, %s, dry-run %s\n", fl.name, fl.subject(), t.context, scope, fl.dryRun)
	if err := table.Write(&b, rowsOf(results, "PLAN")); err != nil {
		return err
	}
	fmt.Fprintf(&b, "%d to change, %d as wanted already, %d left out, %d refused.\n",
		countOf(results, verdictPlanned), countOf(results, verdictUnchanged), countOf(results, verdictLeftOut), countOf(results, verdictRefused))
	_, err := io.WriteString(fl.ErrOut, b.String())
	return err
}

func (fl *fleet) subject() string {
	if fl.name == actionUndrain {
		return fmt.Sprintf("drain %s", fl.drain.ID)
	}
	return fmt.Sprintf("cluster %s as drain %s (%q)", fl.drain.Cluster, fl.drain.ID, fl.drain.Reason)
}

func rowsOf(results []*result, verdictHeader string) [][]string {
	rows := [][]string{{"NAMESPACE", "SERVICE", verdictHeader, "EFFECT", "DETAIL"}}
	for _, r := range results {
		rows = append(rows, []string{r.service.Namespace, r.service.Name, string(r.verdict), table.Cut(r.effect, maxCell), table.Cut(r.detail, maxCell)})
	}
	return rows
}

// maxCell is the widest cell of a fleet's table.
const maxCell = 80

func (fl *fleet) printFleet(results []*result) error {
	if fl.output != cli.FormatJSON && fl.output != cli.FormatYAML {
		if len(results) == 0 {
			_, err := fmt.Fprintln(fl.ErrOut, "No service is concerned.")
			return err
		}
		return table.Write(fl.Out, rowsOf(results, "RESULT"))
	}
	items := []any{}
	for _, r := range results {
		items = append(items, map[string]any{
			"namespace": r.service.Namespace, "name": r.service.Name, "result": r.verdict, "effect": r.effect, "detail": r.detail,
		})
	}
	return cli.WriteObject(fl.Out, fl.output, map[string]any{
		"apiVersion": fleetVersion, "kind": "TrafficFleetResult", "action": fl.name, "dryRun": fl.dryRun,
		"overrideID": fl.drain.ID, "cluster": fl.drain.Cluster, "items": items,
	})
}

// fleetVersion is the apiVersion of what OME's plugin does not have.
const fleetVersion = "cli.evenkeel.io/v1alpha1"

// verdict is how the whole ended. A service that was left out goes on sending traffic to the
// cluster, so the fleet's drain is not finished.
func (fl *fleet) verdict(results []*result) error {
	bad := countOf(results, verdictFailed) + countOf(results, verdictRefused)
	conflicts, left := countOf(results, verdictConflict), countOf(results, verdictLeftOut)
	switch {
	case bad > 0:
		return &cli.Error{Message: fmt.Sprintf("%s failed for %d of %d services; mend what DETAIL says and run it again", fl.name, bad+conflicts, len(results))}
	case conflicts > 0:
		return &cli.Error{Message: fmt.Sprintf("%d of %d services changed meanwhile; run it again", conflicts, len(results)), Code: cli.ExitConflict}
	case left > 0:
		return &cli.Error{
			Message: fmt.Sprintf("%d of %d services still send traffic to %s, since nobody else serves them; give them another cluster, or insist with --allow-blackout", left, len(results), fl.drain.Cluster),
			Code:    cli.ExitUnfinished,
		}
	}
	return nil
}
