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
	"fmt"
	"slices"
	"strings"

	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// fixes says what would make a workload's maintenance harmless; nothing if it is.
func (c *checker) fixes(w *workload, r *ComponentReport) []string {
	if r.Wanted > 0 && r.Ready == 0 {
		return []string{"none of its replicas is Ready now: repair it first"}
	}
	if r.worst() == OutcomeOK {
		return nil
	}
	if w.component.Single {
		return []string{"it must stay single: nothing but a gap in what it does, and no budget should protect it"}
	}
	var fixes []string
	fixes = append(fixes, c.budgetFixes(w, r)...)
	if w.component.LeaderGated {
		return append(fixes, "only its leader is ever Ready: let every replica become Ready, for a picker by dropping --ha-enable-leader-election")
	}
	if r.Wanted == 1 {
		fixes = append(fixes, fmt.Sprintf("kubectl scale deployment %s -n %s --replicas=2", r.Name, r.Namespace))
	}
	if len(r.Budgets) == 0 {
		fixes = append(fixes, "give it a PodDisruptionBudget with maxUnavailable: 1 and unhealthyPodEvictionPolicy: AlwaysAllow")
	}
	if r.Wanted > 1 && oneNode(r.Nodes) {
		fixes = append(fixes, fmt.Sprintf("its replicas share node %s: spread them over nodes, then evict one", r.Nodes[0]))
	}
	if len(c.system) < 2 {
		fixes = append(fixes, "the cluster has fewer than two system nodes: add one, or let replicas fall back to GPU nodes (fallback.mode: GPUNodes)")
	}
	if r.Ready < int(r.Wanted) {
		fixes = append(fixes, fmt.Sprintf("only %d of %d replicas are Ready: see why", r.Ready, r.Wanted))
	}
	return fixes
}

func (c *checker) budgetFixes(w *workload, r *ComponentReport) []string {
	if len(r.Budgets) > 1 {
		return []string{fmt.Sprintf("its pods are under %d PodDisruptionBudgets (%s), which makes every eviction fail: delete all but one", len(r.Budgets), strings.Join(r.Budgets, ", "))}
	}
	var fixes []string
	for _, budget := range servingpath.Covering(c.snapshot.Budgets, r.Namespace, w.deployment.Spec.Template.Labels) {
		if why := servingpath.Hopeless(budget, r.Wanted); why != "" {
			fixes = append(fixes, why)
		}
	}
	return fixes
}

func oneNode(nodes []string) bool {
	return len(slices.Compact(slices.Clone(nodes))) == 1
}
