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
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/names"
	"github.com/evenkeel-io/evenkeel/plugins/poolfit"
	"github.com/evenkeel-io/evenkeel/plugins/preemption"
)

// slotKey tells the wanted replicas of all deployments apart.
type slotKey struct {
	deployment types.NamespacedName
	slot       int32
}

// run is a replica that ran at the beginning.
type run struct {
	replica   *modelplane.ModelReplica
	placement *evenkeel.ReplicaPlacement
}

// fare is how a deployment fares.
type fare struct {
	before, least, unavailable int32
}

// record remembers what happens in a simulation.
type record struct {
	// runs are the replicas at the beginning by slot.
	runs map[slotKey]run
	// known are the placements at the beginning.
	known map[types.UID]bool
	// slots by the name of their replica.
	slots map[types.NamespacedName]slotKey
	// order in which something happens to slots, from 1.
	order map[slotKey]int
	// causes for which a replica of the slot had to leave.
	causes map[slotKey]string
	// lacks says why a placement fitted nowhere when it was last tried.
	lacks map[types.NamespacedName][]Verdict
	// takes counts the placements that a cluster got, and refuses has those for which it then was too full.
	takes    map[string]int
	refuses  map[string]map[types.NamespacedName]bool
	fares    map[types.NamespacedName]*fare
	policies map[types.NamespacedName][]string
	// last is when something last happened.
	last time.Time
}

func newRecord() *record {
	return &record{
		runs:     map[slotKey]run{},
		known:    map[types.UID]bool{},
		slots:    map[types.NamespacedName]slotKey{},
		order:    map[slotKey]int{},
		causes:   map[slotKey]string{},
		lacks:    map[types.NamespacedName][]Verdict{},
		takes:    map[string]int{},
		refuses:  map[string]map[types.NamespacedName]bool{},
		fares:    map[types.NamespacedName]*fare{},
		policies: map[types.NamespacedName][]string{},
	}
}

// begin notes what there is.
func (r *record) begin(s *simulation) {
	r.last = s.began
	for _, p := range all[evenkeel.ReplicaPlacement](s.store) {
		r.known[p.UID] = true
		r.notePlacement(s, nil, p)
	}
	for _, d := range all[modelplane.ModelDeployment](s.store) {
		key := client.ObjectKeyFromObject(d)
		serving := s.serving(key)
		r.fares[key] = &fare{before: serving, least: serving, unavailable: max(0, d.Spec.Replicas-serving)}
	}
}

func slotOf(p *evenkeel.ReplicaPlacement) slotKey {
	return slotKey{deployment: types.NamespacedName{Namespace: p.Namespace, Name: p.Spec.DeploymentName}, slot: p.Spec.Slot}
}

func over(p *evenkeel.ReplicaPlacement) bool {
	return meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionMoved)
}

// changed notes what a change means for a slot.
func (r *record) changed(s *simulation, before, now client.Object) {
	switch o := now.(type) {
	case *evenkeel.ReplicaPlacement:
		old, _ := before.(*evenkeel.ReplicaPlacement)
		r.notePlacement(s, old, o)
	case *modelplane.ModelReplica:
		old, _ := before.(*modelplane.ModelReplica)
		if old == nil || old.DeletionTimestamp == nil && o.DeletionTimestamp != nil {
			r.happened(s, client.ObjectKeyFromObject(o))
		}
		r.noteServing(s, o)
	case nil:
		if gone, ok := before.(*modelplane.ModelReplica); ok {
			r.last = s.clock.Now()
			r.noteServing(s, gone)
		}
	}
}

func (r *record) notePlacement(s *simulation, before, now *evenkeel.ReplicaPlacement) {
	if over(now) {
		return
	}
	slot := slotOf(now)
	if c := meta.FindStatusCondition(now.Status.Conditions, evenkeel.ConditionDisruptionTarget); c != nil && c.Status != "False" {
		r.causes[slot] = c.Reason
	}
	name := placement.ReplicaNameOf(now)
	if name == "" {
		return
	}
	r.slots[types.NamespacedName{Namespace: now.Namespace, Name: name}] = slot
	if now.Status.Assignment != nil && before != nil && before.Status.Assignment == nil && now.Spec.Adopts == "" {
		r.takes[now.Status.Assignment.ClusterName]++
	}
	replica := get[modelplane.ModelReplica](s.store, now.Namespace, name)
	if replica == nil || replica.DeletionTimestamp != nil || simulated(replica) || now.Status.Assignment == nil {
		return
	}
	if known, found := r.runs[slot]; !found || now.Spec.Attempt < known.placement.Spec.Attempt {
		r.runs[slot] = run{replica: replica, placement: now}
	}
}

// simulated tells whether an object was made in the simulation.
func simulated(o client.Object) bool { return strings.HasPrefix(string(o.GetUID()), simulatedUID) }

func (r *record) happened(s *simulation, replica types.NamespacedName) {
	r.last = s.clock.Now()
	slot, found := r.slots[replica]
	if found && r.order[slot] == 0 {
		r.order[slot] = len(r.order) + 1
	}
}

func (r *record) noteServing(s *simulation, replica *modelplane.ModelReplica) {
	key := types.NamespacedName{Namespace: replica.Namespace, Name: replica.Labels[modelplane.LabelDeployment]}
	d := get[modelplane.ModelDeployment](s.store, key.Namespace, key.Name)
	if d == nil {
		return
	}
	f := r.fares[key]
	if f == nil {
		f = &fare{}
		r.fares[key] = f
	}
	serving := s.serving(key)
	f.least = min(f.least, serving)
	f.unavailable = max(f.unavailable, d.Spec.Replicas-serving)
}

// tried notes why a placement did not fit.
func (r *record) tried(pod *v1.Pod, state fwk.CycleState, failed *framework.FitError) {
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	shortages := poolfit.Shortages(state)
	for cluster, shortage := range shortages {
		if r.takes[cluster] > 0 && shortage.Kind == placement.NotEnoughNodes && shortage.Need <= shortage.Nodes {
			if r.refuses[cluster] == nil {
				r.refuses[cluster] = map[types.NamespacedName]bool{}
			}
			r.refuses[cluster][key] = true
		}
	}
	if failed == nil {
		delete(r.lacks, key)
		return
	}
	r.lacks[key] = verdicts(failed.Diagnosis.NodeToStatus, shortages)
}

// verdicts tells why clusters refused a placement, by name.
func verdicts(statuses *framework.NodeToStatus, shortages map[string]*placement.Shortage) []Verdict {
	found := map[string]Verdict{}
	statuses.ForEachExplicitNode(func(cluster string, status *fwk.Status) {
		found[cluster] = verdict(cluster, status, shortages[cluster])
	})
	out := make([]Verdict, 0, len(found))
	for _, cluster := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[cluster])
	}
	return out
}

func verdict(cluster string, status *fwk.Status, shortage *placement.Shortage) Verdict {
	v := Verdict{Cluster: cluster, Plugin: status.Plugin()}
	if v.Plugin == names.PoolFit && shortage != nil {
		v.Reason = preemption.Phrase(cluster, shortage)
		return v
	}
	for i, reason := range status.Reasons() {
		if i > 0 {
			v.Reason += ", "
		}
		v.Reason += virtual.ClusterReason(reason)
	}
	return v
}
