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

package poolfit

import (
	"cmp"
	"maps"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
)

// account is what is known of the nodes of one cluster at one time.
type account struct {
	// generation of the NodeInfo and version of the replicas that it was made from.
	generation, version int64
	pools               *placement.Pools
	claims              []claim
	// undecided are the Pods that have no pools yet, those of higher priority first.
	undecided []*v1.Pod
	// victims are the replicas that make room, by the UID of the placement that they do it for.
	victims map[types.UID][]types.NamespacedName
	// free nodes by published pool: less than zero where more are claimed than published.
	free map[string]int64
}

// account of a cluster with the Pods that the scheduler knows to be there. The result is shared and must not be changed.
func (l *Ledger) account(nodeInfo fwk.NodeInfo) (*account, error) {
	known := l.cluster(nodeInfo.Node().Name)
	version := known.version.Load() // before the replicas are read: see indexReplica
	if a := known.latest.Load(); a != nil && a.version == version && a.generation == nodeInfo.GetGeneration() {
		return a, nil
	}
	pools, err := virtual.PoolsOf(nodeInfo.Node())
	if err != nil {
		return nil, err
	}
	a := &account{generation: nodeInfo.GetGeneration(), version: version, pools: pools, victims: map[types.UID][]types.NamespacedName{}}
	if err := l.charge(a, nodeInfo.Node().Name, nodeInfo.GetPods()); err != nil {
		return nil, err
	}
	known.latest.Store(a)
	return a, nil
}

// charge enters what is claimed. What a ModelReplica costs is stamped on it; its placement's Pod then adds nothing.
func (l *Ledger) charge(a *account, clusterName string, pods []fwk.PodInfo) error {
	replicas, err := l.replicasOn(clusterName)
	if err != nil {
		return err
	}
	seen := make(map[types.NamespacedName]bool, len(replicas))
	for _, replica := range replicas {
		name := types.NamespacedName{Namespace: replica.Namespace, Name: replica.Name}
		seen[name] = true
		a.claims = append(a.claims, claim{replica: name, cost: placement.ReplicaCost(&replica.Spec)})
	}
	for _, podInfo := range pods {
		pod := podInfo.GetPod()
		held, ok := l.claimOf(pod, a.pools)
		switch {
		case !ok:
			a.undecided = append(a.undecided, pod)
			continue
		case !seen[held.replica]:
			a.claims = append(a.claims, held)
		case pod.Annotations[virtual.AnnotationAssignment] != "":
			l.reservations.release(pod.UID)
		}
		if preemptor := virtual.PreemptorUID(pod); preemptor != "" {
			a.victims[preemptor] = append(a.victims[preemptor], held.replica)
		}
	}
	slices.SortFunc(a.undecided, byPriority)
	a.free = a.freeWithout(nil)
	if len(a.undecided) > 0 {
		a.free = l.freeFor(a, nil)
	}
	return nil
}

// byPriority puts Pods of higher priority first, and never depends on how they were listed.
func byPriority(x, y *v1.Pod) int {
	return cmp.Or(
		cmp.Compare(corev1helpers.PodPriority(y), corev1helpers.PodPriority(x)),
		cmp.Compare(x.Namespace, y.Namespace),
		cmp.Compare(x.Name, y.Name),
	)
}

// freeFor counts the free nodes by pool as if the replicas in the set were not there, and less what Pods will take that
// are counted to be on the cluster and have no pools: one that is nominated to it, or one whose binding has just failed.
// Each takes what it would be given now, or will be when the replicas are gone that make room for it: until then less
// than nothing is left, so that nobody else gets the nodes of those that have gone already.
func (l *Ledger) freeFor(a *account, excluded map[types.NamespacedName]bool) map[string]int64 {
	if len(a.undecided) == 0 && len(excluded) == 0 {
		return a.free
	}
	free := a.freeWithout(excluded)
	for _, pod := range a.undecided {
		requirements, err := virtual.RequirementsOf(pod)
		if err != nil {
			continue
		}
		room := maps.Clone(free)
		for _, victim := range a.victims[virtual.PlacementUID(pod.UID)] {
			if !excluded[victim] {
				a.giveBack(room, victim)
			}
		}
		if decision, _ := l.matcher.Place(requirements.Engines, a.pools, func(pool string) int64 { return room[pool] }); decision != nil {
			subtract(free, decision.Cost)
		}
	}
	return free
}

// giveBack adds what a replica holds.
func (a *account) giveBack(free map[string]int64, replica types.NamespacedName) {
	for i := range a.claims {
		if a.claims[i].replica != replica {
			continue
		}
		for pool, nodes := range a.claims[i].cost {
			if _, published := free[pool]; published {
				free[pool] += nodes
			}
		}
	}
}

// freeWithout counts the free nodes by pool as if the replicas in the set were not there, without a thought for Pods that
// have no pools yet. Claims on a pool that is not published any more are charged nowhere.
func (a *account) freeWithout(excluded map[types.NamespacedName]bool) map[string]int64 {
	free := publishedNodes(a.pools)
	for i := range a.claims {
		if !excluded[a.claims[i].replica] {
			subtract(free, a.claims[i].cost)
		}
	}
	return free
}

func publishedNodes(pools *placement.Pools) map[string]int64 {
	names := pools.Names()
	free := make(map[string]int64, len(names))
	for _, name := range names {
		free[name], _ = pools.Nodes(name)
	}
	return free
}

// subtract takes costs, which are not negative, from the pools that are in the map. It stops at the lowest number, since
// one that wraps around would look like free nodes.
func subtract(free, cost map[string]int64) {
	for pool, nodes := range cost {
		left, published := free[pool]
		if !published {
			continue
		}
		left -= nodes
		if left > free[pool] {
			left = math.MinInt64
		}
		free[pool] = left
	}
}
