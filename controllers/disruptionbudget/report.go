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

package disruptionbudget

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// The reasons of events on workloads; those of warnings are the values of the metric's label "problem" too.
const (
	// ReasonBudgetExists is a workload that somebody else's budget protects, so that Evenkeel makes none.
	ReasonBudgetExists = "BudgetExists"
	// ReasonOverlap is a workload with several budgets, whose pods nobody can evict.
	ReasonOverlap = "OverlappingBudgets"
	// ReasonHopeless is a budget of somebody else that never lets a pod go.
	ReasonHopeless = "HopelessBudget"
	// ReasonSelectsNothing is a budget of somebody else that selects no pod of the workload that it seems to be for.
	ReasonSelectsNothing = "BudgetSelectsNothing"
	// ReasonLeaderGated is a workload of which only the leader gets ready, so that a budget would never let it go.
	ReasonLeaderGated = "LeaderGated"
)

// finding is one thing to tell about a workload.
type finding struct {
	reason  string
	message string
	warning bool
}

func (r *Reconciler) report(s *scene) {
	findings := r.findings(s)
	for _, f := range r.problems.news(client.ObjectKeyFromObject(s.deployment), findings) {
		kind := corev1.EventTypeNormal
		if f.warning {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(s.deployment, nil, kind, f.reason, "KeepBudget", "%s", f.message)
	}
}

func (r *Reconciler) findings(s *scene) []finding {
	var list []finding
	switch names := budgetNames(s.others); len(s.others) {
	case 0:
	case 1:
		list = append(list, finding{reason: ReasonBudgetExists,
			message: fmt.Sprintf("Its pods are under PodDisruptionBudget %s already, so Evenkeel adds none", names)})
	default:
		list = append(list, finding{reason: ReasonOverlap, warning: true,
			message: fmt.Sprintf("Its pods are under %d PodDisruptionBudgets (%s): every eviction fails with status 500. Delete all but one", len(s.others), names)})
	}
	for _, budget := range s.others {
		if why := servingpath.Hopeless(budget, ptr.Deref(s.deployment.Spec.Replicas, 1)); why != "" {
			list = append(list, finding{reason: ReasonHopeless, warning: true, message: why})
		}
	}
	for _, budget := range s.idle {
		if meant(budget, s) {
			list = append(list, finding{reason: ReasonSelectsNothing, warning: true, message: fmt.Sprintf(
				"PodDisruptionBudget %s selects no pod, though it seems to be meant for this workload: compare its selector with the labels of the pod template", budget.Name)})
		}
	}
	if len(s.others) == 0 && servingpath.NeverReady(s.pods, r.ranLong) {
		list = append(list, finding{reason: ReasonLeaderGated, warning: true, message: fmt.Sprintf(
			"Only one of its %d running pods is Ready, as if readiness followed leadership: a budget would never allow the leader's eviction, so there is none, and a drain of its node interrupts. Let every replica become Ready",
			len(s.pods))})
	}
	return list
}

func budgetNames(budgets []*policyv1.PodDisruptionBudget) string {
	var names []string
	for _, budget := range budgets {
		names = append(names, budget.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// meant guesses that a budget that selects nothing was written for a workload: it has its name, or selects one of its
// labels' values under another key.
func meant(budget *policyv1.PodDisruptionBudget, s *scene) bool {
	if budget.Name == s.deployment.Name {
		return true
	}
	if budget.Spec.Selector == nil {
		return false
	}
	for _, wanted := range budget.Spec.Selector.MatchLabels {
		for _, value := range s.deployment.Spec.Template.Labels {
			if value == wanted {
				return true
			}
		}
	}
	return false
}

// problems remembers what was told about each workload, and counts it.
type problems struct {
	gauge *prometheus.GaugeVec

	mu   sync.Mutex
	told map[types.NamespacedName][]finding
}

func newProblems() (*problems, error) {
	p := &problems{
		gauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evenkeel_serving_path_problems",
			Help: "1 for each problem of a serving-path workload's budgets that makes a drain wait for ever or interrupt.",
		}, []string{"namespace", "name", "problem"}),
		told: map[types.NamespacedName][]finding{},
	}
	return p, metrics.Registry.Register(p.gauge)
}

// news takes what is found now and gives what was not told before.
func (p *problems) news(key types.NamespacedName, findings []finding) []finding {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []finding
	for _, f := range findings {
		if !slices.Contains(p.told[key], f) {
			list = append(list, f)
		}
	}
	p.told[key] = findings
	p.gauge.DeletePartialMatch(prometheus.Labels{"namespace": key.Namespace, "name": key.Name})
	for _, f := range findings {
		if f.warning {
			p.gauge.WithLabelValues(key.Namespace, key.Name, f.reason).Set(1)
		}
	}
	return list
}

func (p *problems) knows(key types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.told[key]
	return ok
}

func (p *problems) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.told, key)
	p.gauge.DeletePartialMatch(prometheus.Labels{"namespace": key.Namespace, "name": key.Name})
}
