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
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// rule is what the gateway knows of a path: the backends by name, as they were when
// the rule was written. They may be gone by now.
type rule struct {
	// prefix of the paths that it is for, with a slash at the end.
	prefix   string
	backends []weightedBackend

	mu sync.Mutex
	// credit is each backend's claim to the next request.
	credit []int64
	total  int64
}

func newRule(prefix string, backends []weightedBackend) *rule {
	r := &rule{prefix: strings.TrimSuffix(prefix, "/") + "/", backends: backends, credit: make([]int64, len(backends))}
	for _, b := range backends {
		r.total += b.weight
	}
	return r
}

// next chooses the backend of a request: by smooth weighted round robin, so that
// counts are exact over every total of weights and the same in every run. It finds
// none where no backend has any weight.
func (r *rule) next() (weightedBackend, bool) {
	if r.total == 0 {
		return weightedBackend{}, false
	}
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
	return r.backends[best], true
}

// routeTable holds the rules by the route that they are of. It is safe for
// concurrent use.
type routeTable struct {
	mu    sync.RWMutex
	rules map[types.NamespacedName][]*rule
}

func newRouteTable() *routeTable {
	return &routeTable{rules: map[types.NamespacedName][]*rule{}}
}

// set replaces the rules of a route; without any there is no such route.
func (t *routeTable) set(route types.NamespacedName, rules ...*rule) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(rules) == 0 {
		delete(t.rules, route)
		return
	}
	t.rules[route] = rules
}

// match returns the rule with the longest prefix of a path, and what follows the
// prefix; nil if there is none.
func (t *routeTable) match(path string) (best *rule, rest string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, rules := range t.rules {
		for _, r := range rules {
			if strings.HasPrefix(path, r.prefix) && (best == nil || len(r.prefix) > len(best.prefix)) {
				best = r
			}
		}
	}
	if best == nil {
		return nil, ""
	}
	return best, path[len(best.prefix):]
}

// servicePrefix is where a ModelService is reached.
func servicePrefix(service types.NamespacedName) string {
	return "/" + service.Namespace + "/" + service.Name + "/"
}
