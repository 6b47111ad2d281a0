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
	"fmt"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
)

// clusterIndex is the index of ModelReplicas by the cluster that they are on.
const clusterIndex = "poolfit.evenkeel.io/cluster"

// Ledger knows how many nodes of each pool are free: the published ones, less what every ModelReplica of every namespace
// costs as it is stamped, less what placements cost that have a cluster and no ModelReplica yet. Modelplane's rule: a
// replica counts until its object is gone, also while it terminates.
//
// One ledger serves all profiles of a scheduler, since they place on the same nodes. It is safe for concurrent use.
type Ledger struct {
	replicas     cache.Indexer
	matcher      *placement.Matcher
	reservations reservations
	// clusters by name: *cluster.
	clusters sync.Map
}

// cluster is what the ledger keeps of one cluster, also after it is gone: ModelReplicas may outlast it.
type cluster struct {
	// version counts the changes to its replicas.
	version atomic.Int64
	// latest is its latest account, nil when there is none.
	latest atomic.Pointer[account]
}

// NewLedger makes a ledger over an informer of *modelplane.ModelReplica, which may have started already. It fails on an
// informer that has a ledger.
func NewLedger(replicas cache.SharedIndexInformer, matcher *placement.Matcher) (*Ledger, error) {
	l := &Ledger{replicas: replicas.GetIndexer(), matcher: matcher}
	if err := replicas.AddIndexers(cache.Indexers{clusterIndex: l.indexReplica}); err != nil {
		return nil, fmt.Errorf("index ModelReplicas by cluster: %w", err)
	}
	return l, nil
}

// indexReplica is called by the informer's store for the old and the new form of a replica at every change, under the
// store's lock, before any event handler hears of it. So a version that was read before the store tells whether what
// was read is still current, and an event handler never wakes a placement for nodes that the ledger still believes to be
// taken. A handler of the ledger's own could not promise that: handlers run side by side.
func (l *Ledger) indexReplica(obj any) ([]string, error) {
	replica, ok := obj.(*modelplane.ModelReplica)
	if !ok {
		return nil, nil // an error would end the process
	}
	l.cluster(replica.Spec.ClusterName).version.Add(1)
	return []string{replica.Spec.ClusterName}, nil
}

func (l *Ledger) cluster(name string) *cluster {
	if known, ok := l.clusters.Load(name); ok {
		return known.(*cluster)
	}
	known, _ := l.clusters.LoadOrStore(name, &cluster{})
	return known.(*cluster)
}

// replicasOn lists the ModelReplicas of a cluster, in no order.
func (l *Ledger) replicasOn(clusterName string) ([]*modelplane.ModelReplica, error) {
	objects, err := l.replicas.ByIndex(clusterIndex, clusterName)
	if err != nil {
		return nil, fmt.Errorf("list the ModelReplicas of cluster %q: %w", clusterName, err)
	}
	replicas := make([]*modelplane.ModelReplica, 0, len(objects))
	for _, object := range objects {
		replicas = append(replicas, object.(*modelplane.ModelReplica))
	}
	return replicas, nil
}

// podDeleted forgets what a Pod had reserved. A placement that is deleted right after its binding may never be seen with
// its assignment.
func (l *Ledger) podDeleted(obj any) {
	if pod, ok := deleted(obj).(*v1.Pod); ok {
		l.reservations.release(pod.UID)
	}
}

func (l *Ledger) nodeDeleted(obj any) {
	if node, ok := deleted(obj).(*v1.Node); ok {
		l.cluster(node.Name).latest.Store(nil)
	}
}

// deleted gives the object of a deletion that the watch may have missed.
func deleted(obj any) any {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return unknown.Obj
	}
	return obj
}

// replica returns the ModelReplica of a name, nil when there is none.
func (l *Ledger) replica(name types.NamespacedName) *modelplane.ModelReplica {
	object, exists, err := l.replicas.GetByKey(name.String())
	if err != nil || !exists {
		return nil
	}
	replica, _ := object.(*modelplane.ModelReplica)
	return replica
}

// replicaOn tells whether a ModelReplica of a name is on a cluster.
func (l *Ledger) replicaOn(name types.NamespacedName, clusterName string) bool {
	replica := l.replica(name)
	return replica != nil && replica.Spec.ClusterName == clusterName
}

// claim is what a placement holds on its cluster.
type claim struct {
	// replica is the name of the ModelReplica that the placement has or will have.
	replica types.NamespacedName
	// cost in nodes by pool.
	cost map[string]int64
}

// claimOf tells what a Pod of a placement holds on the cluster of these pools. It is not ok where no cluster has been
// chosen for it.
func (l *Ledger) claimOf(pod *v1.Pod, pools *placement.Pools) (claim, bool) {
	requirements, err := virtual.RequirementsOf(pod)
	if err != nil {
		return claim{}, false
	}
	if assignment, err := virtual.AssignmentOf(pod); err == nil && assignment != nil {
		name, err := virtual.ReplicaNameOf(pod, assignment)
		if err != nil {
			return claim{}, false
		}
		return claim{
			replica: types.NamespacedName{Namespace: pod.Namespace, Name: name},
			cost:    l.matcher.Cost(requirements.Engines, assignment.Engines, pools),
		}, true
	}
	return l.reservations.of(pod.UID)
}
