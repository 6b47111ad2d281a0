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
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

func in(name string) types.NamespacedName { return types.NamespacedName{Namespace: "a", Name: name} }

// placementsOf is a cache with placements in it.
type placementsOf []*evenkeel.ReplicaPlacement

func (placementsOf) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("nobody asked for that")
}

func (r placementsOf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for _, p := range r {
		list.(*evenkeel.ReplicaPlacementList).Items = append(list.(*evenkeel.ReplicaPlacementList).Items, *p)
	}
	return nil
}

func woken(l *limiter) []string {
	var names []string
	for {
		select {
		case e := <-l.woken:
			names = append(names, e.Object.Name)
		default:
			return names
		}
	}
}

func TestLimiterWakesAsManyAsHaveATurn(t *testing.T) {
	l := newLimiter(3, 0)
	l.shares = map[types.NamespacedName]share{}
	l.set(in("one"), share{moving: 2, loading: map[string]int{"west": 2}})
	l.set(in("two"), share{moving: 1, loading: map[string]int{"west": 1}})
	assert.Equal(t, 3, l.moving)
	assert.Equal(t, 3, l.loading["west"])
	l.waiting = []types.NamespacedName{in("three"), in("four"), in("five")}

	l.set(in("one"), share{moving: 2, loading: map[string]int{"west": 1, "north": 1}})
	assert.Empty(t, woken(l), "nothing was given back")
	assert.Equal(t, 2, l.loading["west"])
	l.set(in("one"), share{})
	assert.Equal(t, []string{"three", "four"}, woken(l))
	l.forget(in("five"))
	l.forget(in("two"))
	assert.Empty(t, woken(l), "nobody waits any more")
	assert.Zero(t, l.moving)
	assert.Zero(t, l.loading["west"])
	assert.Empty(t, l.shares)
}

// TestLimiterSeed reads what is on the move when the manager starts.
func TestLimiterSeed(t *testing.T) {
	arriving := placementWith("chat-0-2", "a", "1")
	arriving.Spec.DeploymentName, arriving.Spec.Replaces = "chat", "chat-0-1"
	arriving.Status.Assignment = &evenkeel.Assignment{ClusterName: "west"}
	second := arriving.DeepCopy()
	second.Name, second.UID = "chat-1-2", "b"
	second.Status.Assignment.ClusterName = "north"
	arrived := arriving.DeepCopy()
	arrived.Name, arrived.UID = "chat-2-2", "c"
	arrived.Status.Conditions = []metav1.Condition{{Type: evenkeel.ConditionReady, Status: metav1.ConditionTrue}}
	first := arriving.DeepCopy()
	first.Name, first.UID, first.Spec.Replaces = "chat-3-1", "d", ""

	l := newLimiter(3, 0)
	require.NoError(t, l.seed(t.Context(), placementsOf{arriving, second, arrived, first}))
	assert.Equal(t, 2, l.moving)
	assert.Equal(t, map[string]int{"west": 1, "north": 1}, l.loading)
	assert.Equal(t, 2, l.shares[types.NamespacedName{Namespace: arriving.Namespace, Name: "chat"}].moving)

	unlimited := newLimiter(0, 0)
	require.NoError(t, unlimited.seed(t.Context(), nil))
}
