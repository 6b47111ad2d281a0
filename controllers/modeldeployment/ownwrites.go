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

package modeldeployment

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

const (
	// catchUpRetry is the pause before the cache is looked at again for the controller's own writes.
	catchUpRetry = 20 * time.Millisecond
	// catchUpPatience bounds how long the cache is waited for: somebody else may have deleted what was written.
	catchUpPatience = 2 * time.Second
)

// ownWrites remembers what was last written for each deployment, so that nothing is decided on a cache that does not
// show it yet. That saves writes which would only be refused; safe they are without it.
type ownWrites struct {
	mu           sync.Mutex
	byDeployment map[types.NamespacedName]*written
}

type written struct {
	until    time.Time
	versions map[objectID]string
	deleted  map[objectID]types.UID
}

type objectID struct{ kind, name string }

func idOf(o client.Object) objectID {
	return objectID{kind: fmt.Sprintf("%T", o), name: o.GetName()}
}

func (w *ownWrites) of(d *modelplane.ModelDeployment, now time.Time) *written {
	key := client.ObjectKeyFromObject(d)
	entry := w.byDeployment[key]
	if entry == nil {
		entry = &written{versions: map[objectID]string{}, deleted: map[objectID]types.UID{}}
		if w.byDeployment == nil {
			w.byDeployment = map[types.NamespacedName]*written{}
		}
		w.byDeployment[key] = entry
	}
	entry.until = now.Add(catchUpPatience)
	return entry
}

// wrote notes that an object has at least this version now.
func (w *ownWrites) wrote(d *modelplane.ModelDeployment, o client.Object, version string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	entry := w.of(d, now)
	entry.versions[idOf(o)] = version
	delete(entry.deleted, idOf(o))
}

// deleted notes that an object is gone or going.
func (w *ownWrites) deleted(d *modelplane.ModelDeployment, o client.Object, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	entry := w.of(d, now)
	entry.deleted[idOf(o)] = o.GetUID()
	delete(entry.versions, idOf(o))
}

// shown tells whether an observation shows all that was written, or was waited for long enough.
func (w *ownWrites) shown(o *replicas.Observation) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := client.ObjectKeyFromObject(o.Deployment)
	entry := w.byDeployment[key]
	if entry == nil {
		return true
	}
	if o.Now.Before(entry.until) && !entry.shown(o) {
		return false
	}
	delete(w.byDeployment, key)
	return true
}

func (w *ownWrites) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byDeployment, key)
}

func (w *written) shown(o *replicas.Observation) bool {
	present := map[objectID]client.Object{idOf(o.Deployment): o.Deployment}
	for _, p := range o.Placements {
		present[idOf(p)] = p
	}
	for _, r := range o.Replicas {
		present[idOf(r)] = r
	}
	for _, e := range o.Endpoints {
		present[idOf(e)] = e
	}
	for id, version := range w.versions {
		if found := present[id]; found == nil || older(found.GetResourceVersion(), version) {
			return false
		}
	}
	for id, uid := range w.deleted {
		if found := present[id]; found != nil && found.GetUID() == uid && found.GetDeletionTimestamp() == nil {
			return false
		}
	}
	return true
}

// older compares resource versions; what cannot be compared is taken for current.
func older(have, want string) bool {
	order, err := resourceversion.CompareResourceVersion(have, want)
	return err == nil && order < 0
}
