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
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// wakeBuffer is how many deployments can be woken before the controller has looked at one.
const wakeBuffer = 1024

// limiter shares the fleet's moves out among the deployments. What each has on the move is what its last decision said;
// of deployments that have not been decided for yet, what their placements show.
type limiter struct {
	maxMoves, maxLoading int

	mu     sync.Mutex
	shares map[types.NamespacedName]share
	moving int
	// loading by cluster.
	loading map[string]int
	// waiting are deployments that could do more if others did less, in the order in which they came.
	waiting []types.NamespacedName
	// woken passes deployments to the controller whose turn may have come.
	woken chan event.TypedGenericEvent[*modelplane.ModelDeployment]
}

type share struct {
	moving  int
	loading map[string]int
}

func newLimiter(maxMoves, maxLoading int) *limiter {
	return &limiter{
		maxMoves: maxMoves, maxLoading: maxLoading,
		loading: map[string]int{},
		woken:   make(chan event.TypedGenericEvent[*modelplane.ModelDeployment], wakeBuffer),
	}
}

// limits tells whether there are any.
func (l *limiter) limits() bool { return l.maxMoves > 0 || l.maxLoading > 0 }

// decide asks what to do for one deployment. No two deployments can take the same turn: while there are limits, one is
// decided for after the other.
func (l *limiter) decide(key types.NamespacedName, o *replicas.Observation) replicas.Result {
	if !l.limits() {
		return replicas.Decide(*o)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.shares[key]
	o.Fleet.MaxMoves, o.Fleet.OtherMoves = l.maxMoves, l.moving-own.moving
	o.Fleet.MaxLoading, o.Fleet.OtherLoading = l.maxLoading, map[string]int{}
	for cluster, n := range l.loading {
		o.Fleet.OtherLoading[cluster] = n - own.loading[cluster]
	}
	result := replicas.Decide(*o)
	l.set(key, share{moving: result.Moving, loading: result.Loading})
	l.waiting = slices.DeleteFunc(l.waiting, func(k types.NamespacedName) bool { return k == key })
	if result.WaitsForFleet {
		l.waiting = append(l.waiting, key)
	}
	return result
}

// set replaces a deployment's share, and wakes as many of those that wait as there are turns that it has given back.
func (l *limiter) set(key types.NamespacedName, now share) {
	before := l.shares[key]
	l.moving += now.moving - before.moving
	for cluster, n := range before.loading {
		l.loading[cluster] -= n
	}
	for cluster, n := range now.loading {
		l.loading[cluster] += n
	}
	if now.moving == 0 && len(now.loading) == 0 {
		delete(l.shares, key)
	} else {
		l.shares[key] = now
	}
	for range before.moving - now.moving {
		l.wakeOne()
	}
}

// wakeOne lets the deployment that has waited longest be looked at. If the controller is too busy to hear of it, the
// deployment's own timer does.
func (l *limiter) wakeOne() {
	if len(l.waiting) == 0 {
		return
	}
	next := l.waiting[0]
	select {
	case l.woken <- event.TypedGenericEvent[*modelplane.ModelDeployment]{
		Object: &modelplane.ModelDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: next.Namespace, Name: next.Name}},
	}:
		l.waiting = l.waiting[1:]
	default:
	}
}

func (l *limiter) forget(key types.NamespacedName) {
	if !l.limits() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(key, share{})
	l.waiting = slices.DeleteFunc(l.waiting, func(k types.NamespacedName) bool { return k == key })
}

// seed reads from the cache what is on the move when the controller starts.
func (l *limiter) seed(ctx context.Context, reader client.Reader) error {
	if !l.limits() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shares != nil {
		return nil
	}
	list := &evenkeel.ReplicaPlacementList{}
	if err := reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list placements: %w", err)
	}
	l.shares = map[types.NamespacedName]share{}
	for i := range list.Items {
		p := &list.Items[i]
		if !loads(p) {
			continue
		}
		key := types.NamespacedName{Namespace: p.Namespace, Name: p.Spec.DeploymentName}
		now := share{moving: l.shares[key].moving + 1, loading: map[string]int{p.Status.Assignment.ClusterName: 1}}
		for cluster, n := range l.shares[key].loading {
			now.loading[cluster] += n
		}
		l.set(key, now)
	}
	return nil
}

// loads tells whether a placement shows a replacement that has a place and does not serve yet.
func loads(p *evenkeel.ReplicaPlacement) bool {
	conditions := p.Status.Conditions
	return p.Spec.Replaces != "" && p.Status.Assignment != nil &&
		!meta.IsStatusConditionTrue(conditions, evenkeel.ConditionReady) &&
		!meta.IsStatusConditionTrue(conditions, evenkeel.ConditionDisruptionTarget) &&
		!meta.IsStatusConditionTrue(conditions, evenkeel.ConditionMoved)
}

// shown counts the clusters that show causes which no person asks for, where one of the deployment's placements does.
func (r *Reconciler) shown(ctx context.Context, placements []*evenkeel.ReplicaPlacement) (map[string]int, error) {
	counts := map[string]int{}
	for _, p := range placements {
		for _, reason := range placementUnasked(p) {
			if counts[reason] > 0 {
				continue
			}
			list := &evenkeel.ReplicaPlacementList{}
			if err := r.Client.List(ctx, list, client.MatchingFields{indexUnasked: reason}, client.UnsafeDisableDeepCopy); err != nil {
				return nil, fmt.Errorf("list placements by cause: %w", err)
			}
			clusters := map[string]bool{}
			for i := range list.Items {
				if a := list.Items[i].Status.Assignment; a != nil {
					clusters[a.ClusterName] = true
				}
			}
			counts[reason] = len(clusters)
		}
	}
	return counts, nil
}

// placementUnasked gives the cause that no person asks for and that a placement shows, settled or not.
func placementUnasked(o client.Object) []string {
	p := o.(*evenkeel.ReplicaPlacement)
	c := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionDisruptionTarget)
	if c == nil || !replicas.Unasked(c.Reason) || meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionMoved) {
		return nil
	}
	return []string{c.Reason}
}
