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
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// do makes the writes of one action, as the API server would take them.
func (s *simulation) do(d *modelplane.ModelDeployment, action replicas.Action) error {
	switch a := action.(type) {
	case replicas.SetPlacementStatus:
		return s.setPlacementStatus(a)
	case replicas.UpdatePlacement:
		return s.updatePlacement(a.Placement)
	case replicas.SparePlacement:
		return s.sparePlacement(a.Placement)
	case replicas.ApplyEndpoint:
		return s.applyEndpoint(a.Endpoint)
	case replicas.DeleteEndpoint:
		return s.store.remove(a.Endpoint)
	case replicas.HurryService:
		return nil // there are no routes
	}
	s.deeds++
	switch a := action.(type) {
	case replicas.CreatePlacement:
		p := a.Placement.DeepCopy()
		p.Generation, p.CreationTimestamp = 1, metav1.NewTime(s.clock.Now())
		return s.store.put(p)
	case replicas.AssignAdopted:
		return s.assignAdopted(a)
	case replicas.DeletePlacement:
		return s.store.remove(a.Placement)
	case replicas.CreateReplica:
		return s.createReplica(a.Replica.DeepCopy())
	case replicas.UpdateReplica:
		r := a.Observed.DeepCopy()
		r.Spec, r.Labels, r.OwnerReferences = a.Replica.Spec, a.Replica.Labels, a.Replica.OwnerReferences
		r.Generation++
		return s.store.put(r)
	case replicas.DeleteReplica:
		return s.deleteReplica(a.Replica)
	default:
		return fmt.Errorf("unknown action %T of deployment %s/%s", action, d.Namespace, d.Name)
	}
}

func (s *simulation) setPlacementStatus(a replicas.SetPlacementStatus) error {
	old := get[evenkeel.ReplicaPlacement](s.store, a.Placement.Namespace, a.Placement.Name)
	if old == nil {
		return nil
	}
	return s.store.put(replicas.WithOwnStatus(old, a.Conditions, a.Move))
}

func (s *simulation) updatePlacement(want *evenkeel.ReplicaPlacement) error {
	old := get[evenkeel.ReplicaPlacement](s.store, want.Namespace, want.Name)
	if old == nil {
		return nil
	}
	p := want.DeepCopy()
	p.Status = old.Status
	if !equality.Semantic.DeepEqual(old.Spec, p.Spec) {
		p.Generation++
	}
	return s.store.put(p)
}

func (s *simulation) sparePlacement(observed *evenkeel.ReplicaPlacement) error {
	old := get[evenkeel.ReplicaPlacement](s.store, observed.Namespace, observed.Name)
	if old == nil {
		return nil
	}
	p := old.DeepCopy()
	p.Status.PreemptedBy = nil
	return s.store.put(p)
}

func (s *simulation) assignAdopted(a replicas.AssignAdopted) error {
	p := a.Placement.DeepCopy()
	p.Status.Assignment = &a.Assignment
	meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{
		Type: evenkeel.ConditionScheduled, Status: metav1.ConditionTrue, Reason: evenkeel.ReasonAdopted,
		ObservedGeneration: p.Generation, LastTransitionTime: metav1.NewTime(s.clock.Now()),
	})
	return s.store.put(p)
}

func (s *simulation) createReplica(r *modelplane.ModelReplica) error {
	r.Generation, r.CreationTimestamp = 1, metav1.NewTime(s.clock.Now())
	s.composeLater(r)
	return s.store.put(r)
}

func (s *simulation) deleteReplica(observed *modelplane.ModelReplica) error {
	old := get[modelplane.ModelReplica](s.store, observed.Namespace, observed.Name)
	if old == nil || old.DeletionTimestamp != nil {
		return nil
	}
	r := old.DeepCopy()
	now := metav1.NewTime(s.clock.Now())
	r.DeletionTimestamp = &now
	s.composeLater(r)
	return s.store.put(r)
}

func (s *simulation) composeLater(r *modelplane.ModelReplica) {
	s.composing = append(s.composing, types.NamespacedName{Namespace: r.Namespace, Name: r.Name})
}

// compose stands in for whoever makes replicas real: what was created is ready, and what was deleted is gone.
func (s *simulation) compose() (busy bool, err error) {
	keys := s.composing
	s.composing = nil
	for _, key := range keys {
		r := get[modelplane.ModelReplica](s.store, key.Namespace, key.Name)
		if r == nil {
			continue
		}
		busy = true
		if r.DeletionTimestamp != nil {
			err = s.store.remove(r)
		} else {
			r = r.DeepCopy()
			meta.SetStatusCondition(&r.Status.Conditions, metav1.Condition{
				Type: modelplane.ConditionReady, Status: metav1.ConditionTrue, Reason: "Available",
				LastTransitionTime: metav1.NewTime(s.clock.Now()),
			})
			err = s.store.put(r)
		}
		if err != nil {
			return busy, err
		}
	}
	return busy, nil
}

func (s *simulation) applyEndpoint(want *modelplane.ModelEndpoint) error {
	e := want.DeepCopy()
	if old := get[modelplane.ModelEndpoint](s.store, e.Namespace, e.Name); old != nil {
		e = old.DeepCopy()
		e.Labels, e.Annotations, e.OwnerReferences, e.Spec = want.Labels, want.Annotations, want.OwnerReferences, want.Spec
	}
	return s.store.put(e)
}

func (s *simulation) setStatus(old *modelplane.ModelDeployment, want replicas.DeploymentStatus) error {
	d := old.DeepCopy()
	d.Status.Replicas = &modelplane.ReplicaCounts{Total: want.Total, Ready: want.Ready}
	for _, c := range want.Conditions {
		meta.SetStatusCondition(&d.Status.Conditions, c)
	}
	return s.store.put(d)
}
