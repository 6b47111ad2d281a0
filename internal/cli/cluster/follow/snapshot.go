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

package follow

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/drain"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// Snapshot is what is known of a drain at one moment.
type Snapshot struct {
	// Cluster that is being drained; nil if it is gone.
	Cluster *modelplane.InferenceCluster
	// Replicas on the cluster.
	Replicas []*modelplane.ModelReplica
	// Placements of the whole hub, finished ones too.
	Placements []*evenkeel.ReplicaPlacement
	// Deployments of the whole hub.
	Deployments map[types.NamespacedName]*modelplane.ModelDeployment
}

// resident is a replica on the cluster with the placement that stands for it; either may be missing.
type resident struct {
	key       types.NamespacedName
	replica   *modelplane.ModelReplica
	placement *evenkeel.ReplicaPlacement
}

// residents gives what is on the cluster, by namespace and name of the replica.
func (s *Snapshot) residents() []*resident {
	byKey := map[types.NamespacedName]*resident{}
	at := func(key types.NamespacedName) *resident {
		if byKey[key] == nil {
			byKey[key] = &resident{key: key}
		}
		return byKey[key]
	}
	for _, r := range s.Replicas {
		at(types.NamespacedName{Namespace: r.Namespace, Name: r.Name}).replica = r
	}
	for _, p := range s.Placements {
		if p.Status.Assignment != nil && p.Status.Assignment.ClusterName == s.Cluster.Name && !finished(p) {
			at(types.NamespacedName{Namespace: p.Namespace, Name: placement.ReplicaNameOf(p)}).placement = p
		}
	}
	list := make([]*resident, 0, len(byKey))
	for _, r := range byKey {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *resident) int {
		return cmp.Or(cmp.Compare(a.key.Namespace, b.key.Namespace), cmp.Compare(a.key.Name, b.key.Name))
	})
	return list
}

func finished(p *evenkeel.ReplicaPlacement) bool {
	return meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionMoved)
}

// report says how the drain stands as regards one replica, by the rules of the condition Drained.
func (s *Snapshot) report(r *resident) drain.Report {
	o := drain.Observation{Cluster: s.Cluster, Tolerations: s.tolerations}
	if r.replica != nil {
		o.Replicas = []*modelplane.ModelReplica{r.replica}
	}
	if r.placement != nil {
		o.Placements = []*evenkeel.ReplicaPlacement{r.placement}
	}
	return drain.Observe(o)
}

func (s *Snapshot) tolerations(key types.NamespacedName) ([]modelplane.Toleration, bool) {
	d := s.Deployments[key]
	if d == nil {
		return nil, false
	}
	return d.Spec.Template.Spec.Tolerations, true
}

// successor gives the placement that has taken over from another, in the end: a replacement that
// failed has one of its own.
func (s *Snapshot) successor(namespace, name string) *evenkeel.ReplicaPlacement {
	var last *evenkeel.ReplicaPlacement
	for range s.Placements { // a chain is no longer than this, even if somebody made it a ring
		next := s.replacing(namespace, name)
		if next == nil {
			break
		}
		last, name = next, next.Name
	}
	return last
}

// replacing gives the newest placement that takes over from the one of a name, one that still
// counts before one that is over.
func (s *Snapshot) replacing(namespace, name string) *evenkeel.ReplicaPlacement {
	var found *evenkeel.ReplicaPlacement
	for _, p := range s.Placements {
		if p.Namespace != namespace || p.Spec.Replaces != name {
			continue
		}
		if found == nil || finished(found) && !finished(p) || finished(found) == finished(p) && p.Spec.Attempt > found.Spec.Attempt {
			found = p
		}
	}
	return found
}

// serves tells whether the replica of a placement serves.
func serves(p *evenkeel.ReplicaPlacement) bool {
	if serving := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionServing); serving != nil {
		return serving.Status == metav1.ConditionTrue
	}
	return meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionReady)
}

// drained gives the condition, if it is about the cluster's taints as they are now.
func (s *Snapshot) drained() *metav1.Condition {
	c := meta.FindStatusCondition(s.Cluster.Status.Conditions, evenkeel.ConditionDrained)
	if c == nil || c.ObservedGeneration != s.Cluster.Generation {
		return nil
	}
	return c
}
