//go:build integration

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

package scheduler

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

// inParallel runs do for 0 to n-1, some at a time.
func inParallel(n int, do func(int)) {
	var group sync.WaitGroup
	work := make(chan int)
	for range 8 {
		group.Go(func() {
			for i := range work {
				do(i)
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	group.Wait()
}

// assignments lists the placements that have a cluster.
func (h *hub) assignments() map[string]*evenkeel.Assignment {
	h.t.Helper()
	list := &evenkeel.ReplicaPlacementList{}
	require.NoError(h.t, h.List(h.t.Context(), list, client.InNamespace(namespace)))
	assigned := map[string]*evenkeel.Assignment{}
	for i := range list.Items {
		if a := list.Items[i].Status.Assignment; a != nil {
			assigned[list.Items[i].Name] = a
		}
	}
	return assigned
}

func TestThousandClusters(t *testing.T) {
	const clusters, placements = 1000, 2000
	h := newHub(t, controlplane.Options{AuditPolicy: controlplane.WritesAuditPolicy()})
	inParallel(clusters, func(i int) { h.create(cluster(fmt.Sprintf("cluster-%04d", i), pool("h100", 4), pool("l4", 8))) })
	sched := h.startScheduler("--v=0")
	inParallel(placements, func(i int) { h.create(placement(fmt.Sprintf("chat-%03d", i/10), int32(i%10))) })
	h.eventuallyEach(time.Second, func() error {
		assigned := len(h.assignments())
		return unless(assigned == placements, fmt.Sprintf("%d of %d placements have a cluster", assigned, placements))
	})

	load := map[string]int{} // of a deployment on a cluster
	for name, a := range h.assignments() {
		load[name[:8]+"@"+a.ClusterName]++
	}
	assert.Len(t, load, placements, "each replica of a deployment is alone on its cluster")
	h.eventuallyEach(time.Second, func() error {
		writes := h.schedulerWrites()
		return unless(writes["create events"] == placements, fmt.Sprintf("writes so far: %v", writes))
	})
	assert.Equal(t, map[string]int{"update replicaplacements/status": placements, "create events": placements}, h.schedulerWrites(),
		"one write and one event a placement")
	rss := sched.peakRSS()
	t.Logf("peak RSS %d MiB", rss)
	assert.Less(t, rss, 300)
}

// Killed at any moment and started again, the scheduler neither loses a placement nor gives a node away twice.
func TestKilledAtAnyMoment(t *testing.T) {
	const clusters, placements, nodes = 20, 200, 5
	h := newHub(t, controlplane.Options{})
	inParallel(clusters, func(i int) { h.create(cluster(fmt.Sprintf("cluster-%02d", i), pool("a", nodes), pool("b", nodes))) })
	inParallel(placements, func(i int) { h.create(placement(fmt.Sprintf("chat-%02d", i/10), int32(i%10))) })

	kills := 0
	var first map[string]*evenkeel.Assignment
	for done := 0; done < placements; done = len(h.assignments()) {
		// Slowly, so that it is killed at work.
		sched := h.startScheduler("--v=1", "--kube-api-qps=40", "--kube-api-burst=4")
		// It lives until it has placed some more, a different number each time.
		more := done + 1 + rand.IntN(30)
		h.eventually(func() error {
			now := len(h.assignments())
			return unless(now >= min(more, placements), fmt.Sprintf("%d of %d placements have a cluster", now, placements))
		})
		sched.Kill()
		if first == nil {
			first = h.assignments()
		}
		kills++
	}
	t.Logf("killed %d times", kills)
	require.Greater(t, kills, 3)

	// All nodes are taken, each by one placement only.
	taken, indexes := map[string]int{}, map[string]string{}
	assigned := h.assignments()
	for name, a := range assigned {
		taken[a.ClusterName+"/"+a.Engines[0].Members[0].NodePoolName]++
		replica := fmt.Sprintf("%s@%s/%d", name[:7], a.ClusterName, a.Index)
		assert.Empty(t, indexes[replica], "%s and %s are both %s", name, indexes[replica], replica)
		indexes[replica] = name
	}
	for pool, count := range taken {
		assert.LessOrEqual(t, count, nodes, pool)
	}
	for name, a := range first {
		assert.Equal(t, a, assigned[name], "an assignment stays")
	}
	assert.Len(t, assigned, placements)
}
