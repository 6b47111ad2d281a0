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

	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// Name of the controller, also of the recorder of its events.
const Name = "modeldeployment"

// Setup registers the controller with a manager whose hub serves ModelDeployments, ModelReplicas, ModelEndpoints,
// InferenceClusters, ReplicaPlacements and DisruptionPolicies.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	r := &Reconciler{
		Options:  options,
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Recorder: mgr.GetEventRecorder(FieldManager),
		Clock:    clock.RealClock{},
		matcher:  placement.NewMatcher(),
		limiter:  newLimiter(options.MaxParallelMoves, options.MaxLoadingPerCluster),
	}
	var err error
	if r.gauges, err = newGauges(); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if r.steps, err = newStepLog(); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if err := addIndexes(ctx, mgr.GetFieldIndexer(), options.Serves); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&modelplane.ModelDeployment{}, builder.WithPredicates(wishChanged())).
		Watches(&evenkeel.ReplicaPlacement{}, byIndexedName(placementDeployments)).
		Watches(&evenkeel.ReplicaPlacement{}, handler.EnqueueRequestsFromMapFunc(r.byPreemptor), builder.WithPredicates(nominationChanged())).
		Watches(&modelplane.ModelReplica{}, byIndexedName(labelledDeployment)).
		Watches(&modelplane.ModelEndpoint{}, byIndexedName(labelledDeployment)).
		Watches(&modelplane.InferenceCluster{}, handler.EnqueueRequestsFromMapFunc(r.byCluster), builder.WithPredicates(clusterChanged())).
		Watches(&evenkeel.DisruptionPolicy{}, handler.EnqueueRequestsFromMapFunc(r.byPolicy), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&schedulingv1.PriorityClass{}, handler.EnqueueRequestsFromMapFunc(r.byPriorityClass), builder.WithPredicates(predicate.GenerationChangedPredicate{}))
	if options.Serves.Traffic {
		b = b.Watches(&modelplane.ModelService{}, r.byService()).Watches(&gatewayv1.HTTPRoute{}, r.byRoute())
	}
	if r.limiter.limits() {
		b = b.WatchesRawSource(source.Channel(r.limiter.woken, &handler.TypedEnqueueRequestForObject[*modelplane.ModelDeployment]{}))
	}
	if options.Serves.Caches {
		b = b.Watches(&modelplane.ModelCache{}, handler.EnqueueRequestsFromMapFunc(r.byModelCache), builder.WithPredicates(predicate.GenerationChangedPredicate{}))
	}
	return b.WithOptions(controller.Options{MaxConcurrentReconciles: options.MaxConcurrentReconciles}).Complete(r)
}
