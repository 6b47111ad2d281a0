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

package virtual

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// newReplicaInformer watches the ModelReplicas of all namespaces. They are not translated, but cut down to what a
// ledger of nodes needs: names, labels, times, the cluster, and what each member claims on which pool.
func newReplicaInformer(hub *Hub) (cache.SharedIndexInformer, error) {
	inner := informerOf(hub.modelplane, resourceReplicas, &modelplane.ModelReplica{}, func() runtime.Object { return &modelplane.ModelReplicaList{} })
	if err := inner.SetTransform(trimReplica); err != nil {
		return nil, fmt.Errorf("trim ModelReplicas: %w", err)
	}
	return newInformer(inner, uidChanged), nil
}

// optionalInformers watch what tells how many replicas a deployment can spare.
func optionalInformers(hub *Hub) (map[schema.GroupVersionResource]*optionalInformer, error) {
	deployments := informerOf(hub.modelplane, resourceModels, &modelplane.ModelDeployment{}, func() runtime.Object { return &modelplane.ModelDeploymentList{} })
	if err := deployments.SetTransform(trimDeployment); err != nil {
		return nil, fmt.Errorf("trim ModelDeployments: %w", err)
	}
	policies := informerOf(hub.evenkeel, resourcePolicies, &evenkeel.DisruptionPolicy{}, func() runtime.Object { return &evenkeel.DisruptionPolicyList{} })
	return map[schema.GroupVersionResource]*optionalInformer{
		DeploymentsResource: {informer: deployments},
		PoliciesResource:    {informer: policies},
	}, nil
}

func informerOf(client rest.Interface, resource string, kind runtime.Object, newList func() runtime.Object) cache.SharedIndexInformer {
	listWatch := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := newList()
			return list, listRequest(client, resource, options).Do(ctx).Into(list)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			return listRequest(client, resource, options).Watch(ctx)
		},
	}
	return cache.NewSharedIndexInformer(listWatch, kind, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

// trimDeployment keeps what policies select by and how many replicas are wanted.
func trimDeployment(obj any) (any, error) {
	deployment, ok := obj.(*modelplane.ModelDeployment)
	if !ok {
		return obj, nil
	}
	deployment.ManagedFields = nil
	deployment.Annotations = nil
	deployment.Spec = modelplane.ModelDeploymentSpec{Replicas: deployment.Spec.Replicas}
	deployment.Status = modelplane.ModelDeploymentStatus{}
	return deployment, nil
}

// trimReplica drops what no plugin reads, which is most of a ModelReplica. It is called for every object that is about
// to be stored, which nobody else has seen yet.
func trimReplica(obj any) (any, error) {
	replica, ok := obj.(*modelplane.ModelReplica)
	if !ok {
		return obj, nil
	}
	replica.ManagedFields = nil
	replica.Annotations = nil
	replica.Status = modelplane.ModelReplicaStatus{}
	for e := range replica.Spec.Engines {
		members := replica.Spec.Engines[e].Members
		for m := range members {
			members[m].Template = nil
			for r := range members[m].DeviceRequests {
				members[m].DeviceRequests[r].Selectors = nil
			}
		}
	}
	return replica, nil
}
