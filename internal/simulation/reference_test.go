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
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// reference is a hub in memory that shares nothing with the simulation but the decisions of internal/replicas and the
// rules of internal/placement: no scheduler framework, no ledger, no queue, no limiter, no indexes. It is what a plan is
// compared with.
type reference struct {
	clusters    map[string]*modelplane.InferenceCluster
	deployments map[types.NamespacedName]*modelplane.ModelDeployment
	placements  map[types.NamespacedName]*evenkeel.ReplicaPlacement
	replicas    map[types.NamespacedName]*modelplane.ModelReplica
	endpoints   map[types.NamespacedName]*modelplane.ModelEndpoint
	policies    []*evenkeel.DisruptionPolicy
	matcher     *placement.Matcher
	now         time.Time
	version     int
	maxMoves    int
	moving      map[types.NamespacedName]int
	// order of the deployments in each round.
	order func([]types.NamespacedName)
	// trace of what was done.
	trace []string
}

func newReference(snapshot *Snapshot, maxMoves int) *reference {
	r := &reference{
		clusters:    map[string]*modelplane.InferenceCluster{},
		deployments: map[types.NamespacedName]*modelplane.ModelDeployment{},
		placements:  map[types.NamespacedName]*evenkeel.ReplicaPlacement{},
		replicas:    map[types.NamespacedName]*modelplane.ModelReplica{},
		endpoints:   map[types.NamespacedName]*modelplane.ModelEndpoint{},
		matcher:     placement.NewMatcher(),
		now:         snapshot.Now,
		maxMoves:    maxMoves,
		moving:      map[types.NamespacedName]int{},
		order:       func(keys []types.NamespacedName) { slices.SortFunc(keys, compareKeys) },
	}
	for i := range snapshot.Clusters {
		r.clusters[snapshot.Clusters[i].Name] = &snapshot.Clusters[i]
	}
	for i := range snapshot.Deployments {
		r.deployments[nameOf(&snapshot.Deployments[i])] = &snapshot.Deployments[i]
	}
	for i := range snapshot.Placements {
		r.placements[nameOf(&snapshot.Placements[i])] = &snapshot.Placements[i]
	}
	for i := range snapshot.Replicas {
		r.replicas[nameOf(&snapshot.Replicas[i])] = &snapshot.Replicas[i]
	}
	for i := range snapshot.Endpoints {
		r.endpoints[nameOf(&snapshot.Endpoints[i])] = &snapshot.Endpoints[i]
	}
	for i := range snapshot.Policies {
		r.policies = append(r.policies, &snapshot.Policies[i])
	}
	return r
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func (r *reference) taint(clusters ...string) {
	for _, name := range clusters {
		c := r.clusters[name].DeepCopy()
		now := metav1.NewTime(r.now)
		c.Spec.Taints = append(c.Spec.Taints, modelplane.Taint{Key: testTaint, Effect: modelplane.TaintEffectNoExecute, TimeAdded: &now})
		r.clusters[name] = c
	}
}

// settle goes on until nothing moves any more, even when time passes.
func (r *reference) settle() error {
	const rounds = 2000
	for quiet := 0; quiet < 20; quiet++ {
		for round := 0; r.round(); round++ {
			if round == rounds {
				return fmt.Errorf("still moving after %d rounds", rounds)
			}
			quiet = 0
		}
		r.now = r.now.Add(4 * time.Minute)
	}
	return nil
}

func (r *reference) round() (moved bool) {
	keys := slices.Collect(maps.Keys(r.deployments))
	r.order(keys)
	for _, key := range keys {
		moved = r.decide(key) || moved
	}
	moved = r.schedule() || moved
	return r.compose() || moved
}

func (r *reference) decide(key types.NamespacedName) bool {
	d := r.deployments[key]
	policy, err := replicas.PolicyFor(d, r.policies, nil)
	if err != nil {
		panic(err) // the test made it
	}
	o := replicas.Observation{
		Deployment: d, SchedulerName: evenkeel.DefaultSchedulerName, Matcher: r.matcher, Policy: policy,
		Settings: replicas.DefaultSettings(), Now: r.now,
	}
	for _, p := range r.placements {
		if p.Namespace == key.Namespace && p.Spec.DeploymentName == key.Name {
			o.Placements = append(o.Placements, p)
		}
	}
	for _, replica := range r.replicas {
		if replica.Namespace == key.Namespace && replica.Labels[modelplane.LabelDeployment] == key.Name {
			o.Replicas = append(o.Replicas, replica)
		}
	}
	for _, e := range r.endpoints {
		if e.Namespace == key.Namespace && e.Labels[modelplane.LabelDeployment] == key.Name {
			o.Endpoints = append(o.Endpoints, e)
		}
	}
	for _, c := range r.clusters {
		o.Clusters = append(o.Clusters, replicas.Cluster{InferenceCluster: c, Pools: placement.PreparePools(c.Status.GPUPools)})
	}
	o.Fleet.MaxMoves = r.maxMoves
	for other, n := range r.moving {
		if other != key {
			o.Fleet.OtherMoves += n
		}
	}
	result := replicas.Decide(o)
	r.moving[key] = result.Moving
	for _, action := range result.Actions {
		r.trace = append(r.trace, fmt.Sprintf("%s: %s", key, action))
		r.do(action)
	}
	return len(result.Actions) > 0
}

func (r *reference) next() string {
	r.version++
	return fmt.Sprintf("ref-%d", r.version)
}

func (r *reference) put(p *evenkeel.ReplicaPlacement) {
	p.ResourceVersion = r.next()
	r.placements[nameOf(p)] = p
}

func (r *reference) do(action replicas.Action) {
	r.now = r.now.Add(time.Millisecond)
	switch a := action.(type) {
	case replicas.CreatePlacement:
		p := a.Placement.DeepCopy()
		p.UID, p.Generation, p.CreationTimestamp = types.UID(r.next()), 1, metav1.NewTime(r.now)
		r.put(p)
	case replicas.UpdatePlacement:
		p := a.Placement.DeepCopy()
		p.Generation++
		r.put(p)
	case replicas.SetPlacementStatus:
		p := r.placements[nameOf(a.Placement)].DeepCopy()
		kept := a.Conditions
		if c := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionScheduled); c != nil {
			kept = append(slices.Clone(kept), *c)
		}
		p.Status.Conditions, p.Status.Move = kept, a.Move
		r.put(p)
	case replicas.DeletePlacement:
		delete(r.placements, nameOf(a.Placement))
	case replicas.CreateReplica:
		replica := a.Replica.DeepCopy()
		replica.UID = types.UID(r.next())
		r.replicas[nameOf(replica)] = replica
	case replicas.DeleteReplica:
		replica := r.replicas[nameOf(a.Replica)].DeepCopy()
		now := metav1.NewTime(r.now)
		replica.DeletionTimestamp = &now
		r.replicas[nameOf(replica)] = replica
	case replicas.ApplyEndpoint:
		e := a.Endpoint.DeepCopy()
		e.UID = types.UID(r.next())
		r.endpoints[nameOf(e)] = e
	case replicas.DeleteEndpoint:
		delete(r.endpoints, nameOf(a.Endpoint))
	default:
		panic(fmt.Sprintf("the reference does not know %T", action))
	}
}

func (r *reference) compose() (moved bool) {
	for key, replica := range r.replicas {
		switch {
		case replica.DeletionTimestamp != nil:
			delete(r.replicas, key)
			moved = true
		case !ready(replica):
			replica = replica.DeepCopy()
			replica.Status.Conditions = []metav1.Condition{{
				Type: modelplane.ConditionReady, Status: metav1.ConditionTrue, Reason: "Available", LastTransitionTime: metav1.NewTime(r.now),
			}}
			r.replicas[key] = replica
			moved = true
		}
	}
	return moved
}

// schedule tries every placement that waits, the oldest first.
func (r *reference) schedule() (moved bool) {
	var waiting []*evenkeel.ReplicaPlacement
	for _, p := range r.placements {
		if p.Status.Assignment == nil {
			waiting = append(waiting, p)
		}
	}
	slices.SortFunc(waiting, func(a, b *evenkeel.ReplicaPlacement) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range waiting {
		moved = r.scheduleOne(p.DeepCopy()) || moved
	}
	return moved
}

func (r *reference) scheduleOne(p *evenkeel.ReplicaPlacement) bool {
	var candidates []placement.Candidate
	decisions := map[string]*placement.Decision{}
	for name, c := range r.clusters {
		if decision := r.fits(p, c); decision != nil {
			decisions[name] = decision
			candidates = append(candidates, placement.Candidate{Cluster: name, Load: r.load(p, name)})
		}
	}
	verdict := metav1.Condition{
		Type: evenkeel.ConditionScheduled, Status: metav1.ConditionTrue, Reason: evenkeel.ReasonScheduled, Message: "here",
		ObservedGeneration: p.Generation, LastTransitionTime: metav1.NewTime(r.now),
	}
	best, ok := placement.Best(candidates, placement.DefaultComparators())
	if !ok {
		if c := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionScheduled); c != nil && c.ObservedGeneration == p.Generation {
			return false
		}
		verdict.Status, verdict.Reason, verdict.Message = metav1.ConditionFalse, evenkeel.ReasonUnschedulable, "nowhere"
		meta.SetStatusCondition(&p.Status.Conditions, verdict)
		r.put(p)
		return true
	}
	index := placement.LowestFreeIndex(func(i int32) bool { return r.indexTaken(p, best.Cluster, i) })
	p.Status.Assignment = &evenkeel.Assignment{ClusterName: best.Cluster, Index: index, Engines: decisions[best.Cluster].Engines}
	meta.SetStatusCondition(&p.Status.Conditions, verdict)
	r.put(p)
	return true
}

func (r *reference) indexTaken(p *evenkeel.ReplicaPlacement, cluster string, index int32) bool {
	name := types.NamespacedName{Namespace: p.Namespace, Name: placement.ReplicaName(p.Spec.DeploymentName, cluster, index)}
	if r.replicas[name] != nil {
		return true
	}
	for _, q := range r.placements {
		a := q.Status.Assignment
		if a != nil && !over(q) && q.Namespace == p.Namespace && q.Spec.DeploymentName == p.Spec.DeploymentName && a.ClusterName == cluster && a.Index == index {
			return true
		}
	}
	return false
}

func (r *reference) fits(p *evenkeel.ReplicaPlacement, c *modelplane.InferenceCluster) *placement.Decision {
	if !placement.Ready(c) || !placement.Routable(c) || slices.Contains(p.Spec.ExcludedClusters, c.Name) ||
		len(placement.Repelling(p.Spec.Tolerations, c.Spec.Taints)) > 0 || !placement.SelectorMatches(p.Spec.ClusterSelector, c.Labels) {
		return nil
	}
	pools := placement.PreparePools(c.Status.GPUPools)
	charged := r.charged(p, c, pools)
	decision, _ := r.matcher.Place(p.Spec.Engines, pools, func(pool string) int64 {
		nodes, _ := pools.Nodes(pool)
		return nodes - charged[pool]
	})
	return decision
}

func (r *reference) charged(p *evenkeel.ReplicaPlacement, c *modelplane.InferenceCluster, pools *placement.Pools) map[string]int64 {
	charged := map[string]int64{}
	var replaced types.NamespacedName
	if old := r.placements[types.NamespacedName{Namespace: p.Namespace, Name: p.Spec.Replaces}]; !p.Spec.Surge && old != nil && !over(old) {
		replaced = types.NamespacedName{Namespace: old.Namespace, Name: placement.ReplicaNameOf(old)}
	}
	for key, replica := range r.replicas {
		if replica.Spec.ClusterName == c.Name && key != replaced {
			for pool, n := range placement.ReplicaCost(&replica.Spec) {
				charged[pool] += n
			}
		}
	}
	for _, q := range r.placements {
		a := q.Status.Assignment
		key := types.NamespacedName{Namespace: q.Namespace, Name: placement.ReplicaNameOf(q)}
		if a == nil || over(q) || a.ClusterName != c.Name || r.replicas[key] != nil || key == replaced {
			continue
		}
		for pool, n := range r.matcher.Cost(q.Spec.Engines, a.Engines, pools) {
			charged[pool] += n
		}
	}
	return charged
}

func (r *reference) load(p *evenkeel.ReplicaPlacement, cluster string) int {
	n := 0
	for _, q := range r.placements {
		a := q.Status.Assignment
		if a == nil || a.ClusterName != cluster || over(q) || q.Namespace != p.Namespace || q.Spec.DeploymentName != p.Spec.DeploymentName {
			continue
		}
		if !meta.IsStatusConditionTrue(q.Status.Conditions, evenkeel.ConditionDisruptionTarget) && q.Name != p.Spec.Replaces {
			n++
		}
	}
	return n
}

// outcome gives where the replica of each slot is in the end, "" for one that waits.
func (r *reference) outcome() map[string]string {
	out := map[string]string{}
	for _, p := range r.placements {
		if over(p) {
			continue
		}
		key := fmt.Sprintf("%s/%s-%d", p.Namespace, p.Spec.DeploymentName, p.Spec.Slot)
		if p.Status.Assignment == nil {
			if out[key] == "" {
				out[key] = ""
			}
			continue
		}
		out[key] = fmt.Sprintf("%s/%d", p.Status.Assignment.ClusterName, p.Status.Assignment.Index)
	}
	return out
}
