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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/internal/testhub"
)

// An account is made once and used until something about its cluster changes.
func TestAccountsAreReused(t *testing.T) {
	east := testhub.Cluster("east", testhub.Pool("h100", 8))
	f := newFixture(t, clusters{east, testhub.Cluster("west", testhub.Pool("h100", 8))}, nil, nil)
	current := map[string]*account{}
	expect := func(what string, eastChanges bool) {
		t.Helper()
		for _, cluster := range []string{"east", "west"} {
			f.update()
			a, err := f.plugin.ledger.account(f.node(cluster))
			require.NoError(t, err)
			before := current[cluster]
			if before != nil {
				assert.Equal(t, !eastChanges || cluster == "west", a == before, "%s after %s", cluster, what)
			}
			current[cluster] = a
		}
	}
	expect("the start", true)
	expect("nothing", false)

	replica := testhub.Replica("other", "east", 0, "h100", 2)
	f.addReplica(replica)
	expect("a replica came", true)
	assert.Equal(t, int64(6), current["east"].free["h100"])

	smaller := testhub.Replica("other", "east", 0, "h100", 1)
	require.NoError(t, f.replicas.GetIndexer().Update(smaller))
	expect("a replica changed", true)
	assert.Equal(t, int64(7), current["east"].free["h100"])

	f.deleteReplica(smaller)
	expect("a replica went", true)
	assert.Equal(t, int64(8), current["east"].free["h100"])

	pod := virtual.PodFor(testhub.Placement("chat", 0, testhub.On("east", 0, "h100")))
	require.NoError(t, f.cache.AddPod(f.logger, pod))
	expect("a placement came", true)
	require.NoError(t, f.cache.RemovePod(f.logger, pod))
	expect("a placement went", true)

	grown := testhub.Cluster("east", testhub.Pool("h100", 9))
	f.cache.UpdateNode(f.logger, virtual.NodeFor(east), virtual.NodeFor(grown))
	expect("the pools changed", true)
	assert.Equal(t, int64(9), current["east"].free["h100"])
	expect("nothing", false)
}

func TestAccountOfADeletedClusterIsForgotten(t *testing.T) {
	f := newFixture(t, h100(4), nil, nil)
	f.free("east", "h100")
	latest := func() *account { return f.plugin.ledger.cluster("east").latest.Load() }
	require.NotNil(t, latest())
	f.plugin.ledger.nodeDeleted(cache.DeletedFinalStateUnknown{Key: "east", Obj: f.node("east").Node()})
	assert.Nil(t, latest())
}

// Whoever hears of a replica's change finds it in the ledger already. So a placement that an event wakes is never tried
// on old numbers, after which nothing would wake it again.
func TestLedgerIsCurrentWhenHandlersHear(t *testing.T) {
	source := fcache.NewFakeControllerSource()
	informer := cache.NewSharedIndexInformer(source, &modelplane.ModelReplica{}, 0, cache.Indexers{})
	ledger, err := NewLedger(informer, placement.NewMatcher())
	require.NoError(t, err)
	f := newFixture(t, h100(4), nil, nil)
	node := f.node("east")

	heard := make(chan int64)
	free := func(any) {
		a, err := ledger.account(node)
		assert.NoError(t, err)
		heard <- a.free["h100"]
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: free, UpdateFunc: func(_, obj any) { free(obj) }, DeleteFunc: free,
	})
	require.NoError(t, err)

	replica := testhub.Replica("other", "east", 0, "h100", 3)
	source.Add(replica)
	go informer.Run(t.Context().Done())
	for range 50 {
		require.Equal(t, int64(1), <-heard, "added")
		source.Modify(testhub.Replica("other", "east", 0, "h100", 2))
		require.Equal(t, int64(2), <-heard, "modified")
		source.Delete(replica)
		require.Equal(t, int64(4), <-heard, "deleted")
		source.Add(replica)
	}
	<-heard
}

// The scheduler filters many clusters at a time, while replicas change and bindings end.
func TestConcurrentUse(t *testing.T) {
	f := newFixture(t, h100(64), placements{testhub.Placement("other", 0, testhub.On("east", 0, "h100"))}, nil)
	state, pod := f.cycle(testhub.Placement("chat", 0, testhub.Replaces("other-0-1")))
	node := f.node("east")

	var group sync.WaitGroup
	for worker := range int32(8) {
		group.Add(2)
		go func() {
			defer group.Done()
			for i := range int32(100) {
				replica := testhub.Replica("other", "east", worker*1000+i, "h100", 1)
				_ = f.replicas.GetIndexer().Add(replica)
				_ = f.replicas.GetIndexer().Delete(replica)
				f.plugin.Unreserve(t.Context(), state, pod, "east")
			}
		}()
		go func() {
			defer group.Done()
			for range 100 {
				assert.True(t, f.plugin.Filter(t.Context(), state, pod, node).IsSuccess())
				_ = Shortages(state)
			}
		}()
	}
	group.Wait()
	assert.Equal(t, int64(63), f.free("east", "h100"))
}

func TestLedgerNeedsAnInformerOfItsOwn(t *testing.T) {
	informer, err := testhub.ReplicaInformer()
	require.NoError(t, err)
	_, err = NewLedger(informer, placement.NewMatcher())
	require.NoError(t, err)
	_, err = NewLedger(informer, placement.NewMatcher())
	require.ErrorContains(t, err, "index ModelReplicas by cluster")
}

func TestIndexIgnoresForeignObjects(t *testing.T) {
	informer, err := testhub.ReplicaInformer()
	require.NoError(t, err)
	_, err = NewLedger(informer, placement.NewMatcher())
	require.NoError(t, err)
	assert.NotPanics(t, func() {
		_ = informer.GetIndexer().Add(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", UID: types.UID("c")}})
	})
}
