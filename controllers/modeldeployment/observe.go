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
	"sync"

	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// observe reads all that matters for a deployment from the cache. The objects are shared with it.
func (r *Reconciler) observe(ctx context.Context, d *modelplane.ModelDeployment) (*replicas.Observation, error) {
	o, err := r.observeOwn(ctx, d)
	if err != nil {
		return nil, err
	}
	return o, r.observeSurroundings(ctx, o)
}

// observeOwn reads what the controller itself keeps for a deployment.
func (r *Reconciler) observeOwn(ctx context.Context, d *modelplane.ModelDeployment) (*replicas.Observation, error) {
	o := &replicas.Observation{
		Deployment:    d,
		SchedulerName: schedulerName(d),
		Composed:      composition(d) != "",
		Matcher:       r.matcher,
		Settings:      r.Settings,
		Now:           r.Clock.Now(),
	}
	var err error
	if o.Placements, err = r.placementsOf(ctx, d); err != nil {
		return nil, err
	}
	if o.Replicas, err = r.replicasOf(ctx, d, o.Placements); err != nil {
		return nil, err
	}
	o.Endpoints, err = r.endpointsOf(ctx, d, o.Replicas)
	return o, err
}

// observeSurroundings adds what others keep: the fleet, policies, traffic, priorities.
func (r *Reconciler) observeSurroundings(ctx context.Context, o *replicas.Observation) error {
	d := o.Deployment
	var err error
	if o.Preemptors, err = r.preemptorsOf(ctx, o.Placements); err != nil {
		return err
	}
	if o.Clusters, err = r.clusters(ctx); err != nil {
		return err
	}
	if o.CacheState, o.CacheSelector, err = r.modelCache(ctx, d); err != nil {
		return err
	}
	if o.Policy, err = r.policy(ctx, d); err != nil {
		return err
	}
	if o.Traffic, err = r.traffic(ctx, o); err != nil {
		return err
	}
	if o.Fleet.Shown, err = r.shown(ctx, o.Placements); err != nil {
		return err
	}
	o.Priority, err = r.priority(ctx, d)
	return err
}

// policy merges what the DisruptionPolicies of the deployment say. One that cannot be read is reported and left out.
func (r *Reconciler) policy(ctx context.Context, d *modelplane.ModelDeployment) (replicas.Policy, error) {
	list := &evenkeel.DisruptionPolicyList{}
	if err := r.Client.List(ctx, list, client.InNamespace(d.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return replicas.Policy{}, fmt.Errorf("list disruption policies: %w", err)
	}
	policy, err := replicas.PolicyFor(d, pointers(list.Items), &r.Disruption)
	if err != nil {
		r.warnOnce(d, EventInvalidPolicy, err.Error()+". It does not count until it is corrected")
	}
	return policy, nil
}

func (r *Reconciler) placementsOf(ctx context.Context, d *modelplane.ModelDeployment) ([]*evenkeel.ReplicaPlacement, error) {
	list := &evenkeel.ReplicaPlacementList{}
	if err := r.Client.List(ctx, list, client.InNamespace(d.Namespace), client.MatchingFields{indexDeployment: d.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list placements: %w", err)
	}
	return pointers(list.Items), nil
}

// replicasOf lists the replicas that carry the deployment's name, and those that have a name it needs.
func (r *Reconciler) replicasOf(ctx context.Context, d *modelplane.ModelDeployment, placements []*evenkeel.ReplicaPlacement) ([]*modelplane.ModelReplica, error) {
	list := &modelplane.ModelReplicaList{}
	if err := r.Client.List(ctx, list, client.InNamespace(d.Namespace), client.MatchingFields{indexDeployment: d.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list replicas: %w", err)
	}
	found := pointers(list.Items)
	known := map[string]bool{}
	for _, replica := range found {
		known[replica.Name] = true
	}
	for _, p := range placements {
		name := placement.ReplicaNameOf(p)
		if name == "" || known[name] {
			continue
		}
		known[name] = true
		other := &modelplane.ModelReplica{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: name}, other, client.UnsafeDisableDeepCopy)
		if err == nil {
			found = append(found, other)
		} else if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("get replica %s: %w", name, err)
		}
	}
	return found, nil
}

func (r *Reconciler) endpointsOf(ctx context.Context, d *modelplane.ModelDeployment, of []*modelplane.ModelReplica) ([]*modelplane.ModelEndpoint, error) {
	list := &modelplane.ModelEndpointList{}
	if err := r.Client.List(ctx, list, client.InNamespace(d.Namespace), client.MatchingFields{indexDeployment: d.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list endpoints: %w", err)
	}
	found := pointers(list.Items)
	known := map[string]bool{}
	for _, endpoint := range found {
		known[endpoint.Name] = true
	}
	for _, replica := range of {
		if known[replica.Name] {
			continue
		}
		other := &modelplane.ModelEndpoint{}
		err := r.Client.Get(ctx, client.ObjectKeyFromObject(replica), other, client.UnsafeDisableDeepCopy)
		if err == nil {
			found = append(found, other)
		} else if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("get endpoint %s: %w", replica.Name, err)
		}
	}
	return found, nil
}

func (r *Reconciler) clusters(ctx context.Context) ([]replicas.Cluster, error) {
	list := &modelplane.InferenceClusterList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	clusters := make([]replicas.Cluster, 0, len(list.Items))
	for _, c := range pointers(list.Items) {
		clusters = append(clusters, replicas.Cluster{InferenceCluster: c, Pools: r.pools.of(c)})
	}
	return clusters, nil
}

func (r *Reconciler) modelCache(ctx context.Context, d *modelplane.ModelDeployment) (replicas.CacheState, *modelplane.LabelSelector, error) {
	ref := d.Spec.Template.Spec.ModelCacheRef
	if ref == nil {
		return replicas.CacheNone, nil, nil
	}
	if !r.Serves.Caches {
		return replicas.CacheUnresolved, nil, nil
	}
	cache := &modelplane.ModelCache{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: ref.Name}, cache, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return replicas.CacheMissing, nil, nil
	case err != nil:
		return replicas.CacheUnresolved, nil, fmt.Errorf("get ModelCache %s: %w", ref.Name, err)
	default:
		return replicas.CacheResolved, cache.Spec.ClusterSelector, nil
	}
}

func (r *Reconciler) priority(ctx context.Context, d *modelplane.ModelDeployment) (replicas.Priority, error) {
	p := replicas.Priority{ClassName: priorityClassName(d)}
	if p.ClassName == "" {
		return p, nil
	}
	class := &schedulingv1.PriorityClass{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: p.ClassName}, class)
	switch {
	case apierrors.IsNotFound(err):
		p.Missing = true
		return p, nil
	case err != nil:
		return p, fmt.Errorf("get PriorityClass %s: %w", p.ClassName, err)
	}
	p.Value = ptr.To(class.Value)
	p.PreemptionPolicy = class.PreemptionPolicy
	return p, nil
}

// poolCache keeps prepared pools, so that a cluster's heartbeat does not cause them to be prepared again.
type poolCache struct {
	mu     sync.Mutex
	byName map[string]poolEntry
}

type poolEntry struct {
	published []modelplane.GPUPool
	version   string
	prepared  *placement.Pools
}

func (c *poolCache) of(cluster *modelplane.InferenceCluster) *placement.Pools {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, found := c.byName[cluster.Name]
	if found && entry.version == cluster.ResourceVersion {
		return entry.prepared
	}
	if !found || !equality.Semantic.DeepEqual(entry.published, cluster.Status.GPUPools) {
		entry.prepared = placement.PreparePools(cluster.Status.GPUPools)
	}
	entry.published, entry.version = cluster.Status.GPUPools, cluster.ResourceVersion
	if c.byName == nil {
		c.byName = map[string]poolEntry{}
	}
	c.byName[cluster.Name] = entry
	return entry.prepared
}

func pointers[T any](items []T) []*T {
	out := make([]*T, 0, len(items))
	for i := range items {
		out = append(out, &items[i])
	}
	return out
}
