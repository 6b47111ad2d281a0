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

package view

import (
	"fmt"
	"io"
	"strings"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/table"
	"github.com/evenkeel-io/evenkeel/internal/simulation"
)

const (
	// apiVersion of what the commands print as JSON and YAML.
	apiVersion = "cli.evenkeel.io/v1alpha1"
	none       = "-"
	// maxLacks is how many clusters a table names that lack something for one replica; wide names all.
	maxLacks = 5
)

// object is a plan as JSON and YAML.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	*simulation.Plan
}

// Print writes a plan as table, wide, json, yaml or by a JSONPath template.
func Print(out io.Writer, format string, plan *simulation.Plan) error {
	if cli.Structured(format) {
		return cli.WriteObject(out, format, object{APIVersion: apiVersion, Kind: "Plan", Plan: plan})
	}
	if len(plan.Replicas) == 0 {
		_, err := fmt.Fprintf(out, "%s: no replica would go, come or wait.\n", plan.Change)
		return err
	}
	wide := format == cli.FormatWide
	if err := table.Write(out, replicaRows(plan, wide)); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	if err := table.Write(out, deploymentRows(plan)); err != nil {
		return err
	}
	_, err := io.WriteString(out, remarks(plan, wide))
	return err
}

func replicaRows(plan *simulation.Plan, wide bool) [][]string {
	header := []string{"ORDER", "NAMESPACE", "DEPLOYMENT", "SLOT", "OUTCOME", "FROM", "TO"}
	if wide {
		header = append(header, "POOLS", "CAUSE", "PLACEMENT")
	}
	rows := [][]string{header}
	for i := range plan.Replicas {
		r := &plan.Replicas[i]
		order := none
		if r.Order > 0 {
			order = fmt.Sprint(r.Order)
		}
		row := []string{order, r.Namespace, r.Deployment, fmt.Sprint(r.Slot), string(r.Outcome), place(r.From), place(r.To)}
		if wide {
			row = append(row, pools(r.To), orNone(r.Cause), r.Placement)
		}
		rows = append(rows, row)
	}
	return rows
}

func place(p *simulation.Place) string {
	if p == nil {
		return none
	}
	return fmt.Sprintf("%s/%d", p.Cluster, p.Index)
}

// pools lists the node pools of a place, each once.
func pools(p *simulation.Place) string {
	if p == nil {
		return none
	}
	var names []string
	seen := map[string]bool{}
	for _, engine := range p.Engines {
		for _, name := range poolsOf(engine) {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return orNone(strings.Join(names, ","))
}

func poolsOf(engine evenkeel.EngineAssignment) []string {
	names := make([]string, 0, len(engine.Members))
	for _, member := range engine.Members {
		names = append(names, member.NodePoolName)
	}
	return names
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

func deploymentRows(plan *simulation.Plan) [][]string {
	rows := [][]string{{"NAMESPACE", "DEPLOYMENT", "WANTED", "SERVING NOW", "AT LEAST", "IN THE END", "MOST UNAVAILABLE", "POLICIES"}}
	for i := range plan.Deployments {
		d := &plan.Deployments[i]
		rows = append(rows, []string{
			d.Namespace, d.Name, fmt.Sprint(d.Wanted), fmt.Sprint(d.ServingBefore), fmt.Sprint(d.LeastServing), fmt.Sprint(d.ServingAfter),
			fmt.Sprint(d.MaxUnavailable), orNone(strings.Join(d.Policies, ",")),
		})
	}
	return rows
}

// remarks says what the tables have no room for: why replicas do not get anywhere, where clusters are contended, and how
// many of which outcome there are.
func remarks(plan *simulation.Plan, wide bool) string {
	b := &strings.Builder{}
	for i := range plan.Replicas {
		r := &plan.Replicas[i]
		if r.Reason == "" {
			continue
		}
		fmt.Fprintf(b, "\n%s/%s slot %d %s: %s\n", r.Namespace, r.Deployment, r.Slot, phrases[r.Outcome], r.Reason)
		writeLacks(b, r.Lacks, wide)
	}
	for _, c := range plan.Contended {
		fmt.Fprintf(b, "\n%s is contended: it takes %s, and is then too full for %s\n", c.Cluster, Count(c.Takes, "replica", "replicas"), list(c.Refuses, wide))
	}
	fmt.Fprintf(b, "\n%s: %s.\n", plan.Change, summary(plan))
	if plan.Unfinished != "" {
		fmt.Fprintf(b, "The plan is not complete: %s.\n", plan.Unfinished)
	}
	return b.String()
}

// phrases say of a replica what its outcome is.
var phrases = map[simulation.Outcome]string{
	simulation.OutcomeDeleted: "would be deleted with nowhere to go",
	simulation.OutcomeHeld:    "would stay although it must leave",
	simulation.OutcomeWaits:   "would wait for a cluster",
}

func writeLacks(b *strings.Builder, lacks []simulation.Verdict, all bool) {
	shown := lacks
	if !all && len(lacks) > maxLacks {
		shown = lacks[:maxLacks]
	}
	for _, v := range shown {
		fmt.Fprintf(b, "  %s: %s\n", v.Cluster, v.Reason)
	}
	if more := len(lacks) - len(shown); more > 0 {
		fmt.Fprintf(b, "  and %d more, which -o wide shows\n", more)
	}
}

func list(names []string, all bool) string {
	if all || len(names) <= maxLacks {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxLacks], ", "), len(names)-maxLacks)
}

func summary(plan *simulation.Plan) string {
	var parts []string
	for _, o := range []struct {
		outcome   simulation.Outcome
		one, many string
	}{
		{simulation.OutcomeMoves, "replica moves", "replicas move"},
		{simulation.OutcomeLands, "replica lands", "replicas land"},
		{simulation.OutcomeRemoved, "replica is removed", "replicas are removed"},
		{simulation.OutcomeDeleted, "replica is deleted with nowhere to go", "replicas are deleted with nowhere to go"},
		{simulation.OutcomeHeld, "replica stays although it must leave", "replicas stay although they must leave"},
		{simulation.OutcomeWaits, "replica waits for a cluster", "replicas wait for a cluster"},
	} {
		if n := plan.Count(o.outcome); n > 0 {
			parts = append(parts, Count(n, o.one, o.many))
		}
	}
	return strings.Join(parts, ", ")
}

// Count says how many there are of something.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
