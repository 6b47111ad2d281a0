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
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// fakeHub speaks as much of the API server's protocol as this package uses: lists, watches with or without initial
// events, and, by a handler that a test sets, everything about one placement.
type fakeHub struct {
	t      *testing.T
	server *httptest.Server

	mu sync.Mutex
	// paths that were requested, without the custom resources.
	foreign []string
	// requests for one placement, as "METHOD subresource".
	requests []string
	objects  map[string][]runtime.Object
	watchers map[string][]chan watch.Event
	// noWatchList makes watches with initial events fail, as on an API server that has them turned off.
	noWatchList bool
	one         func(method string, body []byte) (int, runtime.Object)
}

func newFakeHub(t *testing.T) *fakeHub {
	h := &fakeHub{t: t, objects: map[string][]runtime.Object{}, watchers: map[string][]chan watch.Event{}}
	h.server = httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(h.server.Close)
	t.Cleanup(h.closeWatches)
	return h
}

func (h *fakeHub) hub() *Hub {
	hub, err := NewHub(&rest.Config{Host: h.server.URL, QPS: -1})
	require.NoError(h.t, err)
	return hub
}

func (h *fakeHub) set(resource string, objects ...runtime.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, object := range objects {
		typed(resource, object)
	}
	h.objects[resource] = objects
}

// send delivers an event to every open watch of a resource.
func (h *fakeHub) send(resource string, eventType watch.EventType, object runtime.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, watcher := range h.watchers[resource] {
		watcher <- watch.Event{Type: eventType, Object: object}
	}
}

func (h *fakeHub) watching(resource string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers[resource]) > 0
}

// closeWatches ends all watches, as a lost connection does.
func (h *fakeHub) closeWatches() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for resource, watchers := range h.watchers {
		for _, watcher := range watchers {
			close(watcher)
		}
		delete(h.watchers, resource)
	}
}

func (h *fakeHub) sent() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

func (h *fakeHub) serve(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) == 4 && slices.Contains([]string{resourcePlacements, resourceClusters, resourceReplicas}, parts[3]):
		if r.URL.Query().Get("watch") == "true" {
			h.serveWatch(w, r, parts[3])
			return
		}
		h.serveList(w, parts[3])
	case len(parts) >= 7 && parts[5] == resourcePlacements:
		h.serveOne(w, r, strings.Join(parts[7:], "/"))
	default:
		h.mu.Lock()
		h.foreign = append(h.foreign, r.URL.Path)
		h.mu.Unlock()
		http.NotFound(w, r)
	}
}

func (h *fakeHub) serveOne(w http.ResponseWriter, r *http.Request, subresource string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		h.t.Errorf("read a request: %v", err)
	}
	h.mu.Lock()
	h.requests = append(h.requests, strings.TrimSpace(r.Method+" "+subresource))
	handler := h.one
	h.mu.Unlock()
	code, object := handler(r.Method, body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	h.encode(w, object)
}

func (h *fakeHub) serveList(w http.ResponseWriter, resource string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := map[string]any{
		"apiVersion": groupVersionOf(resource), "kind": kindOf(resource) + "List",
		"metadata": map[string]any{"resourceVersion": "100"}, "items": h.objects[resource],
	}
	w.Header().Set("Content-Type", "application/json")
	h.encode(w, list)
}

func (h *fakeHub) serveWatch(w http.ResponseWriter, r *http.Request, resource string) {
	initial := r.URL.Query().Get("sendInitialEvents") == "true"
	h.mu.Lock()
	if initial && h.noWatchList {
		h.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		h.encode(w, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity})
		return
	}
	events := make(chan watch.Event, 100)
	if initial {
		for _, object := range h.objects[resource] {
			events <- watch.Event{Type: watch.Added, Object: object}
		}
		events <- watch.Event{Type: watch.Bookmark, Object: bookmarkOf(resource, "100", map[string]string{metav1.InitialEventsAnnotationKey: "true"})}
	}
	h.watchers[resource] = append(h.watchers[resource], events)
	h.mu.Unlock()

	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	for {
		select {
		case event, ok := <-events:
			if !ok {
				return
			}
			h.encode(w, map[string]any{"type": event.Type, "object": event.Object})
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (h *fakeHub) encode(w http.ResponseWriter, object any) {
	if err := json.NewEncoder(w).Encode(object); err != nil {
		h.t.Logf("a client went away: %v", err)
	}
}

func kindOf(resource string) string {
	return map[string]string{resourcePlacements: "ReplicaPlacement", resourceClusters: "InferenceCluster", resourceReplicas: "ModelReplica"}[resource]
}

func groupVersionOf(resource string) string {
	if resource == resourcePlacements {
		return evenkeel.GroupVersion.String()
	}
	return modelplane.GroupVersion.String()
}

// typed fills in what the API server says about an object's kind.
func typed[T runtime.Object](resource string, object T) T {
	object.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(groupVersionOf(resource), kindOf(resource)))
	return object
}

func bookmarkOf(resource, resourceVersion string, annotations map[string]string) runtime.Object {
	bookmark := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: resourceVersion, Annotations: annotations}}
	return typed(resource, bookmark)
}

func atVersion(p *evenkeel.ReplicaPlacement, version int) *evenkeel.ReplicaPlacement {
	p = p.DeepCopy()
	p.ResourceVersion = strconv.Itoa(version)
	return typed(resourcePlacements, p)
}
