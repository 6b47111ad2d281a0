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

// reservations are the claims of placements for which a cluster is chosen and whose ModelReplica is not seen yet. At first
// they are all that tells the pools: the scheduler counts the Pod on the cluster, but the write of the assignment is under
// way. Then they keep the replica's name from being given to another placement; names are so short that two clusters can
// make the same one. The zero value is ready and safe for concurrent use.
type reservations struct {
	mu    sync.RWMutex
	byPod map[types.UID]claim
	names map[types.NamespacedName]types.UID
}

// reserve holds a claim whose name nobody holds, in place of what the Pod held before.
func (r *reservations) reserve(pod types.UID, held claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byPod == nil {
		r.byPod = map[types.UID]claim{}
		r.names = map[types.NamespacedName]types.UID{}
	}
	delete(r.names, r.byPod[pod].replica)
	r.byPod[pod] = held
	r.names[held.replica] = pod
}

// release forgets a Pod's reservation, if it has one.
func (r *reservations) release(pod types.UID) {
	if _, found := r.of(pod); !found {
		return // the usual case, asked of every Pod whenever its cluster is counted
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.names, r.byPod[pod].replica)
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
	_, held := r.names[replica]
	return held
}
