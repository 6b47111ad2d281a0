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

// inflight knows which replicas have requests in flight, and cuts these off when the
// replica goes. It is safe for concurrent use.
type inflight struct {
	mu       sync.Mutex
	requests map[types.NamespacedName]*batch
}

// batch are the requests in flight on one replica.
type batch struct {
	count int
	cut   chan struct{}
}

func newInflight() *inflight {
	return &inflight{requests: map[types.NamespacedName]*batch{}}
}

// begin counts a request. cut is closed if the replica goes before done is called.
func (f *inflight) begin(replica types.NamespacedName) (cut <-chan struct{}, done func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.requests[replica]
	if b == nil {
		b = &batch{cut: make(chan struct{})}
		f.requests[replica] = b
	}
	b.count++
	return b.cut, func() { f.end(replica, b) }
}

func (f *inflight) end(replica types.NamespacedName, b *batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b.count--
	if b.count == 0 && f.requests[replica] == b {
		delete(f.requests, replica)
	}
}

// cutOff fails the requests in flight on a replica, and tells how many there were.
func (f *inflight) cutOff(replica types.NamespacedName) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.requests[replica]
	if b == nil {
		return 0
	}
	delete(f.requests, replica)
	close(b.cut)
	return b.count
}
