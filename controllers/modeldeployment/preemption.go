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

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// preemptorsOf reads the placements that these are said to be preempted by, as far as they exist. All placements come by
// one watch, in the order of their writes: who sees a victim sees the nomination that was written before.
func (r *Reconciler) preemptorsOf(ctx context.Context, placements []*evenkeel.ReplicaPlacement) ([]*evenkeel.ReplicaPlacement, error) {
	var preemptors []*evenkeel.ReplicaPlacement
	known := map[types.NamespacedName]bool{}
	for _, p := range placements {
		by := p.Status.PreemptedBy
		if by == nil {
			continue
		}
		key := types.NamespacedName{Namespace: by.Namespace, Name: by.Name}
		if known[key] {
			continue
		}
		known[key] = true
		preemptor := &evenkeel.ReplicaPlacement{}
		switch err := r.Client.Get(ctx, key, preemptor, client.UnsafeDisableDeepCopy); {
		case err == nil:
			preemptors = append(preemptors, preemptor)
		case client.IgnoreNotFound(err) != nil:
			return nil, fmt.Errorf("get placement %s: %w", key, err)
		}
	}
	return preemptors, nil
}

// placementPreemptor is the placement that one is preempted by.
func placementPreemptor(o client.Object) []string {
	by := o.(*evenkeel.ReplicaPlacement).Status.PreemptedBy
	if by == nil {
		return nil
	}
	return []string{types.NamespacedName{Namespace: by.Namespace, Name: by.Name}.String()}
}

// nominationChanged lets a placement's event pass if others could cease to make room for it.
func nominationChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*evenkeel.ReplicaPlacement)
			after, ok2 := e.ObjectNew.(*evenkeel.ReplicaPlacement)
			return !ok || !ok2 || before.UID != after.UID || before.Status.NominatedCluster != after.Status.NominatedCluster ||
				(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil)
		},
	}
}

// byPreemptor maps a placement to the deployments whose placements make room for it.
func (r *Reconciler) byPreemptor(ctx context.Context, o client.Object) []reconcile.Request {
	list := &evenkeel.ReplicaPlacementList{}
	key := client.ObjectKeyFromObject(o).String()
	if err := r.Client.List(ctx, list, client.MatchingFields{indexPreemptor: key}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Cannot list the placements that make room for another", "placement", key)
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, request(list.Items[i].Namespace, list.Items[i].Spec.DeploymentName))
	}
	return requests
}

// sparePlacement takes away what the scheduler has written of a preemption.
func (r *Reconciler) sparePlacement(ctx context.Context, d *modelplane.ModelDeployment, p *evenkeel.ReplicaPlacement) error {
	spared := p.DeepCopy()
	spared.Status.PreemptedBy = nil
	return r.updateStatus(ctx, d, spared)
}
