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
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
)

// informer is a shared informer with three differences.
//
// An update that makes another object of one, as identified by changed, reaches handlers as a deletion and an
// addition. That covers an object deleted and created anew under the same name between two lists, which an informer
// reports as an update, and a Pod that the scheduler's cache would not survive as an update: it ends the process when
// a Pod's node changes.
//
// Handlers that are added before the informer runs are called one after another, in the order in which they were
// added. The scheduler adds its own after those of its plugins, so that what a plugin keeps is up to date when the
// scheduler takes an event for a reason to try a placement again; side by side, the plugin may be late and the
// placement waits for an event that never comes.
//
// And it is in sync only when all handlers have seen the initial objects, so that what a handler keeps is complete
// before the first decision.
type informer struct {
	cache.SharedIndexInformer
	changed func(before, now any) bool
	first   *handlerChain

	mu      sync.Mutex
	running bool
	// registrations with the inner informer: of the chain, and of each handler that came later.
	registrations []cache.ResourceEventHandlerRegistration
}

func newInformer(inner cache.SharedIndexInformer, changed func(before, now any) bool) *informer {
	return &informer{SharedIndexInformer: inner, changed: changed, first: &handlerChain{}}
}

func (i *informer) Run(stopCh <-chan struct{}) {
	i.RunWithContext(wait.ContextForChannel(stopCh))
}

func (i *informer) RunWithContext(ctx context.Context) {
	i.mu.Lock()
	i.running = true
	i.mu.Unlock()
	i.SharedIndexInformer.RunWithContext(ctx)
}

func (i *informer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

func (i *informer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, resyncPeriod time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{ResyncPeriod: &resyncPeriod})
}

func (i *informer) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, options cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	handler = &splittingHandler{ResourceEventHandler: handler, changed: i.changed}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running {
		return i.register(handler, options)
	}
	if i.first.registration == nil {
		registration, err := i.register(i.first, options)
		if err != nil {
			return nil, err
		}
		i.first.registration = registration
	}
	return i.first.add(handler), nil
}

// register needs the lock.
func (i *informer) register(handler cache.ResourceEventHandler, options cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := i.SharedIndexInformer.AddEventHandlerWithOptions(handler, options)
	if err != nil {
		return nil, err
	}
	i.registrations = append(i.registrations, registration)
	return registration, nil
}

func (i *informer) RemoveEventHandler(registration cache.ResourceEventHandlerRegistration) error {
	if link, ok := registration.(*chainedHandler); ok {
		i.first.remove(link)
		return nil
	}
	i.mu.Lock()
	i.registrations = slices.DeleteFunc(i.registrations, func(known cache.ResourceEventHandlerRegistration) bool {
		return known == registration
	})
	i.mu.Unlock()
	return i.SharedIndexInformer.RemoveEventHandler(registration)
}

// HasSynced reports whether the store has the initial objects and every handler has seen them.
func (i *informer) HasSynced() bool {
	if !i.SharedIndexInformer.HasSynced() {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, registration := range i.registrations {
		if !registration.HasSynced() {
			return false
		}
	}
	return true
}

// handlerChain calls handlers one after another.
type handlerChain struct {
	registration cache.ResourceEventHandlerRegistration

	mu    sync.RWMutex
	links []*chainedHandler
}

// chainedHandler is one of them, and its own registration.
type chainedHandler struct {
	cache.ResourceEventHandler
	chain *handlerChain
}

func (h *chainedHandler) HasSynced() bool {
	return h.chain.registration.HasSynced()
}

func (c *handlerChain) add(handler cache.ResourceEventHandler) *chainedHandler {
	link := &chainedHandler{ResourceEventHandler: handler, chain: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links = append(c.links, link)
	return link
}

func (c *handlerChain) remove(link *chainedHandler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A new slice, for the old one may be walked over right now.
	c.links = slices.DeleteFunc(slices.Clone(c.links), func(known *chainedHandler) bool { return known == link })
}

func (c *handlerChain) handlers() []*chainedHandler {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.links
}

func (c *handlerChain) OnAdd(obj any, isInInitialList bool) {
	for _, handler := range c.handlers() {
		handler.OnAdd(obj, isInInitialList)
	}
}

func (c *handlerChain) OnUpdate(before, now any) {
	for _, handler := range c.handlers() {
		handler.OnUpdate(before, now)
	}
}

func (c *handlerChain) OnDelete(obj any) {
	for _, handler := range c.handlers() {
		handler.OnDelete(obj)
	}
}

type splittingHandler struct {
	cache.ResourceEventHandler
	changed func(before, now any) bool
}

func (h *splittingHandler) OnUpdate(before, now any) {
	if !h.changed(before, now) {
		h.ResourceEventHandler.OnUpdate(before, now)
		return
	}
	h.OnDelete(before)
	h.OnAdd(now, false)
}

// uidChanged tells whether two objects of one name are different objects.
func uidChanged(before, now any) bool {
	was, err := meta.Accessor(before)
	if err != nil {
		return false
	}
	is, err := meta.Accessor(now)
	if err != nil {
		return false
	}
	return was.GetUID() != is.GetUID()
}

// podChanged tells whether the scheduler must take a Pod for another one.
func podChanged(before, now any) bool {
	if uidChanged(before, now) {
		return true
	}
	was, ok := before.(*corev1.Pod)
	if !ok {
		return false
	}
	is, ok := now.(*corev1.Pod)
	return ok && was.Spec.NodeName != "" && was.Spec.NodeName != is.Spec.NodeName
}
