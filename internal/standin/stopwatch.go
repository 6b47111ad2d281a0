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
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// stopwatch remembers since when something has been going on for an object. Times
// in the API have whole seconds, which is too coarse for tests. It is safe for
// concurrent use.
type stopwatch struct {
	mu      sync.Mutex
	started map[types.NamespacedName]start
}

type start struct {
	uid types.UID
	at  time.Time
}

func newStopwatch() *stopwatch {
	return &stopwatch{started: map[types.NamespacedName]start{}}
}

// elapsed returns the time since the first call for this object, and zero for the
// first. An object of the same name with another UID is another object.
func (s *stopwatch) elapsed(key types.NamespacedName, uid types.UID, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seen, ok := s.started[key]; ok && seen.uid == uid {
		return now.Sub(seen.at)
	}
	s.started[key] = start{uid: uid, at: now}
	return 0
}

// forget makes the next call for this object the first.
func (s *stopwatch) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.started, key)
}
