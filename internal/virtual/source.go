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
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// translation says how one kind becomes another.
type translation struct {
	// object translates one object. It reports false for one that must not be seen; what it returns then is what a
	// deletion of the object shows.
	object func(runtime.Object) (translated runtime.Object, visible bool, err error)
	// empty makes a translated object without content, to carry a bookmark.
	empty func() metav1.Object
}

var clusterTranslation = translation{
	object: func(obj runtime.Object) (runtime.Object, bool, error) {
		cluster, ok := obj.(*modelplane.InferenceCluster)
		if !ok {
			return nil, false, fmt.Errorf("expected an InferenceCluster, got %T", obj)
		}
		return NodeFor(cluster), true, nil
	},
	empty: func() metav1.Object { return &corev1.Node{} },
}

var placementTranslation = translation{
	object: func(obj runtime.Object) (runtime.Object, bool, error) {
		p, ok := obj.(*evenkeel.ReplicaPlacement)
		if !ok {
			return nil, false, fmt.Errorf("expected a ReplicaPlacement, got %T", obj)
		}
		return podFor(p), !hidden(p), nil
	},
	empty: func() metav1.Object { return &corev1.Pod{} },
}

// source lists and watches one resource of the hub and gives out translated objects. An object that must not be seen
// is left out of lists; when it was visible before, its change is given out as a deletion.
type source struct {
	client   rest.Interface
	resource string
	newList  func() runtime.Object
	translation

	// mu guards hidden: the objects known not to be seen, so that their changes and their deletion are not given out.
	// Missing one costs the consumers a deletion of something they do not have, never more.
	mu     sync.Mutex
	hidden map[types.UID]struct{}
}

func newClusterSource(hub *Hub) *source {
	return &source{
		client:      hub.modelplane,
		resource:    resourceClusters,
		newList:     func() runtime.Object { return &modelplane.InferenceClusterList{} },
		translation: clusterTranslation,
		hidden:      map[types.UID]struct{}{},
	}
}

func newPlacementSource(hub *Hub) *source {
	return &source{
		client:      hub.evenkeel,
		resource:    resourcePlacements,
		newList:     func() runtime.Object { return &evenkeel.ReplicaPlacementList{} },
		translation: placementTranslation,
		hidden:      map[types.UID]struct{}{},
	}
}

func (s *source) listerWatcher() cache.ListerWatcher {
	return &cache.ListWatch{ListWithContextFunc: s.list, WatchFuncWithContext: s.watch}
}

func (s *source) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list := s.newList()
	if err := listRequest(s.client, s.resource, options).Do(ctx).Into(list); err != nil {
		return nil, err
	}
	if options.Continue == "" {
		s.forgetHidden()
	}
	return s.translateList(list)
}

func (s *source) translateList(list runtime.Object) (runtime.Object, error) {
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	items := make([]runtime.RawExtension, 0, meta.LenList(list))
	err = meta.EachListItem(list, func(obj runtime.Object) error {
		translated, visible, err := s.object(obj)
		if err != nil {
			return err
		}
		if _, deliver := s.deliverAs(watch.Added, uidOf(obj), visible); deliver {
			items = append(items, runtime.RawExtension{Object: translated})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &metav1.List{
		ListMeta: metav1.ListMeta{
			ResourceVersion:    accessor.GetResourceVersion(),
			Continue:           accessor.GetContinue(),
			RemainingItemCount: accessor.GetRemainingItemCount(),
		},
		Items: items,
	}, nil
}

func (s *source) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	in, err := listRequest(s.client, s.resource, options).Watch(ctx)
	if err != nil {
		return nil, err
	}
	if ptr.Deref(options.SendInitialEvents, false) {
		s.forgetHidden()
	}
	return newTranslatedWatch(in, s.translateEvent), nil
}

// translateEvent translates what a watch delivers. Errors pass through; an object of an unexpected kind becomes one.
func (s *source) translateEvent(event watch.Event) watch.Event {
	switch event.Type {
	case watch.Error:
		return event
	case watch.Bookmark:
		accessor, err := meta.Accessor(event.Object)
		if err != nil {
			return errorEvent(err)
		}
		return s.bookmark(accessor.GetResourceVersion(), accessor.GetAnnotations())
	}
	translated, visible, err := s.object(event.Object)
	if err != nil {
		return errorEvent(err)
	}
	eventType, deliver := s.deliverAs(event.Type, uidOf(event.Object), visible)
	if !deliver {
		// The reflector still learns how far it has read, so that it can resume from there.
		return s.bookmark(resourceVersionOf(event.Object), nil)
	}
	return watch.Event{Type: eventType, Object: translated}
}

// deliverAs says as what type of event a change is delivered, if at all.
func (s *source) deliverAs(eventType watch.EventType, uid types.UID, visible bool) (watch.EventType, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, wasHidden := s.hidden[uid]
	switch {
	case eventType == watch.Deleted:
		delete(s.hidden, uid)
		return watch.Deleted, !wasHidden
	case visible:
		delete(s.hidden, uid)
		return eventType, true
	default:
		s.hidden[uid] = struct{}{}
		return watch.Deleted, eventType == watch.Modified && !wasHidden
	}
}

// bookmark keeps the annotations, among which is the mark that ends a watch's initial events: without it the reflector
// would never be in sync.
func (s *source) bookmark(resourceVersion string, annotations map[string]string) watch.Event {
	object := s.empty()
	object.SetResourceVersion(resourceVersion)
	object.SetAnnotations(annotations)
	return watch.Event{Type: watch.Bookmark, Object: object.(runtime.Object)}
}

// forgetHidden is called when everything is about to be read anew.
func (s *source) forgetHidden() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden = map[types.UID]struct{}{}
}

func errorEvent(err error) watch.Event {
	return watch.Event{Type: watch.Error, Object: &metav1.Status{
		Status:  metav1.StatusFailure,
		Reason:  metav1.StatusReasonInternalError,
		Message: err.Error(),
	}}
}

func uidOf(obj runtime.Object) types.UID {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return accessor.GetUID()
}

func resourceVersionOf(obj runtime.Object) string {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return accessor.GetResourceVersion()
}

// translatedWatch passes on translated events. Unlike watch.Filter it ends when it is stopped while nobody reads.
type translatedWatch struct {
	in       watch.Interface
	out      chan watch.Event
	stopped  chan struct{}
	stopOnce sync.Once
}

func newTranslatedWatch(in watch.Interface, translate func(watch.Event) watch.Event) watch.Interface {
	w := &translatedWatch{in: in, out: make(chan watch.Event), stopped: make(chan struct{})}
	go func() {
		defer close(w.out)
		for event := range in.ResultChan() {
			select {
			case w.out <- translate(event):
			case <-w.stopped:
				return
			}
		}
	}()
	return w
}

func (w *translatedWatch) ResultChan() <-chan watch.Event {
	return w.out
}

func (w *translatedWatch) Stop() {
	w.stopOnce.Do(func() {
		close(w.stopped)
		w.in.Stop()
	})
}
