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
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// ending is what a slot has in the end.
type ending struct {
	// running has a replica, waiting does not; either may be nil.
	running, waiting *evenkeel.ReplicaPlacement
	replica          *modelplane.ModelReplica
}

// plan tells what has become of every slot.
func (r *record) plan(s *simulation) *Plan {
	plan := &Plan{Duration: r.last.Sub(s.began).Round(time.Second), Replicas: []Replica{}, Deployments: []Deployment{}}
	endings := s.endings()
	slots := map[slotKey]bool{}
	for slot := range r.runs {
		slots[slot] = true
	}
	for slot := range endings {
		slots[slot] = true
	}
	for slot := range slots {
		if replica, tell := r.outcome(slot, endings[slot]); tell {
			plan.Replicas = append(plan.Replicas, replica)
		}
	}
	slices.SortFunc(plan.Replicas, compareReplicas)
	for i := range plan.Replicas {
		if plan.Replicas[i].Order > 0 {
			plan.Replicas[i].Order = i + 1
		}
	}
	plan.Deployments = append(plan.Deployments, r.deployments(s, plan.Replicas)...)
	plan.Contended = r.contended()
	return plan
}

func compareReplicas(a, b Replica) int {
	return cmp.Or(
		cmp.Compare(last(a.Order), last(b.Order)),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Deployment, b.Deployment),
		cmp.Compare(a.Slot, b.Slot),
	)
}

// last puts those to which nothing happens behind the others.
func last(order int) int {
	if order == 0 {
		return int(^uint(0) >> 1)
	}
	return order
}

// endings are the slots of the deployments that Evenkeel keeps, as they are now.
func (s *simulation) endings() map[slotKey]ending {
	endings := map[slotKey]ending{}
	for _, p := range all[evenkeel.ReplicaPlacement](s.store) {
		d := get[modelplane.ModelDeployment](s.store, p.Namespace, p.Spec.DeploymentName)
		if over(p) || d == nil || !s.decider.Acts(d) {
			continue
		}
		e := endings[slotOf(p)]
		replica := s.replicaOf(p)
		switch {
		case replica == nil:
			if e.waiting == nil || e.waiting.Spec.Attempt < p.Spec.Attempt {
				e.waiting = p
			}
		case e.running == nil || leaving(e.running) && !leaving(p):
			e.running, e.replica = p, replica
		}
		endings[slotOf(p)] = e
	}
	return endings
}

// replicaOf is the replica of a placement that nobody has deleted, nil where there is none.
func (s *simulation) replicaOf(p *evenkeel.ReplicaPlacement) *modelplane.ModelReplica {
	name := placement.ReplicaNameOf(p)
	if name == "" {
		return nil
	}
	r := get[modelplane.ModelReplica](s.store, p.Namespace, name)
	if r == nil || r.DeletionTimestamp != nil {
		return nil
	}
	return r
}

// leaving tells whether a placement's replica must leave, now or when a time is over.
func leaving(p *evenkeel.ReplicaPlacement) bool {
	c := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionDisruptionTarget)
	return c != nil && c.Status != "False"
}

// outcome tells what becomes of a slot, and whether that is worth telling.
func (r *record) outcome(slot slotKey, e ending) (replica Replica, tell bool) {
	began, ran := r.runs[slot]
	out := Replica{
		Order: r.order[slot], Namespace: slot.deployment.Namespace, Deployment: slot.deployment.Name, Slot: slot.slot,
		Cause: r.causes[slot],
	}
	if ran {
		out.From, out.Placement = placeOf(began.placement), began.placement.Name
	}
	if e.running != nil {
		out.To, out.Placement = placeOf(e.running), e.running.Name
	}
	switch {
	case ran && e.running != nil && e.replica.UID == began.replica.UID:
		if !leaving(e.running) {
			return out, false
		}
		out.Outcome, out.Order = OutcomeHeld, 0
		r.explainHeld(&out, e)
	case ran && e.running != nil:
		out.Outcome = OutcomeMoves
	case ran && e.waiting != nil:
		out.Outcome, out.Placement = OutcomeDeleted, e.waiting.Name
		r.explain(&out, e.waiting)
	case ran:
		out.Outcome = OutcomeRemoved
	case e.running != nil:
		out.Outcome = OutcomeLands
	default:
		out.Outcome, out.Placement, out.Order = OutcomeWaits, e.waiting.Name, 0
		r.explain(&out, e.waiting)
		// One that waited before is not what the change leads to.
		return out, !r.known[e.waiting.UID]
	}
	return out, true
}

func (r *record) explainHeld(out *Replica, e ending) {
	if e.waiting != nil {
		out.Lacks = r.lacks[client.ObjectKeyFromObject(e.waiting)]
	}
	if m := e.running.Status.Move; m != nil && m.WaitingFor != "" {
		out.Reason = "waits for " + m.WaitingFor
		return
	}
	if c := meta.FindStatusCondition(e.running.Status.Conditions, evenkeel.ConditionDisruptionTarget); c != nil {
		out.Reason = c.Message
	}
}

func (r *record) explain(out *Replica, waiting *evenkeel.ReplicaPlacement) {
	out.Lacks = r.lacks[client.ObjectKeyFromObject(waiting)]
	if c := meta.FindStatusCondition(waiting.Status.Conditions, evenkeel.ConditionScheduled); c != nil {
		out.Reason = c.Message
	}
}

func placeOf(p *evenkeel.ReplicaPlacement) *Place {
	a := p.Status.Assignment
	if a == nil {
		return nil
	}
	return &Place{Cluster: a.ClusterName, Index: a.Index, Engines: a.Engines}
}

func (r *record) deployments(s *simulation, replicas []Replica) []Deployment {
	keys := map[types.NamespacedName]bool{}
	for i := range replicas {
		keys[types.NamespacedName{Namespace: replicas[i].Namespace, Name: replicas[i].Deployment}] = true
	}
	out := make([]Deployment, 0, len(keys))
	for _, key := range slices.SortedFunc(maps.Keys(keys), compareKeys) {
		d := get[modelplane.ModelDeployment](s.store, key.Namespace, key.Name)
		f := r.fares[key]
		if d == nil {
			continue
		}
		if f == nil {
			f = &fare{unavailable: d.Spec.Replicas}
		}
		out = append(out, Deployment{
			Namespace: key.Namespace, Name: key.Name, Wanted: d.Spec.Replicas,
			ServingBefore: f.before, LeastServing: f.least, ServingAfter: s.serving(key), MaxUnavailable: f.unavailable,
			Policies: r.policies[key],
		})
	}
	return out
}

// serving counts the replicas of a deployment that serve.
func (s *simulation) serving(deployment types.NamespacedName) int32 {
	var n int32
	for _, replica := range s.replicasOf(deployment) {
		if ready(replica) {
			n++
		}
	}
	return n
}

// contended names the clusters that took replicas and were then too full for others, which in the end have no place.
func (r *record) contended() []Contention {
	var out []Contention
	for _, cluster := range slices.Sorted(maps.Keys(r.refuses)) {
		refused := slices.DeleteFunc(slices.SortedFunc(maps.Keys(r.refuses[cluster]), compareKeys), func(key types.NamespacedName) bool {
			return r.lacks[key] == nil
		})
		if len(refused) > 0 {
			out = append(out, Contention{Cluster: cluster, Takes: r.takes[cluster], Refuses: namesOf(refused)})
		}
	}
	return out
}

func namesOf(keys []types.NamespacedName) []string {
	names := make([]string, 0, len(keys))
	for _, key := range keys {
		names = append(names, key.String())
	}
	return names
}
