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

	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/table"
	"github.com/evenkeel-io/evenkeel/internal/simulation"
)

// explanationList is what explanations are as JSON and YAML.
type explanationList struct {
	APIVersion string                   `json:"apiVersion"`
	Kind       string                   `json:"kind"`
	Items      []simulation.Explanation `json:"items"`
}

// maxClusters is how many clusters a table has for one placement; wide has all.
const maxClusters = 10

// Explanations writes why placements are where they are, as table, wide, json, yaml or by a JSONPath template.
func Explanations(out io.Writer, format string, explanations []simulation.Explanation) error {
	if cli.Structured(format) {
		return cli.WriteObject(out, format, explanationList{APIVersion: apiVersion, Kind: "ExplanationList", Items: explanations})
	}
	for i := range explanations {
		if i > 0 {
			if _, err := fmt.Fprintln(out); err != nil {
				return err
			}
		}
		if err := explanation(out, &explanations[i], format == cli.FormatWide); err != nil {
			return err
		}
	}
	return nil
}

func explanation(out io.Writer, e *simulation.Explanation, wide bool) error {
	if _, err := io.WriteString(out, headline(e)); err != nil {
		return err
	}
	shown := e.Clusters
	if !wide && len(shown) > maxClusters {
		shown = shown[:maxClusters]
	}
	rows := [][]string{{"CLUSTER", "FITS", "BECAUSE"}}
	for i := range shown {
		rows = append(rows, clusterRow(&shown[i]))
	}
	if err := table.Write(out, rows); err != nil {
		return err
	}
	if more := len(e.Clusters) - len(shown); more > 0 {
		_, err := fmt.Fprintf(out, "and %d more, which -o wide shows\n", more)
		return err
	}
	return nil
}

func headline(e *simulation.Explanation) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s/%s (%s slot %d) ", e.Namespace, e.Placement, e.Deployment, e.Slot)
	switch {
	case e.At != nil && e.At.Cluster == e.Best:
		fmt.Fprintf(b, "is on %s, and would get it again now\n", place(e.At))
	case e.At != nil && e.Best != "":
		fmt.Fprintf(b, "is on %s; now it would get %s\n", place(e.At), e.Best)
	case e.At != nil:
		fmt.Fprintf(b, "is on %s; now no cluster would take it\n", place(e.At))
	case e.Best != "":
		fmt.Fprintf(b, "has no cluster yet, and would get %s now\n", e.Best)
	default:
		b.WriteString("has no cluster, and none takes it now\n")
	}
	return b.String()
}

func clusterRow(c *simulation.ClusterExplanation) []string {
	if !c.Fits {
		reasons := make([]string, 0, len(c.Verdicts))
		for _, v := range c.Verdicts {
			reasons = append(reasons, v.Plugin+": "+v.Reason)
		}
		return []string{c.Cluster, "no", strings.Join(reasons, "; ")}
	}
	if c.Behind != "" {
		return []string{c.Cluster, "yes", c.Behind}
	}
	values := make([]string, 0, len(c.Compared))
	for _, compared := range c.Compared {
		values = append(values, compared.Name+": "+compared.Value)
	}
	return []string{c.Cluster, "best", strings.Join(values, ", ")}
}
