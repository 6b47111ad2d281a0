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

package modeldeployment

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	corev1 "k8s.io/api/core/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// apply does the actions in their order and stops at the first that fails.
func (r *Reconciler) apply(ctx context.Context, d *modelplane.ModelDeployment, actions []replicas.Action) error {
	logger := log.FromContext(ctx)
	for _, action := range actions {
		if err := r.applyOne(ctx, d, action); err != nil {
			return stale(fmt.Errorf("%s: %w", action, err))
		}
		logger.Info("Done", "action", action.String())
	}
	return nil
}

func (r *Reconciler) applyOne(ctx context.Context, d *modelplane.ModelDeployment, action replicas.Action) error {
	switch a := action.(type) {
	case replicas.CreatePlacement:
		return r.createPlacement(ctx, d, a)
	case replicas.UpdatePlacement:
		return r.update(ctx, d, a.Placement.DeepCopy())
	case replicas.AssignAdopted:
		return r.assignAdopted(ctx, d, a)
	case replicas.SetPlacementStatus:
		if err := r.confirmAbsent(ctx, a.Placement.Namespace, a.AbsentReplica, &modelplane.ModelReplica{}); err != nil {
			return err
		}
		return r.setPlacementStatus(ctx, d, a.Placement, a.Conditions, a.Move)
	case replicas.SparePlacement:
		return r.sparePlacement(ctx, d, a.Placement)
	case replicas.DeletePlacement:
		if err := r.confirmAbsent(ctx, a.Placement.Namespace, a.AbsentReplica, &modelplane.ModelReplica{}); err != nil {
			return err
		}
		return r.remove(ctx, d, a.Placement, client.Preconditions{UID: &a.Placement.UID, ResourceVersion: &a.Placement.ResourceVersion})
	case replicas.CreateReplica:
		return r.createReplica(ctx, d, a)
	case replicas.UpdateReplica:
		return r.updateReplica(ctx, d, a)
	case replicas.DeleteReplica:
		if err := r.confirmReplacement(ctx, a); err != nil {
			return err
		}
		if err := r.confirmAbsent(ctx, a.Replica.Namespace, a.AbsentEndpoint, &modelplane.ModelEndpoint{}); err != nil {
			return err
		}
		// The object is to stay until what it stands for is gone, since its nodes are not free before.
		return r.remove(ctx, d, a.Replica, client.PropagationPolicy(metav1.DeletePropagationForeground))
	case replicas.ApplyEndpoint:
		return r.applyEndpoint(ctx, d, a)
	case replicas.DeleteEndpoint:
		return r.remove(ctx, d, a.Endpoint)
	case replicas.HurryService:
		return r.hurryService(ctx, a)
	default:
		return fmt.Errorf("unknown action %T", action)
	}
}

// stale turns the answers that a stale read gets into errStale.
func stale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", errStale, err)
	}
	return err
}

// confirmAbsent makes sure that there is no object of that kind and name, whatever the cache says.
func (r *Reconciler) confirmAbsent(ctx context.Context, namespace, name string, kind client.Object) error {
	if name == "" {
		return nil
	}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, kind)
	if err == nil {
		return fmt.Errorf("%w: %T %s exists", errStale, kind, name)
	}
	return client.IgnoreNotFound(err)
}

// confirmReplacement makes sure that what a deletion relies on is still so.
func (r *Reconciler) confirmReplacement(ctx context.Context, a replicas.DeleteReplica) error {
	if a.Target != nil {
		p := &evenkeel.ReplicaPlacement{}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(a.Target), p); err != nil {
			return err
		}
		if p.UID != a.Target.UID || p.DeletionTimestamp != nil || meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionDisruptionTarget) {
			return fmt.Errorf("%w: placement %s, which takes over from ModelReplica %s, has changed", errStale, p.Name, a.Replica.Name)
		}
	}
	if a.Serving != nil {
		replacement := &modelplane.ModelReplica{}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(a.Serving), replacement); err != nil {
			return err
		}
		if replacement.UID != a.Serving.UID || replacement.DeletionTimestamp != nil || !meta.IsStatusConditionTrue(replacement.Status.Conditions, modelplane.ConditionReady) {
			return fmt.Errorf("%w: ModelReplica %s, which takes over from %s, does not serve", errStale, replacement.Name, a.Replica.Name)
		}
	}
	return nil
}

func (r *Reconciler) createPlacement(ctx context.Context, d *modelplane.ModelDeployment, a replicas.CreatePlacement) error {
	if a.AdoptUID != "" {
		replica := &modelplane.ModelReplica{}
		if err := r.Live.Get(ctx, client.ObjectKey{Namespace: a.Placement.Namespace, Name: a.Placement.Spec.Adopts}, replica); err != nil {
			return err
		}
		if replica.UID != a.AdoptUID || replica.DeletionTimestamp != nil {
			return fmt.Errorf("%w: ModelReplica %s is another one, or goes", errStale, replica.Name)
		}
	}
	err := r.create(ctx, d, a.Placement.DeepCopy())
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	existing := &evenkeel.ReplicaPlacement{}
	if getErr := r.Live.Get(ctx, client.ObjectKeyFromObject(a.Placement), existing); getErr != nil {
		return getErr
	}
	if !metav1.IsControlledBy(existing, d) {
		r.warn(d, nil, "PlacementNameTaken", fmt.Sprintf(
			"A ReplicaPlacement %s that is not the deployment's exists already: taking the next name. Delete it if nobody needs it", existing.Name))
	}
	return err
}

func (r *Reconciler) assignAdopted(ctx context.Context, d *modelplane.ModelDeployment, a replicas.AssignAdopted) error {
	p := a.Placement.DeepCopy()
	p.Status.Assignment = &a.Assignment
	meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{
		Type:               evenkeel.ConditionScheduled,
		Status:             metav1.ConditionTrue,
		Reason:             evenkeel.ReasonAdopted,
		Message:            fmt.Sprintf("ModelReplica %s was there before", p.Spec.Adopts),
		ObservedGeneration: p.Generation,
		LastTransitionTime: metav1.NewTime(r.Clock.Now()),
	})
	return r.updateStatus(ctx, d, p)
}

// createReplica makes a replica for the first time. A placement read from a cache that is behind could be one whose
// replica was already deleted, so it is read again.
func (r *Reconciler) createReplica(ctx context.Context, d *modelplane.ModelDeployment, a replicas.CreateReplica) error {
	live := &evenkeel.ReplicaPlacement{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(a.Placement), live); err != nil {
		return err
	}
	conditions := live.Status.Conditions
	if live.UID != a.Placement.UID || live.DeletionTimestamp != nil || live.Status.PreemptedBy != nil ||
		meta.FindStatusCondition(conditions, evenkeel.ConditionReady) != nil ||
		meta.IsStatusConditionTrue(conditions, evenkeel.ConditionDisruptionTarget) ||
		meta.IsStatusConditionTrue(conditions, evenkeel.ConditionMoved) {
		return fmt.Errorf("%w: placement %s has changed", errStale, live.Name)
	}
	err := r.create(ctx, d, a.Replica.DeepCopy())
	if !refused(err) {
		return err
	}
	return r.reject(ctx, d, a.Placement, err)
}

// refused tells whether the API server does not want the object, and would not take it the next time either.
func refused(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false
	}
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// reject writes down that the API server refused the replica; the decision what to do next is made on that.
func (r *Reconciler) reject(ctx context.Context, d *modelplane.ModelDeployment, p *evenkeel.ReplicaPlacement, cause error) error {
	message := replicas.Bounded(cause.Error())
	r.warn(d, p, replicas.EventRejected, fmt.Sprintf("The API server refuses the replica for %s: %s", p.Status.Assignment.ClusterName, message))
	conditions := append(replicas.OwnConditions(p), metav1.Condition{
		Type:               evenkeel.ConditionReplicaRejected,
		Status:             metav1.ConditionTrue,
		Reason:             evenkeel.ReasonRefused,
		Message:            message,
		ObservedGeneration: p.Generation,
		LastTransitionTime: metav1.NewTime(r.Clock.Now()),
	})
	return r.setPlacementStatus(ctx, d, p, conditions, p.Status.Move)
}
