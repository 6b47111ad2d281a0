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

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// Decider is the controller without its writes, for a hub that exists in memory only: it observes as the controller does,
// shares out the fleet's moves as it does, and knows which objects concern which deployments. What to do with a decision
// is up to its owner. It is not safe for concurrent use.
type Decider struct {
	r *Reconciler
}

// Decision is what the controller would do for one deployment, and the policy that it would keep to.
type Decision struct {
	replicas.Result
	Policy replicas.Policy
}

// IndexedReader reads a hub in memory by the indexes that it was given, without copying.
type IndexedReader interface {
	client.Reader
	client.FieldIndexer
}

// NewDecider makes a decider over a hub that is still empty, or that can index what it has.
func NewDecider(ctx context.Context, options Options, reader IndexedReader, clock clock.PassiveClock, recorder events.EventRecorder) (*Decider, error) {
	if err := addIndexes(ctx, reader, options.Serves); err != nil {
		return nil, err
	}
	return &Decider{r: &Reconciler{
		Options:  options,
		Client:   readingClient{reader: reader},
		Recorder: recorder,
		Clock:    clock,
		matcher:  placement.NewMatcher(),
		limiter:  newLimiter(options.MaxParallelMoves, options.MaxLoadingPerCluster),
	}}, nil
}

// Decide tells what the controller would do for a deployment now; nil for one that it leaves alone.
func (d *Decider) Decide(ctx context.Context, deployment *modelplane.ModelDeployment) (*Decision, error) {
	key := client.ObjectKeyFromObject(deployment)
	if deployment.DeletionTimestamp != nil || !d.r.acts(deployment) {
		d.r.limiter.forget(key)
		return nil, nil
	}
	observation, err := d.r.observe(ctx, deployment)
	if err != nil {
		return nil, err
	}
	if err := d.r.limiter.seed(ctx, d.r.Client); err != nil {
		return nil, err
	}
	return &Decision{Result: d.r.limiter.decide(key, observation), Policy: observation.Policy}, nil
}

// Acts tells whether a deployment is one that the controller keeps.
func (d *Decider) Acts(deployment *modelplane.ModelDeployment) bool { return d.r.acts(deployment) }

// Woken gives the deployments whose turn to move may have come since it was last asked.
func (d *Decider) Woken() []types.NamespacedName {
	var woken []types.NamespacedName
	for {
		select {
		case e := <-d.r.limiter.woken:
			woken = append(woken, client.ObjectKeyFromObject(e.Object))
		default:
			return woken
		}
	}
}

// Concerned gives the deployments that the controller looks at when an object has come, changed or gone.
func (d *Decider) Concerned(ctx context.Context, o client.Object) []types.NamespacedName {
	var requests []reconcile.Request
	switch o := o.(type) {
	case *modelplane.ModelDeployment:
		requests = []reconcile.Request{request(o.Namespace, o.Name)}
	case *evenkeel.ReplicaPlacement:
		requests = append(requestsIn(o, placementDeployments(o)), d.r.byPreemptor(ctx, o)...)
	case *modelplane.ModelReplica, *modelplane.ModelEndpoint:
		requests = requestsIn(o, labelledDeployment(o))
	case *modelplane.InferenceCluster:
		requests = d.r.byCluster(ctx, o)
	case *evenkeel.DisruptionPolicy:
		requests = d.r.byPolicy(ctx, o)
	}
	keys := make([]types.NamespacedName, 0, len(requests))
	for _, r := range requests {
		keys = append(keys, r.NamespacedName)
	}
	return keys
}

func requestsIn(o client.Object, names []string) []reconcile.Request {
	requests := make([]reconcile.Request, 0, len(names))
	for _, name := range names {
		requests = append(requests, request(o.GetNamespace(), name))
	}
	return requests
}

// SameStatus tells whether a deployment says already what a decision wants it to.
func SameStatus(deployment *modelplane.ModelDeployment, want replicas.DeploymentStatus) bool {
	return sameStatus(&deployment.Status, want)
}

// readingClient has the two calls of a client that decisions need.
type readingClient struct {
	client.Client
	reader client.Reader
}

func (c readingClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	return c.reader.Get(ctx, key, o, options...)
}

func (c readingClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.reader.List(ctx, list, options...)
}
