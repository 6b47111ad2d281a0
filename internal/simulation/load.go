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
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// load takes over a snapshot. Deployments that are not at rest are due: the controller may not have caught up with what
// was read.
func (s *simulation) load(snapshot *Snapshot) error {
	for i := range snapshot.Clusters {
		if err := s.loadOne(&snapshot.Clusters[i]); err != nil {
			return err
		}
	}
	for i := range snapshot.Replicas {
		r := &snapshot.Replicas[i]
		if err := s.loadOne(r); err != nil {
			return err
		}
		if s.settles(r) {
			s.composeLater(r)
		}
	}
	placements := map[types.NamespacedName][]*evenkeel.ReplicaPlacement{}
	for _, p := range oldestFirst(snapshot.Placements) {
		placements[slotOf(p).deployment] = append(placements[slotOf(p).deployment], p)
		// The scheduler's queue goes by when it has heard of a placement.
		s.clock.Step(writeTime)
		if err := s.loadOne(p); err != nil {
			return err
		}
	}
	for i := range snapshot.Deployments {
		d := &snapshot.Deployments[i]
		if err := s.loadOne(d); err != nil {
			return err
		}
		if key := client.ObjectKeyFromObject(d); s.decider.Acts(d) && !s.atRest(d, placements[key]) {
			s.due[key] = true
		}
	}
	return s.loadRest(snapshot)
}

// atRest tells whether the controller has seen a deployment as it is and has nothing to do for it: deciding would come to
// the same, but there may be thousands.
func (s *simulation) atRest(d *modelplane.ModelDeployment, placements []*evenkeel.ReplicaPlacement) bool {
	for i := range d.Status.Conditions {
		if d.Status.Conditions[i].ObservedGeneration != d.Generation {
			return false
		}
	}
	running := 0
	for _, p := range placements {
		if over(p) {
			continue
		}
		running++
		if !s.placementAtRest(p) {
			return false
		}
	}
	return len(d.Status.Conditions) > 0 && running == int(d.Spec.Replicas) && len(s.replicasOf(client.ObjectKeyFromObject(d))) == running
}

// placementAtRest tells whether a placement's replica runs, and nothing on its cluster could send it away.
func (s *simulation) placementAtRest(p *evenkeel.ReplicaPlacement) bool {
	replica := s.replicaOf(p)
	if p.Status.Assignment == nil || p.DeletionTimestamp != nil || replica == nil || !ready(replica) || leaving(p) ||
		!meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionReady) {
		return false
	}
	c := get[modelplane.InferenceCluster](s.store, "", p.Status.Assignment.ClusterName)
	return c != nil && !slices.ContainsFunc(c.Spec.Taints, func(taint modelplane.Taint) bool {
		return taint.Effect == modelplane.TaintEffectNoExecute
	})
}

func oldestFirst(list []evenkeel.ReplicaPlacement) []*evenkeel.ReplicaPlacement {
	placements := make([]*evenkeel.ReplicaPlacement, 0, len(list))
	for i := range list {
		placements = append(placements, &list[i])
	}
	slices.SortFunc(placements, func(a, b *evenkeel.ReplicaPlacement) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return placements
}

func (s *simulation) loadRest(snapshot *Snapshot) error {
	var objects []client.Object
	for i := range snapshot.Endpoints {
		objects = append(objects, &snapshot.Endpoints[i])
	}
	for i := range snapshot.Policies {
		objects = append(objects, &snapshot.Policies[i])
	}
	for i := range snapshot.PriorityClasses {
		objects = append(objects, &snapshot.PriorityClasses[i])
	}
	for i := range snapshot.Caches {
		objects = append(objects, &snapshot.Caches[i])
	}
	for _, o := range objects {
		if err := s.store.load(o); err != nil {
			return err
		}
	}
	return nil
}

func (s *simulation) loadOne(o client.Object) error {
	if err := s.store.load(o); err != nil {
		return fmt.Errorf("%T %s/%s: %w", o, o.GetNamespace(), o.GetName(), err)
	}
	return s.tellScheduler(o, false)
}

// settles tells whether a replica is on its way to be ready or gone. One that has not been ready for longer than a move
// waits for one is taken to be broken, and stays so.
func (s *simulation) settles(r *modelplane.ModelReplica) bool {
	if r.DeletionTimestamp != nil {
		return true
	}
	return !ready(r) && s.began.Sub(unreadySince(r)) < replicas.DefaultPolicy().ReadyTimeout
}

func unreadySince(r *modelplane.ModelReplica) time.Time {
	if c := meta.FindStatusCondition(r.Status.Conditions, modelplane.ConditionReady); c != nil && c.LastTransitionTime.After(r.CreationTimestamp.Time) {
		return c.LastTransitionTime.Time
	}
	return r.CreationTimestamp.Time
}

func ready(r *modelplane.ModelReplica) bool {
	return r.DeletionTimestamp == nil && meta.IsStatusConditionTrue(r.Status.Conditions, modelplane.ConditionReady)
}
