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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestOwnWritesCountUntilTheCacheHasThem(t *testing.T) {
	cached := &metav1.Condition{Message: "old"}
	s := &state{}
	assert.Same(t, cached, s.current(cached, noon))
	s.told, s.toldAt = &metav1.Condition{Message: "new"}, noon
	assert.Same(t, s.told, s.current(cached, noon.Add(catchUp-1)))
	assert.Same(t, cached, s.current(cached, noon.Add(catchUp)), "somebody may have changed it since")
	assert.Nil(t, s.current(nil, noon.Add(catchUp)))
}

func TestProgress(t *testing.T) {
	s := &state{}
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	assert.Equal(t, at(0), s.progress(5, at(0)))
	assert.Equal(t, at(0), s.progress(5, at(9)))
	s.complained = at(10)
	assert.Equal(t, at(10), s.progress(5, at(19)), "the next complaint is due as long after the last")
	assert.Equal(t, at(21), s.progress(4, at(21)), "one has left")
	assert.Equal(t, at(21), s.progress(4, at(22)))
	assert.Equal(t, at(23), s.progress(5, at(23)), "one more has come")
}

func TestStateIsOfOneCluster(t *testing.T) {
	r := &Reconciler{drains: map[types.NamespacedName]*state{}, gauges: &gauges{drains: map[string]map[string]int{}}}
	c := &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{Name: "east", UID: "1"}}
	s := r.stateOf(c)
	s.left, s.deletion = 3, "warned"
	assert.Same(t, s, r.stateOf(c))
	s.end()
	assert.Equal(t, state{uid: "1", deletion: "warned"}, *s)
	c.UID = "2"
	assert.Equal(t, state{uid: "2"}, *r.stateOf(c), "another cluster of the name")
	r.forget(types.NamespacedName{Name: "east"})
	assert.Empty(t, r.drains)
}

func TestShortest(t *testing.T) {
	assert.Equal(t, 2*time.Second, shortest(0, 3*time.Second, 2*time.Second))
	assert.Zero(t, shortest(0, 0))
}
