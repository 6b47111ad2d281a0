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
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Offline are informers that nobody starts: they hold what they are told, and their handlers have heard of a change when
// the call that tells it returns. They let a scheduler run on a fleet that is in memory only. The translation is that of
// the informers of a hub. They are not safe for concurrent changes.
type Offline struct {
	Informers
	pods, nodes, replicas *fedInformer
}

// NewOffline makes informers of an empty fleet.
func NewOffline() *Offline {
	o := &Offline{
		pods:     newFedInformer(&corev1.Pod{}, podChanged),
		nodes:    newFedInformer(&corev1.Node{}, uidChanged),
		replicas: newFedInformer(&modelplane.ModelReplica{}, uidChanged),
	}
	factory := informers.NewSharedInformerFactory(nil, 0)
	factory.InformerFor(&corev1.Pod{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return o.pods })
	factory.InformerFor(&corev1.Node{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return o.nodes })
	registerEmptyKinds(factory)
	o.Informers = Informers{Shared: factory, Dynamic: &dynamicFactory{replicas: o.replicas}, Replicas: o.replicas}
	return o
}

// SetCluster tells of a cluster that has come or changed.
func (o *Offline) SetCluster(c *modelplane.InferenceCluster) error { return o.nodes.set(NodeFor(c)) }

// SetPlacement tells of a placement that has come or changed.
func (o *Offline) SetPlacement(p *evenkeel.ReplicaPlacement) error {
	if hidden(p) {
		return o.pods.remove(podFor(p))
	}
	return o.pods.set(podFor(p))
}

// RemovePlacement tells of a placement that is gone.
func (o *Offline) RemovePlacement(p *evenkeel.ReplicaPlacement) error {
	return o.pods.remove(podFor(p))
}

// SetReplica tells of a replica that has come or changed.
func (o *Offline) SetReplica(r *modelplane.ModelReplica) error {
	trimmed, err := trimReplica(r.DeepCopy())
	if err != nil {
		return err
	}
	return o.replicas.set(trimmed)
}

// RemoveReplica tells of a replica that is gone.
func (o *Offline) RemoveReplica(r *modelplane.ModelReplica) error { return o.replicas.remove(r) }

// fedInformer is an informer that is told of changes instead of watching for them. What it embeds is never run; it has
// the store.
type fedInformer struct {
	cache.SharedIndexInformer
	changed  func(before, now any) bool
	handlers []cache.ResourceEventHandler
}

func newFedInformer(kind runtime.Object, changed func(before, now any) bool) *fedInformer {
	return &fedInformer{
		SharedIndexInformer: cache.NewSharedIndexInformer(&cache.ListWatch{}, kind, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		changed:             changed,
	}
}

func (i *fedInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, &splittingHandler{ResourceEventHandler: handler, changed: i.changed})
	return fedHandler{}, nil
}

func (i *fedInformer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(handler)
}

func (i *fedInformer) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(handler)
}

func (i *fedInformer) HasSynced() bool { return true }

// fedHandler is the registration of a handler, which has always heard everything.
type fedHandler struct{}

func (fedHandler) HasSynced() bool { return true }

func (i *fedInformer) set(obj any) error {
	before, known, err := i.GetIndexer().Get(obj)
	if err != nil {
		return fmt.Errorf("look up an object: %w", err)
	}
	if !known {
		if err := i.GetIndexer().Add(obj); err != nil {
			return err
		}
		for _, handler := range i.handlers {
			handler.OnAdd(obj, false)
		}
		return nil
	}
	if err := i.GetIndexer().Update(obj); err != nil {
		return err
	}
	for _, handler := range i.handlers {
		handler.OnUpdate(before, obj)
	}
	return nil
}

func (i *fedInformer) remove(obj any) error {
	before, known, err := i.GetIndexer().Get(obj)
	if err != nil {
		return fmt.Errorf("look up an object: %w", err)
	}
	if !known {
		return nil
	}
	if err := i.GetIndexer().Delete(obj); err != nil {
		return err
	}
	for _, handler := range i.handlers {
		handler.OnDelete(before)
	}
	return nil
}
