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

// Package testhub builds the objects of a hub in memory for the tests of plugins: clusters, placements and replicas with
// working defaults, which options change. It has no assertions.
package testhub

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
)

// Namespace of everything, unless an option says otherwise.
const Namespace = "ml-team"

// Driver of all devices.
const Driver = "gpu.example.com"

// Cluster is ready and routable and publishes the pools.
func Cluster(name string, pools ...modelplane.GPUPool) *modelplane.InferenceCluster {
	return &modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Status: modelplane.InferenceClusterStatus{
			Conditions: []metav1.Condition{{Type: modelplane.ConditionReady, Status: metav1.ConditionTrue}},
			Gateway:    &modelplane.Gateway{Address: "203.0.113.1"},
			GPUPools:   pools,
		},
	}
}

// Pool has nodes with eight claimable GPUs whose model is the pool's name.
func Pool(name string, nodes int64) modelplane.GPUPool {
	return modelplane.GPUPool{Name: name, Nodes: nodes, Devices: []modelplane.Device{{
		Name: "gpu", Claim: modelplane.DeviceClaimDRA, Driver: Driver, DeviceClassName: "gpu", Count: ptr.To[int64](8),
		Attributes: map[string]modelplane.DeviceAttribute{"model": {String: ptr.To(name)}},
	}}}
}

// Requests asks for eight GPUs that satisfy a selector.
func Requests(cel string) []modelplane.DeviceRequest {
	return []modelplane.DeviceRequest{{Name: "gpu", Count: ptr.To[int64](8), Selectors: []modelplane.DeviceSelector{{CEL: cel}}}}
}

// OnModel selects GPUs of one model.
func OnModel(model string) string {
	return fmt.Sprintf("device.attributes[%q].model == %q", Driver, model)
}

// Engine has copies of one pod each, on nodes with GPUs of a model.
func Engine(name string, copies int32, model string) evenkeel.EngineRequirements {
	return evenkeel.EngineRequirements{Name: name, Copies: copies, Members: []evenkeel.MemberRequirements{
		{Role: modelplane.MemberRoleStandalone, Nodes: 1, Devices: Requests(OnModel(model))},
	}}
}

// Option changes a placement.
type Option func(*evenkeel.ReplicaPlacement)

// Placement is the first attempt for a slot of a deployment: one engine of one pod on an h100, pending.
func Placement(deployment string, slot int32, options ...Option) *evenkeel.ReplicaPlacement {
	p := &evenkeel.ReplicaPlacement{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Generation: 1},
		Spec: evenkeel.ReplicaPlacementSpec{
			DeploymentName: deployment, Slot: slot, Attempt: 1,
			SchedulerName: evenkeel.DefaultSchedulerName,
			Engines:       []evenkeel.EngineRequirements{Engine("main", 1, "h100")},
		},
	}
	for _, option := range options {
		option(p)
	}
	p.Name = fmt.Sprintf("%s-%d-%d", deployment, slot, p.Spec.Attempt)
	p.UID = types.UID(p.Namespace + "/" + p.Name)
	return p
}

// In puts a placement into a namespace.
func In(namespace string) Option {
	return func(p *evenkeel.ReplicaPlacement) { p.Namespace = namespace }
}

// Attempt of the placement's slot.
func Attempt(n int32) Option {
	return func(p *evenkeel.ReplicaPlacement) { p.Spec.Attempt = n }
}

// Engines to place.
func Engines(engines ...evenkeel.EngineRequirements) Option {
	return func(p *evenkeel.ReplicaPlacement) { p.Spec.Engines = engines }
}

// Replaces another placement.
func Replaces(name string) Option {
	return func(p *evenkeel.ReplicaPlacement) { p.Spec.Replaces = name }
}

// Terminating marks a placement as being deleted.
func Terminating(p *evenkeel.ReplicaPlacement) {
	p.DeletionTimestamp = &metav1.Time{}
}

// Condition is set to True with a reason.
func Condition(kind, reason string) Option {
	return func(p *evenkeel.ReplicaPlacement) {
		p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: p.Generation,
		})
	}
}

// On assigns every engine so far to one pool of a cluster.
func On(cluster string, index int32, pool string) Option {
	return func(p *evenkeel.ReplicaPlacement) {
		assignment := evenkeel.Assignment{ClusterName: cluster, Index: index}
		for _, engine := range p.Spec.Engines {
			members := make([]evenkeel.MemberAssignment, len(engine.Members))
			for i := range members {
				members[i].NodePoolName = pool
			}
			assignment.Engines = append(assignment.Engines, evenkeel.EngineAssignment{Name: engine.Name, Members: members})
		}
		Assigned(assignment)(p)
	}
}

// Assigned gives a placement an assignment, as the scheduler writes it.
func Assigned(assignment evenkeel.Assignment) Option {
	return func(p *evenkeel.ReplicaPlacement) {
		p.Status.Assignment = &assignment
		Condition(evenkeel.ConditionScheduled, evenkeel.ReasonScheduled)(p)
	}
}

// ReplicaOption changes a ModelReplica.
type ReplicaOption func(*modelplane.ModelReplica)

// Replica is the ModelReplica of a deployment on a cluster, with one engine that costs nodes of one pool.
func Replica(deployment, cluster string, index int32, pool string, nodes int32, options ...ReplicaOption) *modelplane.ModelReplica {
	r := &modelplane.ModelReplica{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace,
			Name:      placement.ReplicaName(deployment, cluster, index),
			Labels: map[string]string{
				modelplane.LabelDeployment:   deployment,
				modelplane.LabelCluster:      cluster,
				modelplane.LabelReplicaIndex: fmt.Sprint(index),
			},
		},
		Spec: modelplane.ModelReplicaSpec{ClusterName: cluster, Engines: []modelplane.ReplicaEngine{{
			Name: "main", Copies: &nodes,
			Members: []modelplane.ReplicaMember{{
				NodePoolName:   pool,
				DeviceRequests: []modelplane.ReplicaDeviceRequest{{Name: "gpu", DeviceClassName: "gpu"}},
			}},
		}}},
	}
	for _, option := range options {
		option(r)
	}
	return r
}

// ReplicaIn puts a replica into a namespace.
func ReplicaIn(namespace string) ReplicaOption {
	return func(r *modelplane.ModelReplica) { r.Namespace = namespace }
}

// ReplicaNamed gives a replica a name that its labels do not make.
func ReplicaNamed(name string) ReplicaOption {
	return func(r *modelplane.ModelReplica) { r.Name = name }
}

// ReplicaTerminating marks a replica as being deleted.
func ReplicaTerminating(r *modelplane.ModelReplica) {
	r.DeletionTimestamp = &metav1.Time{}
}

// ReplicaClaimless takes away what a replica claims.
func ReplicaClaimless(r *modelplane.ModelReplica) {
	r.Spec.Engines[0].Members[0].DeviceRequests = nil
}

// Nodes translates clusters.
func Nodes(clusters ...*modelplane.InferenceCluster) []*corev1.Node {
	nodes := make([]*corev1.Node, 0, len(clusters))
	for _, cluster := range clusters {
		nodes = append(nodes, virtual.NodeFor(cluster))
	}
	return nodes
}

// Pods translates placements, without those that the scheduler does not see.
func Pods(placements ...*evenkeel.ReplicaPlacement) []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, len(placements))
	for _, p := range placements {
		if pod := virtual.PodFor(p); pod != nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// ReplicaInformer holds replicas without ever having been started.
func ReplicaInformer(replicas ...*modelplane.ModelReplica) (cache.SharedIndexInformer, error) {
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, &modelplane.ModelReplica{}, 0, cache.Indexers{})
	for _, replica := range replicas {
		if err := informer.GetIndexer().Add(replica); err != nil {
			return nil, err
		}
	}
	return informer, nil
}
