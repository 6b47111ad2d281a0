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
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// Report says what maintenance of system nodes would do.
type Report struct {
	// SystemNodes are those without a taint that keeps serving-path pods away, by name.
	SystemNodes []string `json:"systemNodes"`
	// Components of the serving path, by namespace and name.
	Components []ComponentReport `json:"components"`
	// Others are pods outside of the serving path that would keep a drain from ending.
	Others []string `json:"others,omitempty"`
	// OK tells that no maintenance would interrupt serving, or wait for ever.
	OK bool `json:"ok"`
}

// ComponentReport is about one workload.
type ComponentReport struct {
	Component string `json:"component"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Counts tells that requests fail, or pods on their path cannot be made anew, while none of it is Ready.
	Counts bool `json:"counts"`
	// Wanted and Ready are numbers of replicas.
	Wanted int32 `json:"wanted"`
	Ready  int   `json:"ready"`
	// Nodes of its pods, once for each pod; "" for a Pending one.
	Nodes []string `json:"nodes"`
	// Budgets that its pods are under.
	Budgets []string `json:"budgets"`
	// Drains says for each system node that it runs on what a drain of that node alone would do.
	Drains map[string]Outcome `json:"drains"`
	// CordonAll is what the incident would do: all system nodes cordoned, then one after the other drained, restarted
	// and uncordoned.
	CordonAll Outcome `json:"cordonAll"`
	// Fixes are what to do about it, the most telling first.
	Fixes []string `json:"fixes,omitempty"`
}

// worst is the worst that could happen to it.
func (r *ComponentReport) worst() Outcome {
	outcome := r.CordonAll
	for _, o := range r.Drains {
		outcome = worse(outcome, o)
	}
	return outcome
}

// Check plays the drain of each system node, and the maintenance of all of them.
func Check(ctx context.Context, s *Snapshot, catalogue *servingpath.Catalogue) (*Report, error) {
	ctx, cancel := context.WithCancel(ctx) // the scheduler's recorder of metrics ends with it
	defer cancel()
	scheduler, err := newScheduler(ctx)
	if err != nil {
		return nil, err
	}
	c := &checker{snapshot: s, catalogue: catalogue, scheduler: scheduler, watched: workloads(s, catalogue), others: map[string]bool{}}
	for i := range s.Nodes {
		if node := &s.Nodes[i]; !catalogue.IsFallback(node) {
			c.system = append(c.system, node.Name)
		}
	}
	slices.Sort(c.system)
	return c.check(ctx)
}

type checker struct {
	snapshot  *Snapshot
	catalogue *servingpath.Catalogue
	scheduler *scheduler
	watched   []*workload
	system    []string
	others    map[string]bool
}

func (c *checker) check(ctx context.Context) (*Report, error) {
	rows := map[*workload]*ComponentReport{}
	for _, w := range c.watched {
		rows[w] = c.describe(w)
	}
	for _, node := range c.system {
		p := newPlay(c.snapshot, c.scheduler, c.watched)
		p.cordon(node, true)
		if _, err := p.drain(ctx, node); err != nil {
			return nil, err
		}
		c.collect(p)
		for w, outcome := range p.outcomes {
			if slices.Contains(rows[w].Nodes, node) {
				rows[w].Drains[node] = outcome
			}
		}
	}
	all, err := c.maintainAll(ctx)
	if err != nil {
		return nil, err
	}
	report := &Report{SystemNodes: c.system, OK: true, Components: []ComponentReport{}}
	for w, row := range rows {
		row.CordonAll = all.outcomes[w]
		row.Fixes = c.fixes(w, row)
		report.OK = report.OK && harmless(w, row)
		report.Components = append(report.Components, *row)
	}
	slices.SortFunc(report.Components, func(a, b ComponentReport) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for other := range c.others {
		report.Others = append(report.Others, other)
		report.OK = false
	}
	slices.Sort(report.Others)
	return report, nil
}

// harmless tells that no maintenance interrupts serving because of a workload, or waits for ever.
func harmless(w *workload, r *ComponentReport) bool {
	switch r.worst() {
	case OutcomeBlocks:
		return false
	case OutcomeInterrupts:
		return !w.counts()
	}
	return !w.counts() || r.Ready > 0 || r.Wanted == 0
}

// maintainAll plays the incident.
func (c *checker) maintainAll(ctx context.Context) (*play, error) {
	p := newPlay(c.snapshot, c.scheduler, c.watched)
	for _, node := range c.system {
		p.cordon(node, true)
	}
	for _, node := range c.system {
		ended, err := p.drain(ctx, node)
		if err != nil {
			return nil, err
		}
		if !ended {
			break // it waits for ever, and the next is never begun
		}
		p.cordon(node, false)
		if _, err := p.settle(ctx); err != nil {
			return nil, err
		}
	}
	c.collect(p)
	return p, nil
}

// collect remembers the pods that block although they are no part of the serving path.
func (c *checker) collect(p *play) {
	for _, b := range p.stuck {
		if !slices.ContainsFunc(c.watched, func(w *workload) bool { return w.owns(b.pod) }) {
			c.others["pod "+b.pod.Namespace+"/"+b.pod.Name+" keeps the drain of node "+b.pod.Spec.NodeName+" from ending: "+whyBlocked(b)] = true
		}
	}
}

func whyBlocked(b blocked) string {
	if b.answer == servingpath.Overlap {
		return "it is under more than one PodDisruptionBudget"
	}
	return "PodDisruptionBudget " + b.budget.Name + " does not allow it"
}

func (c *checker) describe(w *workload) *ComponentReport {
	r := &ComponentReport{
		Component: w.component.Name, Namespace: w.deployment.Namespace, Name: w.deployment.Name, Counts: w.counts(),
		Wanted: w.wanted(), Nodes: []string{}, Budgets: []string{}, Drains: map[string]Outcome{},
	}
	for i := range c.snapshot.Pods {
		pod := &c.snapshot.Pods[i]
		if !w.owns(pod) || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		r.Nodes = append(r.Nodes, pod.Spec.NodeName)
		if servingpath.PodReady(pod) {
			r.Ready++
		}
	}
	slices.Sort(r.Nodes)
	for _, budget := range servingpath.Covering(c.snapshot.Budgets, w.deployment.Namespace, w.deployment.Spec.Template.Labels) {
		r.Budgets = append(r.Budgets, budget.Name)
	}
	slices.Sort(r.Budgets)
	return r
}
