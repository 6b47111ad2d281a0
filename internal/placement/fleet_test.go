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

package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// fleet is a small model of the hub: it applies the rules of this package to one deployment, all at once and without
// time, in the order in which scheduler and controllers apply them one by one.
type fleet struct {
	clusters []modelplane.InferenceCluster
	// replicas of all deployments.
	replicas []modelplane.ModelReplica
	// hold places nothing new, as while a deployment's cache is not resolved.
	hold bool
}

// placed is a replica that the model keeps or makes.
type placed struct {
	cluster  string
	index    int32
	assigned []evenkeel.EngineAssignment
	cost     map[string]int64
}

// String gives cluster/index and the pool, or the pools by engine where they differ.
func (p placed) String() string {
	var pools []string
	for _, engine := range p.assigned {
		for _, member := range engine.Members {
			pools = append(pools, member.NodePoolName)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(pools)))) == 1 {
		pools = pools[:1]
	}
	return fmt.Sprintf("%s/%d %s", p.cluster, p.index, strings.Join(pools, ","))
}

type ledger map[string]map[string]int64

// reconcile gives all replicas that the deployment has afterwards.
func (f fleet) reconcile(m *Matcher, d *modelplane.ModelDeployment) ([]placed, error) {
	template := &d.Spec.Template.Spec
	engines := RequirementsOf(template.Engines)
	if err := m.Validate(engines); err != nil {
		return nil, err
	}
	pools := map[string]*Pools{}
	for i := range f.clusters {
		pools[f.clusters[i].Name] = PreparePools(f.clusters[i].Status.GPUPools)
	}
	kept := f.retain(m, d, engines, pools)
	if want := int(d.Spec.Replicas); len(kept) >= want || f.hold {
		return sorted(f.scaleDown(kept, want)), nil
	}
	free := f.ledger(d, kept, pools)
	for len(kept) < int(d.Spec.Replicas) {
		next, err := f.placeOne(m, d, engines, pools, kept, free)
		if err != nil {
			return nil, err
		}
		if next == nil {
			break
		}
		kept = append(kept, *next)
	}
	return sorted(kept), nil
}

func sorted(kept []placed) []placed {
	slices.SortFunc(kept, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.index, b.index))
	})
	return kept
}

func owns(d *modelplane.ModelDeployment, r *modelplane.ModelReplica) bool {
	return r.Namespace == d.Namespace && r.Labels[modelplane.LabelDeployment] == d.Name
}

func (f fleet) retain(m *Matcher, d *modelplane.ModelDeployment, engines []evenkeel.EngineRequirements, pools map[string]*Pools) []placed {
	replicas := slices.Clone(f.replicas)
	slices.SortFunc(replicas, func(a, b modelplane.ModelReplica) int { return cmp.Compare(a.Name, b.Name) })
	taken := map[string]bool{}
	var kept []placed
	for i := range replicas {
		r := &replicas[i]
		index, _ := strconv.ParseInt(r.Labels[modelplane.LabelReplicaIndex], 10, 32)
		identity := fmt.Sprintf("%s/%d", r.Spec.ClusterName, index)
		if !owns(d, r) || taken[identity] {
			continue
		}
		cause := m.Retain(RetainInput{
			Engines:     engines,
			Tolerations: d.Spec.Template.Spec.Tolerations,
			Selector:    d.Spec.Template.Spec.ClusterSelector,
			Stamped:     r.Spec.Engines,
			ClusterName: r.Spec.ClusterName,
			Cluster:     f.named(r.Spec.ClusterName),
			Pools:       pools[r.Spec.ClusterName],
		})
		if cause != nil {
			continue
		}
		taken[identity] = true
		kept = append(kept, placed{
			cluster: r.Spec.ClusterName, index: int32(index), assigned: AssignmentOf(r.Spec.Engines), cost: ReplicaCost(&r.Spec),
		})
	}
	return kept
}

func (f fleet) named(name string) *modelplane.InferenceCluster {
	for i := range f.clusters {
		if f.clusters[i].Name == name {
			return &f.clusters[i]
		}
	}
	return nil
}

func (f fleet) scaleDown(kept []placed, want int) []placed {
	var candidates []Placed
	for _, k := range kept {
		candidates = append(candidates, Placed{Cluster: k.cluster, Index: k.index, Healthy: Ready(f.named(k.cluster))})
	}
	victims := ScaleDown(candidates, want)
	return slices.DeleteFunc(kept, func(k placed) bool {
		return slices.ContainsFunc(victims, func(v Placed) bool { return v.Cluster == k.cluster && v.Index == k.index })
	})
}

// ledger charges every replica of other deployments, also terminating ones, and the kept ones of this deployment.
func (f fleet) ledger(d *modelplane.ModelDeployment, kept []placed, pools map[string]*Pools) ledger {
	free := ledger{}
	for name, published := range pools {
		free[name] = map[string]int64{}
		for _, pool := range published.Names() {
			free[name][pool], _ = published.Nodes(pool)
		}
	}
	for i := range f.replicas {
		if !owns(d, &f.replicas[i]) {
			free.charge(f.replicas[i].Spec.ClusterName, ReplicaCost(&f.replicas[i].Spec))
		}
	}
	for _, k := range kept {
		free.charge(k.cluster, k.cost)
	}
	return free
}

func (l ledger) charge(cluster string, cost map[string]int64) {
	for pool, nodes := range cost {
		if _, published := l[cluster][pool]; published {
			l[cluster][pool] -= nodes
		}
	}
}

// placeOne also checks what must hold of every decision, whatever the fleet.
func (f fleet) placeOne(m *Matcher, d *modelplane.ModelDeployment, engines []evenkeel.EngineRequirements, pools map[string]*Pools, kept []placed, free ledger) (*placed, error) {
	decisions := map[string]*Decision{}
	var candidates []Candidate
	for i := range f.clusters {
		c := &f.clusters[i]
		switch {
		case !Ready(c), !Routable(c), !SelectorMatches(d.Spec.Template.Spec.ClusterSelector, c.Labels),
			len(Untolerated(d.Spec.Template.Spec.Tolerations, c.Spec.Taints)) > 0:
			continue
		}
		decision, shortage := m.Place(engines, pools[c.Name], func(pool string) int64 { return free[c.Name][pool] })
		if (decision == nil) == (shortage == nil) {
			return nil, fmt.Errorf("%s: decision %v and shortage %v", c.Name, decision, shortage)
		}
		if decision == nil {
			continue
		}
		for pool, nodes := range decision.Cost {
			if nodes < 1 || nodes > free[c.Name][pool] {
				return nil, fmt.Errorf("%s/%s: cost %d with %d free", c.Name, pool, nodes, free[c.Name][pool])
			}
		}
		if cost := m.Cost(engines, decision.Engines, pools[c.Name]); !maps.Equal(cost, decision.Cost) {
			return nil, fmt.Errorf("%s: decided for cost %v, charged %v", c.Name, decision.Cost, cost)
		}
		if _, err := m.Resolve(engines, decision.Engines, pools[c.Name]); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		decisions[c.Name] = decision
		candidates = append(candidates, Candidate{Cluster: c.Name, Load: load(kept, c.Name)})
	}
	best, ok := Best(candidates, DefaultComparators())
	if !ok {
		return nil, nil
	}
	decision := decisions[best.Cluster]
	free.charge(best.Cluster, decision.Cost)
	index := LowestFreeIndex(func(i int32) bool { return f.taken(d, kept, best.Cluster, i) })
	return &placed{cluster: best.Cluster, index: index, assigned: decision.Engines, cost: decision.Cost}, nil
}

func load(kept []placed, cluster string) int {
	n := 0
	for _, k := range kept {
		if k.cluster == cluster {
			n++
		}
	}
	return n
}

// taken also skips every name that an existing ModelReplica has, since two objects cannot share one. Modelplane gives the
// index of a replica that it drops in the same pass away again.
func (f fleet) taken(d *modelplane.ModelDeployment, kept []placed, cluster string, index int32) bool {
	name := ReplicaName(d.Name, cluster, index)
	return slices.ContainsFunc(kept, func(k placed) bool { return k.cluster == cluster && k.index == index }) ||
		slices.ContainsFunc(f.replicas, func(r modelplane.ModelReplica) bool { return r.Namespace == d.Namespace && r.Name == name })
}
