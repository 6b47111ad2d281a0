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

package inferencecluster

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// catchUp bounds how long the cache may be behind the controller's own writes.
const catchUp = 5 * time.Second

// state is what the controller remembers of a cluster. All of it may be lost: a manager that starts anew repeats an
// event at worst. Only one goroutine at a time looks at a cluster.
type state struct {
	uid types.UID
	// told is the condition that was written last, and toldAt when.
	told   *metav1.Condition
	toldAt time.Time
	// left is how many replicas were left, since when it has been that many, and when that was last complained of.
	left       int
	since      time.Time
	complained time.Time
	// deletion is the recorded deletion that people were warned of.
	deletion string
}

// stateOf gives what is remembered of a cluster. One of the same name with another UID is another cluster.
func (r *Reconciler) stateOf(cluster *modelplane.InferenceCluster) *state {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := types.NamespacedName{Name: cluster.Name}
	if s := r.drains[key]; s != nil && s.uid == cluster.UID {
		return s
	}
	r.drains[key] = &state{uid: cluster.UID}
	return r.drains[key]
}

func (r *Reconciler) forget(key types.NamespacedName) {
	r.gauges.forget(key.Name)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.drains, key)
}

// current is the condition as it stands: what was just written counts, until the cache can have caught up.
func (s *state) current(cached *metav1.Condition, now time.Time) *metav1.Condition {
	if s.told != nil && now.Sub(s.toldAt) < catchUp {
		return s.told
	}
	return cached
}

// end forgets a drain, and keeps what is known of the cluster.
func (s *state) end() {
	*s = state{uid: s.uid, deletion: s.deletion}
}

// progress notes how many replicas are left, and tells since when nothing has changed: of a drain that is new to this
// process since known.
func (s *state) progress(left int, now, known time.Time) time.Time {
	switch {
	case s.since.IsZero():
		s.left, s.since = left, known
	case s.left != left:
		s.left, s.since, s.complained = left, now, time.Time{}
	}
	if s.complained.After(s.since) {
		return s.complained
	}
	return s.since
}
