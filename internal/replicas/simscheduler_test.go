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

package replicas

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// schedule lets the scheduler look at the placement that has waited longest, and tells whether there was one that it had
// not looked at since it changed.
func (s *sim) schedule(all bool) bool {
	var waiting []*evenkeel.ReplicaPlacement
	for _, p := range s.placements {
		if p.Status.Assignment == nil && p.Spec.Adopts == "" {
			waiting = append(waiting, p)
		}
	}
	slices.SortFunc(waiting, func(a, b *evenkeel.ReplicaPlacement) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	moved := false
	for _, p := range waiting {
		moved = s.scheduleOne(p) || moved
		if !all {
			break
		}
	}
	return moved
}

func (s *sim) scheduleOne(p *evenkeel.ReplicaPlacement) bool {
	var candidates []placement.Candidate
	decisions := map[string]*placement.Decision{}
	for name, c := range s.clusters {
		if decision := s.fits(p, c); decision != nil {
			decisions[name] = decision
			candidates = append(candidates, placement.Candidate{Cluster: name, Load: s.load(p, name)})
		}
	}
	best, ok := placement.Best(candidates, placement.DefaultComparators())
	if !ok {
		c := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionScheduled)
		if c != nil && c.ObservedGeneration == p.Generation {
			return false
		}
		s.note("%s fits nowhere", p.Name)
		q := p.DeepCopy()
		meta.SetStatusCondition(&q.Status.Conditions, metav1.Condition{
			Type: evenkeel.ConditionScheduled, Status: metav1.ConditionFalse, Reason: evenkeel.ReasonUnschedulable,
			Message: "no cluster fits", ObservedGeneration: p.Generation, LastTransitionTime: metav1.NewTime(s.now),
		})
		s.put(q)
		return true
	}
	index := placement.LowestFreeIndex(func(i int32) bool { return s.indexTaken(best.Cluster, i) })
	s.assign(p, evenkeel.Assignment{ClusterName: best.Cluster, Index: index, Engines: decisions[best.Cluster].Engines}, evenkeel.ReasonScheduled)
	return true
}

func (s *sim) indexTaken(cluster string, index int32) bool {
	if s.replicas[placement.ReplicaName("chat", cluster, index)] != nil {
		return true
	}
	for _, p := range s.placements {
		if a := p.Status.Assignment; a != nil && !finished(p) && a.ClusterName == cluster && a.Index == index {
			return true
		}
	}
	return false
}

func (s *sim) assign(old *evenkeel.ReplicaPlacement, a evenkeel.Assignment, reason string) {
	s.note("%s is assigned to %s/%d", old.Name, a.ClusterName, a.Index)
	p := old.DeepCopy()
	p.Status.Assignment = &a
	meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{
		Type: evenkeel.ConditionScheduled, Status: metav1.ConditionTrue, Reason: reason,
		ObservedGeneration: p.Generation, LastTransitionTime: metav1.NewTime(s.now),
	})
	s.put(p)
}

func (s *sim) fits(p *evenkeel.ReplicaPlacement, c *modelplane.InferenceCluster) *placement.Decision {
	if !placement.Ready(c) || !placement.Routable(c) || slices.Contains(p.Spec.ExcludedClusters, c.Name) ||
		len(placement.Repelling(p.Spec.Tolerations, c.Spec.Taints)) > 0 || !placement.SelectorMatches(p.Spec.ClusterSelector, c.Labels) {
		return nil
	}
	pools := s.poolsOf(c)
	charged := s.charged(p, c, pools)
	decision, _ := s.matcher.Place(p.Spec.Engines, pools, func(pool string) int64 {
		nodes, _ := pools.Nodes(pool)
		return nodes - charged[pool]
	})
	return decision
}

// charged are the nodes of a cluster that are spoken for, as the scheduler's ledger has it.
func (s *sim) charged(p *evenkeel.ReplicaPlacement, c *modelplane.InferenceCluster, pools *placement.Pools) map[string]int64 {
	charged := map[string]int64{}
	replaced := ""
	if old := s.placements[p.Spec.Replaces]; !p.Spec.Surge && old != nil && old.Status.Assignment != nil && !finished(old) {
		replaced = nameOf(old)
	}
	for name, r := range s.replicas {
		if r.Spec.ClusterName == c.Name && name != replaced {
			for pool, n := range placement.ReplicaCost(&r.Spec) {
				charged[pool] += n
			}
		}
	}
	for _, q := range s.placements {
		a := q.Status.Assignment
		if a == nil || finished(q) || q.Name == p.Spec.Replaces && !p.Spec.Surge || a.ClusterName != c.Name || s.replicas[nameOf(q)] != nil {
			continue
		}
		for pool, n := range s.matcher.Cost(q.Spec.Engines, a.Engines, pools) {
			charged[pool] += n
		}
	}
	return charged
}

// load counts this deployment's replicas on a cluster, those that leave and the one that is replaced aside.
func (s *sim) load(p *evenkeel.ReplicaPlacement, cluster string) int {
	n := 0
	for _, q := range s.placements {
		leaving := meta.IsStatusConditionTrue(q.Status.Conditions, evenkeel.ConditionDisruptionTarget)
		if a := q.Status.Assignment; a != nil && a.ClusterName == cluster && !finished(q) && !leaving && q.Name != p.Spec.Replaces {
			n++
		}
	}
	return n
}
