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

package poolfit

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// reservations are the claims of placements for which a cluster is chosen and whose Pod does not show it yet: the
// scheduler counts such a Pod on the cluster, but only the write of the assignment, which is under way, tells the pools.
// The zero value is ready and safe for concurrent use.
type reservations struct {
	mu    sync.RWMutex
	byPod map[types.UID]claim
}

func (r *reservations) reserve(pod types.UID, held claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byPod == nil {
		r.byPod = map[types.UID]claim{}
	}
	r.byPod[pod] = held
}

// release forgets a Pod's reservation, if it has one.
func (r *reservations) release(pod types.UID) {
	r.mu.RLock()
	_, found := r.byPod[pod]
	r.mu.RUnlock()
	if !found {
		return // the usual case, asked of every Pod whenever its cluster is counted
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byPod, pod)
}

func (r *reservations) of(pod types.UID) (claim, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	held, found := r.byPod[pod]
	return held, found
}

// hold tells whether a reservation has this replica's name.
func (r *reservations) hold(replica types.NamespacedName) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, held := range r.byPod {
		if held.replica == replica {
			return true
		}
	}
	return false
}
