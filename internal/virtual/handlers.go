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
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// informer is a shared informer with two differences.
//
// An update that makes another object of one, as identified by changed, reaches handlers as a deletion and an
// addition. That covers an object deleted and created anew under the same name between two lists, which an informer
// reports as an update, and a Pod that the scheduler's cache would not survive as an update: it ends the process when
// a Pod's node changes.
//
// And it is in sync only when all handlers have seen the initial objects, so that what a handler keeps is complete
// before the first decision.
type informer struct {
	cache.SharedIndexInformer
	changed func(before, now any) bool

	mu            sync.Mutex
	registrations []cache.ResourceEventHandlerRegistration
}

func newInformer(inner cache.SharedIndexInformer, changed func(before, now any) bool) *informer {
	return &informer{SharedIndexInformer: inner, changed: changed}
}

func (i *informer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.register(i.SharedIndexInformer.AddEventHandler(i.splitting(handler)))
}

func (i *informer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, resyncPeriod time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.register(i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(i.splitting(handler), resyncPeriod))
}

func (i *informer) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, options cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.register(i.SharedIndexInformer.AddEventHandlerWithOptions(i.splitting(handler), options))
}

func (i *informer) RemoveEventHandler(registration cache.ResourceEventHandlerRegistration) error {
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

func (i *informer) register(registration cache.ResourceEventHandlerRegistration, err error) (cache.ResourceEventHandlerRegistration, error) {
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.registrations = append(i.registrations, registration)
	return registration, nil
}

func (i *informer) splitting(handler cache.ResourceEventHandler) cache.ResourceEventHandler {
	return &splittingHandler{ResourceEventHandler: handler, changed: i.changed}
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
