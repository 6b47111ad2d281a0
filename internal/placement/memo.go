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

package placement

import "sync"

// memo remembers results of pure functions, up to a limit, and is safe for concurrent use. A hit takes a read lock and
// allocates nothing, which an LRU list cannot do: it writes on every hit.
//
// It has two generations. What is used moves to the young one; when that is half the limit, the old one is forgotten and
// the young one becomes old. So what is in use stays, as long as it is less than half the limit.
type memo[K comparable, V any] struct {
	mu          sync.RWMutex
	limit       int
	young, old  map[K]weighed[V]
	youngWeight int
}

type weighed[V any] struct {
	value  V
	weight int
}

func newMemo[K comparable, V any](limit int) *memo[K, V] {
	return &memo[K, V]{limit: limit, young: map[K]weighed[V]{}}
}

func (m *memo[K, V]) get(key K) (V, bool) {
	m.mu.RLock()
	entry, found := m.young[key]
	if found {
		m.mu.RUnlock()
		return entry.value, true
	}
	entry, found = m.old[key]
	m.mu.RUnlock()
	if found {
		m.put(key, entry.value, entry.weight)
	}
	return entry.value, found
}

func (m *memo[K, V]) put(key K, value V, weight int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, found := m.young[key]; found {
		return
	}
	if m.youngWeight > 0 && m.youngWeight+weight > m.limit/2 {
		m.old, m.young, m.youngWeight = m.young, map[K]weighed[V]{}, 0
	}
	m.young[key] = weighed[V]{value, weight}
	m.youngWeight += weight
}
