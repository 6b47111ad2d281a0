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
	"time"

	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/guarded"
	"github.com/evenkeel-io/evenkeel/internal/cli/table"
)

// reportVersion is the apiVersion of everything that OME's plugin prints as JSON or YAML.
const reportVersion = "cli.ome.io/v1alpha1"

// actionResult is what a guarded action prints when it is done. The drain's reason is not
// part of it.
type actionResult struct {
	APIVersion  string        `json:"apiVersion"`
	Kind        string        `json:"kind"`
	CollectedAt string        `json:"collectedAt"`
	Action      string        `json:"action"`
	Target      resultTarget  `json:"target"`
	DryRun      string        `json:"dryRun"`
	Accepted    bool          `json:"accepted"`
	Applied     bool          `json:"applied"`
	Message     string        `json:"message"`
	FollowUp    string        `json:"followUp"`
	Traffic     resultTraffic `json:"traffic"`
}

type resultTarget struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// ResourceVersion is the one that was tested, not the one that came out of it.
	ResourceVersion string `json:"resourceVersion"`
}

type resultTraffic struct {
	OverrideID      string `json:"overrideID"`
	Cluster         string `json:"cluster"`
	OverridesBefore int    `json:"overridesBefore"`
	OverridesAfter  int    `json:"overridesAfter"`
}

var resultMessages = map[string]string{
	dryRunNone:   "API accepted traffic annotation request; not TrafficMap convergence.",
	dryRunServer: "API dry-run accepted; no changes persisted.",
	dryRunClient: "Validated locally; no patch sent. TrafficMap convergence was not observed.",
}

func (a *action) result(t target, p *guarded.Plan, now time.Time) *actionResult {
	return &actionResult{
		APIVersion:  reportVersion,
		Kind:        "ActionResult",
		CollectedAt: now.UTC().Format(time.RFC3339Nano),
		Action:      a.name,
		Target: resultTarget{
			Kind: "InferenceService", Namespace: t.namespace, Name: t.name,
			UID: string(p.Service.UID), ResourceVersion: p.Service.ResourceVersion,
		},
		DryRun:   a.dryRun,
		Accepted: a.dryRun != dryRunClient,
		Applied:  a.dryRun == dryRunNone,
		Message:  resultMessages[a.dryRun],
		FollowUp: a.followUp(t),
		Traffic: resultTraffic{
			OverrideID: p.Drain.ID, Cluster: p.Drain.Cluster, OverridesBefore: len(p.Before), OverridesAfter: len(p.After),
		},
	}
}

func (a *action) print(r *actionResult) error {
	if a.output == cli.FormatJSON || a.output == cli.FormatYAML {
		return cli.WriteObject(a.Out, a.output, r)
	}
	return table.Write(a.Out, r.rows(a.output == cli.FormatWide))
}

func (r *actionResult) rows(wide bool) [][]string {
	t := r.Target
	rows := [][]string{
		{"FIELD", "VALUE"},
		{"action", r.Action},
		{"target", cut(t.Kind + "/" + t.Namespace + "/" + t.Name)},
	}
	if wide {
		rows = append(rows, []string{"uid", cut(t.UID)}, []string{"resource-version", cut(t.ResourceVersion)})
	}
	return append(rows, [][]string{
		{"dry-run", r.DryRun},
		{"accepted", yesNo(r.Accepted)},
		{"applied", yesNo(r.Applied)},
		{"override-id", cut(r.Traffic.OverrideID)},
		{"cluster", cut(r.Traffic.Cluster)},
		{"overrides", arrow(r.Traffic.OverridesBefore, r.Traffic.OverridesAfter)},
		{"message", cut(r.Message)},
		{"follow-up", cut(r.FollowUp)},
		{"hint", "Use -o json or -o yaml for full values."},
	}...)
}

// resultCells is the widest value of a result.
const resultCells = 56

func cut(s string) string { return table.Cut(s, resultCells) }

func yesNo(is bool) string {
	if is {
		return "Yes"
	}
	return "No"
}
