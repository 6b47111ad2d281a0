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

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func (m *memo[K, V]) size() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.young) + len(m.old)
}

func TestMemo(t *testing.T) {
	m := newMemo[int, string](8)
	_, ok := m.get(1)
	assert.False(t, ok)
	m.put(1, "one", 1)
	got, ok := m.get(1)
	assert.True(t, ok)
	assert.Equal(t, "one", got)

	for i := 100; i < 1000; i++ {
		m.put(i, "new", 1)
		got, ok := m.get(1)
		assert.True(t, ok, "what is used stays")
		assert.Equal(t, "one", got)
		assert.LessOrEqual(t, m.size(), 8)
	}
	_, ok = m.get(100)
	assert.False(t, ok, "what is not used is forgotten")
}

func TestMemoWeighs(t *testing.T) {
	m := newMemo[int, string](8)
	for i := range 100 {
		m.put(i, "heavy", 4)
		assert.LessOrEqual(t, m.size(), 2)
	}
	m.put(1000, "heavier than all", 50)
	_, ok := m.get(1000)
	assert.True(t, ok)
	m.put(1001, "next", 1)
	assert.LessOrEqual(t, m.size(), 2)
}

func TestMemoConcurrently(t *testing.T) {
	m := newMemo[int, int](32)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 2000 {
				if got, ok := m.get(i % 50); ok {
					assert.Equal(t, i%50, got)
				} else {
					m.put(i%50, i%50, 1)
				}
			}
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, m.size(), 32)
}
