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

package standin

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// route is what the gateway knows of a service: the backends by name, as they were
// when it was computed. They may be gone by now.
type route struct {
	mu       sync.Mutex
	backends []weightedBackend
	// credit is each backend's claim to the next request.
	credit []int64
	total  int64
}

func newRoute(backends []weightedBackend) *route {
	r := &route{backends: backends, credit: make([]int64, len(backends))}
	for _, b := range backends {
		r.total += b.weight
	}
	return r
}

// next chooses the backend of a request: by smooth weighted round robin, so that
// counts are exact over every total of weights and the same in every run.
func (r *route) next() types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	best := 0
	for i := range r.backends {
		r.credit[i] += r.backends[i].weight
		if r.credit[i] > r.credit[best] {
			best = i
		}
	}
	r.credit[best] -= r.total
	return r.backends[best].key
}

// routeTable holds the routes by service. It is safe for concurrent use.
type routeTable struct {
	mu     sync.RWMutex
	routes map[types.NamespacedName]*route
}

func newRouteTable() *routeTable {
	return &routeTable{routes: map[types.NamespacedName]*route{}}
}

// set replaces the route of a service; without backends there is none.
func (t *routeTable) set(service types.NamespacedName, backends []weightedBackend) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(backends) == 0 {
		delete(t.routes, service)
		return
	}
	t.routes[service] = newRoute(backends)
}

// of returns nil if the service has no route.
func (t *routeTable) of(service types.NamespacedName) *route {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.routes[service]
}
