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

package simulation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/poolfit"
	"github.com/evenkeel-io/evenkeel/plugins/rank"
)

// Explanation tells why a placement is where it is, or nowhere, as the scheduler would judge now.
type Explanation struct {
	Namespace  string `json:"namespace"`
	Placement  string `json:"placement"`
	Deployment string `json:"deployment"`
	Slot       int32  `json:"slot"`
	// At is the place that it has, nil where it has none.
	At *Place `json:"at,omitempty"`
	// Best is the cluster that it would get now, empty where there is none.
	Best string `json:"best,omitempty"`
	// Message is what the scheduler has written on it.
	Message string `json:"message,omitempty"`
	// Clusters, those that fit before the others, the best first.
	Clusters []ClusterExplanation `json:"clusters"`
}

// ClusterExplanation is what speaks for and against one cluster.
type ClusterExplanation struct {
	Cluster string `json:"cluster"`
	Fits    bool   `json:"fits"`
	// Verdicts of all filters that refuse it.
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Compared is what the clusters that fit are ordered by, in this order.
	Compared []Compared `json:"compared,omitempty"`
	// Behind says by what the cluster that is next better is preferred; empty for the best.
	Behind string `json:"behind,omitempty"`
}

// Compared is the value of one comparator.
type Compared struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Why explains placements: the one of a name, or those of the deployment of that name. A placement that has a place is
// judged as if its own nodes were free for it.
func Why(ctx context.Context, snapshot *Snapshot, namespace, name string, options Options) ([]Explanation, error) {
	ctx, cancel := context.WithCancel(quiet(ctx))
	defer cancel()
	placements := placementsNamed(snapshot, namespace, name)
	if len(placements) == 0 {
		return nil, fmt.Errorf("namespace %q has no ReplicaPlacement of the name %q, and no ModelDeployment of that name with placements", namespace, name)
	}
	oneByOne := *options.Scheduler.DeepCopy()
	oneByOne.Profiles = append(oneByOne.Profiles, singleFilters(options.Scheduler.Profiles)...)
	options.Scheduler = &oneByOne
	s, err := newSimulation(ctx, snapshot, options)
	if err != nil {
		return nil, err
	}
	out := make([]Explanation, 0, len(placements))
	for _, p := range placements {
		e, err := s.scheduler.explain(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("placement %s/%s: %w", p.Namespace, p.Name, err)
		}
		out = append(out, *e)
	}
	return out, nil
}

// placementsNamed gives those that are not over, by slot and attempt.
func placementsNamed(snapshot *Snapshot, namespace, name string) []*evenkeel.ReplicaPlacement {
	var exact, of []*evenkeel.ReplicaPlacement
	for i := range snapshot.Placements {
		p := &snapshot.Placements[i]
		switch {
		case p.Namespace != namespace || over(p):
		case p.Name == name:
			exact = append(exact, p)
		case p.Spec.DeploymentName == name:
			of = append(of, p)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	slices.SortFunc(of, func(a, b *evenkeel.ReplicaPlacement) int {
		return cmp.Or(cmp.Compare(a.Spec.Slot, b.Spec.Slot), cmp.Compare(a.Spec.Attempt, b.Spec.Attempt))
	})
	return of
}

// singleFilters gives for each filter of each profile a profile in which it is the only one: the framework stops at the
// first filter that refuses, and people want to know of all.
func singleFilters(profiles []config.KubeSchedulerProfile) []config.KubeSchedulerProfile {
	var single []config.KubeSchedulerProfile
	for i := range profiles {
		if profiles[i].Plugins == nil {
			continue
		}
		for _, plugin := range profiles[i].Plugins.Filter.Enabled {
			one := *profiles[i].DeepCopy()
			one.SchedulerName = singleName(profiles[i].SchedulerName, plugin.Name)
			one.Plugins.Filter = config.PluginSet{Enabled: []config.Plugin{plugin}, Disabled: []config.Plugin{{Name: "*"}}}
			single = append(single, one)
		}
	}
	return single
}

func singleName(profile, plugin string) string { return profile + "/" + plugin }

// explain judges every cluster for a placement.
func (s *scheduling) explain(ctx context.Context, p *evenkeel.ReplicaPlacement) (*Explanation, error) {
	e := &Explanation{
		Namespace: p.Namespace, Placement: p.Name, Deployment: p.Spec.DeploymentName, Slot: p.Spec.Slot, At: placeOf(p), Clusters: []ClusterExplanation{},
	}
	if c := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionScheduled); c != nil {
		e.Message = c.Message
	}
	pod := virtual.PodFor(beforePlacing(p))
	profile := s.Profiles[pod.Spec.SchedulerName]
	if profile == nil {
		return nil, fmt.Errorf("no scheduler profile is called %q; --scheduler-config names the hub scheduler's file", pod.Spec.SchedulerName)
	}
	// This takes a snapshot of the fleet, which the filters read.
	_, _ = s.SchedulePod(ctx, profile, framework.NewCycleState(), pod)
	nodes, err := profile.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return nil, err
	}
	refused, err := s.refusals(ctx, profile, pod, nodes)
	if err != nil {
		return nil, err
	}
	return e, s.order(e, pod, nodes, refused)
}

// beforePlacing is a placement as it was before it got its place, with its own nodes free for it.
func beforePlacing(p *evenkeel.ReplicaPlacement) *evenkeel.ReplicaPlacement {
	if p.Status.Assignment == nil && p.Spec.Adopts == "" {
		return p
	}
	p = p.DeepCopy()
	p.Status = evenkeel.ReplicaPlacementStatus{}
	p.Spec.Adopts, p.Spec.Replaces, p.Spec.Surge = "", p.Name, false
	return p
}

// refusals asks each filter by itself about each cluster.
func (s *scheduling) refusals(ctx context.Context, profile framework.Framework, pod *v1.Pod, nodes []fwk.NodeInfo) (map[string][]Verdict, error) {
	refused := map[string][]Verdict{}
	for _, plugin := range profile.ListPlugins().Filter.Enabled {
		single := s.Profiles[singleName(profile.ProfileName(), plugin.Name)]
		if single == nil {
			return nil, fmt.Errorf("filter %s cannot be asked by itself", plugin.Name)
		}
		state := framework.NewCycleState()
		if _, status, _ := single.RunPreFilterPlugins(ctx, state, pod); !status.IsSuccess() && !status.IsRejected() {
			return nil, status.AsError()
		} else if status.IsRejected() {
			for _, node := range nodes {
				name := node.Node().Name
				refused[name] = []Verdict{verdict(name, status, nil)}
			}
			return refused, nil
		}
		for _, node := range nodes {
			name := node.Node().Name
			if status := single.RunFilterPluginsWithNominatedPods(ctx, state, pod, node); !status.IsSuccess() {
				refused[name] = append(refused[name], verdict(name, status, poolfit.Shortages(state)[name]))
			}
		}
	}
	return refused, nil
}

// order puts the clusters in the order in which they would be chosen, those that do not fit last.
func (s *scheduling) order(e *Explanation, pod *v1.Pod, nodes []fwk.NodeInfo, refused map[string][]Verdict) error {
	comparators := placement.DefaultComparators()
	var fitting []placement.Candidate
	for _, node := range nodes {
		name := node.Node().Name
		if verdicts := refused[name]; len(verdicts) > 0 {
			e.Clusters = append(e.Clusters, ClusterExplanation{Cluster: name, Verdicts: verdicts})
			continue
		}
		candidate, err := rank.CandidateFor(pod, node)
		if err != nil {
			return err
		}
		fitting = append(fitting, candidate)
	}
	slices.SortFunc(e.Clusters, func(a, b ClusterExplanation) int { return cmp.Compare(a.Cluster, b.Cluster) })
	slices.SortFunc(fitting, func(a, b placement.Candidate) int {
		if placement.Better(a, b, comparators) {
			return -1
		}
		return 1
	})
	chosen := make([]ClusterExplanation, 0, len(nodes))
	for i, candidate := range fitting {
		c := ClusterExplanation{Cluster: candidate.Cluster, Fits: true}
		for _, comparator := range comparators {
			c.Compared = append(c.Compared, Compared{Name: comparator.Name, Value: comparator.Show(candidate)})
		}
		if i > 0 {
			c.Behind = placement.Explain(fitting[i-1], candidate, comparators)
		} else {
			e.Best = candidate.Cluster
		}
		chosen = append(chosen, c)
	}
	e.Clusters = append(chosen, e.Clusters...)
	return nil
}
