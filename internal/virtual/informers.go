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
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Informers are what a scheduler reads the hub through.
type Informers struct {
	// Shared has Nodes made of InferenceClusters, Pods made of ReplicaPlacements, and nothing of any other kind that
	// the scheduler reads.
	Shared informers.SharedInformerFactory
	// Dynamic has the typed ModelReplicas below, and objects of any other resource as they are.
	Dynamic dynamicinformer.DynamicSharedInformerFactory
	// Replicas has the ModelReplicas of all namespaces, without what no plugin reads.
	Replicas cache.SharedIndexInformer
}

// NewInformers makes informers that have not been started. The client and the dynamic factory serve what is not
// translated.
func NewInformers(hub *Hub, client kubernetes.Interface, dynamic dynamicinformer.DynamicSharedInformerFactory) (*Informers, error) {
	replicas, err := newReplicaInformer(hub)
	if err != nil {
		return nil, err
	}
	typed, err := optionalInformers(hub)
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	factory.InformerFor(&corev1.Pod{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		return newInformer(cache.NewSharedIndexInformer(newPlacementSource(hub).listerWatcher(), &corev1.Pod{}, 0,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}), podChanged)
	})
	factory.InformerFor(&corev1.Node{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		return newInformer(cache.NewSharedIndexInformer(newClusterSource(hub).listerWatcher(), &corev1.Node{}, 0,
			cache.Indexers{}), uidChanged)
	})
	registerEmptyKinds(factory)
	return &Informers{
		Shared:   factory,
		Dynamic:  &dynamicFactory{DynamicSharedInformerFactory: dynamic, replicas: replicas, optional: typed},
		Replicas: replicas,
	}, nil
}

// dynamicFactory gives out one typed informer for ModelReplicas, where a dynamic one would keep a second, untyped copy
// of every replica. It starts that informer whether or not anybody has asked for it, and those of some other resources,
// typed too, if somebody has.
type dynamicFactory struct {
	dynamicinformer.DynamicSharedInformerFactory
	replicas cache.SharedIndexInformer
	optional map[schema.GroupVersionResource]*optionalInformer

	start   sync.Once
	running sync.WaitGroup
}

func (f *dynamicFactory) Start(stopCh <-chan struct{}) {
	f.start.Do(func() {
		f.running.Go(func() { f.replicas.Run(stopCh) })
		for _, o := range f.optional {
			if o.wanted {
				f.running.Go(func() { o.informer.Run(stopCh) })
			}
		}
	})
	f.DynamicSharedInformerFactory.Start(stopCh)
}

func (f *dynamicFactory) ForResource(resource schema.GroupVersionResource) informers.GenericInformer {
	if resource == ReplicasResource {
		return &typedInformer{resource.GroupResource(), f.replicas}
	}
	if o := f.optional[resource]; o != nil {
		o.wanted = true
		return &typedInformer{resource.GroupResource(), o.informer}
	}
	return f.DynamicSharedInformerFactory.ForResource(resource)
}

func (f *dynamicFactory) WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool {
	synced := f.DynamicSharedInformerFactory.WaitForCacheSync(stopCh)
	synced[ReplicasResource] = cache.WaitForCacheSync(stopCh, f.replicas.HasSynced)
	for resource, o := range f.optional {
		if o.wanted {
			synced[resource] = cache.WaitForCacheSync(stopCh, o.informer.HasSynced)
		}
	}
	return synced
}

func (f *dynamicFactory) Shutdown() {
	f.DynamicSharedInformerFactory.Shutdown()
	f.running.Wait()
}

// optionalInformer is one that runs only if somebody asks for it before the factory starts.
type optionalInformer struct {
	informer cache.SharedIndexInformer
	wanted   bool
}

type typedInformer struct {
	resource schema.GroupResource
	informer cache.SharedIndexInformer
}

func (i *typedInformer) Informer() cache.SharedIndexInformer {
	return i.informer
}

func (i *typedInformer) Lister() cache.GenericLister {
	return cache.NewGenericLister(i.informer.GetIndexer(), i.resource)
}
