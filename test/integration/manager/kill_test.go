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

package manager

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/standin"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

const (
	killDeployments = 40
	killReplicas    = 5
	// killPatience bounds each half: what is killed has to come back first, over and over.
	killPatience = 2 * hubtest.Patience
)

// TestKills places 200 replicas and drains a cluster while manager and scheduler are killed over and over: no replica is
// lost, none is placed twice, and no pool is charged more nodes than it has at any moment.
func TestKills(t *testing.T) {
	w := newIdleWorld(t)
	w.startStandIn(standin.Options{})
	w.scheduler = hub.RunScheduler(t)
	w.manager = startManager(t, "")
	// West and north together have room for what east has to give.
	for _, name := range []string{"east", "north", "west"} {
		w.cluster(name, 120)
	}
	stop := w.killAgainAndAgain()
	charges := w.watchCharges()
	for i := range killDeployments {
		w.deploy(fmt.Sprintf("d%d", i), killReplicas)
	}
	w.eventuallyWithin(killPatience, w.allServe)
	w.setTaints("east", retire)
	w.eventuallyWithin(killPatience, func() string {
		for _, r := range w.replicaList() {
			if r.Spec.ClusterName == "east" {
				return "replicas are left on east"
			}
		}
		return w.allServe()
	})
	kills := stop()
	t.Logf("killed %d times", kills)
	assert.Greater(t, kills, 4, "the test proves little")
	w.eventually(w.allServe)
	assert.NoError(t, charges())
	w.checkOneReplicaAPlacement()
}

// killAgainAndAgain kills manager or scheduler every now and then, when it has been at work for a while, and starts it
// again at once, until it is stopped.
func (w *world) killAgainAndAgain() (stop func() int) {
	random := rand.New(rand.NewPCG(1, 2))
	ctx, cancel := context.WithCancel(w.ctx)
	kills := 0
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			waitFor(ctx, time.Duration(500+random.IntN(3000))*time.Millisecond)
			if ctx.Err() != nil {
				return
			}
			victim := w.manager
			if random.IntN(3) == 0 {
				victim = w.scheduler
			}
			if err := victim.Again(ctx); err != nil {
				w.t.Errorf("start again: %v", err)
				return
			}
			kills++
		}
	})
	return func() int {
		cancel()
		done.Wait()
		return kills
	}
}

// watchCharges looks at all replicas, terminating ones too, again and again, and gives the first overcommitted pool.
func (w *world) watchCharges() (result func() error) {
	ctx, cancel := context.WithCancel(w.ctx)
	var found error
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil && found == nil {
			list := &modelplane.ModelReplicaList{}
			if err := hub.Client.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
				continue
			}
			charged := map[string]int64{}
			for i := range list.Items {
				for pool, n := range placement.ReplicaCost(&list.Items[i].Spec) {
					charged[list.Items[i].Spec.ClusterName+"/"+pool] += n
				}
			}
			for pool, n := range charged {
				if n > 120 {
					found = fmt.Errorf("%d nodes of %s are charged, of 120", n, pool)
				}
			}
			waitFor(ctx, 100*time.Millisecond)
		}
	})
	return func() error {
		cancel()
		done.Wait()
		return found
	}
}

func (w *world) replicaList() []modelplane.ModelReplica {
	w.t.Helper()
	list := &modelplane.ModelReplicaList{}
	require.NoError(w.t, hub.Client.List(w.ctx, list, client.InNamespace(w.namespace)))
	return list.Items
}

// allServe says which deployment does not have exactly the replicas it wants, all ready and with an endpoint.
func (w *world) allServe() string {
	ready := map[string]int{}
	for _, r := range w.replicaList() {
		if r.DeletionTimestamp != nil || !meta.IsStatusConditionTrue(r.Status.Conditions, modelplane.ConditionReady) {
			return "replica " + r.Name + " does not serve"
		}
		ready[r.Labels[modelplane.LabelDeployment]]++
	}
	for i := range killDeployments {
		name := fmt.Sprintf("d%d", i)
		if ready[name] != killReplicas {
			return fmt.Sprintf("%s has %d replicas", name, ready[name])
		}
	}
	endpoints := &modelplane.ModelEndpointList{}
	require.NoError(w.t, hub.Client.List(w.ctx, endpoints, client.InNamespace(w.namespace)))
	if len(endpoints.Items) != killDeployments*killReplicas {
		return fmt.Sprintf("%d endpoints", len(endpoints.Items))
	}
	return ""
}

func (w *world) checkOneReplicaAPlacement() {
	w.t.Helper()
	owner := map[string]string{}
	for _, p := range w.placements() {
		if meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionMoved) || p.Status.Assignment == nil {
			continue
		}
		name := p.Spec.Adopts
		if name == "" {
			name = placement.ReplicaName(p.Spec.DeploymentName, p.Status.Assignment.ClusterName, p.Status.Assignment.Index)
		}
		assert.Empty(w.t, owner[name], "placements %s and %s have the same replica", owner[name], p.Name)
		owner[name] = p.Name
	}
	assert.Len(w.t, owner, killDeployments*killReplicas)
}
