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
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/standin"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

const (
	// Half of ten clusters is drained in turn, so that drainRounds rounds are fifty drains.
	drainRounds   = 10
	drainClusters = 10
	// Every other one of the deployments is moved by make-before-break.
	drainDeployments = 6
	drainReplicas    = 3
	// drainPatience bounds each round: what is killed has to come back first.
	drainPatience = 2 * hubtest.Patience
)

// TestDrainsSurviveKills drains fifty clusters while manager, scheduler and API server are killed over and over. The end
// is what it must be without: each replica has moved once a round, to where fewest of its deployment are, then by name;
// none is lost, none was deleted twice. At no moment is a deployment short of more replicas than its policy allows.
func TestDrainsSurviveKills(t *testing.T) {
	w := newDrainWorld(t)
	stop := w.killAnything()
	end := w.drainRoundAfterRound()
	kills := stop()
	t.Logf("killed %v", kills)
	for _, victim := range []string{"manager", "scheduler", "API server"} {
		assert.Positive(t, kills[victim], "the test proves little about the %s", victim)
	}
	var want []string
	for i := range drainDeployments {
		for replica := range drainReplicas {
			// Back again after an even number of rounds, each of which has taken one attempt.
			want = append(want, fmt.Sprintf("d%d attempt %d on %s", i, drainRounds+1, drainCluster(replica)))
		}
	}
	assert.Equal(t, want, end)
}

func newDrainWorld(t *testing.T) *world {
	w := newIdleWorld(t)
	w.startStandIn(standin.Options{LoadTime: 20 * time.Millisecond})
	w.scheduler = hub.RunScheduler(t)
	w.manager = startManager(t, "")
	for i := range drainClusters {
		w.cluster(drainCluster(i), drainDeployments*drainReplicas)
	}
	careful := &evenkeel.DisruptionPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "careful"}}
	careful.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"careful": "true"}}
	careful.Spec.Strategy = evenkeel.StrategyMakeBeforeBreak
	require.NoError(t, hub.Client.Create(w.ctx, careful))
	for i := range drainDeployments {
		w.deploy(fmt.Sprintf("d%d", i), drainReplicas, func(d *modelplane.ModelDeployment) {
			d.Labels = map[string]string{"careful": fmt.Sprint(isCareful(i))}
		})
	}
	w.awaitRound("all replicas to serve", nil)
	return w
}

// cordon keeps replicas off a cluster.
var cordon = modelplane.Taint{Key: "acme.test/retire", Effect: modelplane.TaintEffectNoSchedule}

func isCareful(deployment int) bool { return deployment%2 == 0 }

func drainCluster(i int) string { return fmt.Sprintf("c%d", i) }

// drainRoundAfterRound drains the halves of the fleet in turn and gives the end state.
func (w *world) drainRoundAfterRound() []string {
	w.t.Helper()
	budgets := w.watchBudgets()
	for round := range drainRounds {
		var half []string
		for i := range drainClusters / 2 {
			half = append(half, drainCluster(i+round%2*drainClusters/2))
		}
		// As a person would: first nothing new there, or a replica would go from one to the next.
		w.taintAll(half, cordon)
		w.taintAll(half, retire)
		w.awaitRound(fmt.Sprintf("round %d to end", round), half)
		w.t.Logf("round %d has ended", round)
		w.taintAll(half)
	}
	assert.NoError(w.t, budgets())
	return w.endState()
}

// taintAll sets the taints of clusters, also while the API server is away now and then.
func (w *world) taintAll(clusters []string, list ...modelplane.Taint) {
	w.t.Helper()
	for _, name := range clusters {
		w.persist("taint "+name, func(ctx context.Context) error {
			c := &modelplane.InferenceCluster{}
			if err := hub.Client.Get(ctx, client.ObjectKey{Name: name}, c); err != nil {
				return err
			}
			c.Spec.Taints = list
			return hub.Client.Update(ctx, c)
		})
	}
}

// persist tries until it works.
func (w *world) persist(what string, try func(context.Context) error) {
	w.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(w.ctx, hubtest.Interval, drainPatience, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	require.NoError(w.t, err, "%s: %v", what, last)
}

// awaitRound waits until every deployment has exactly its replicas, all serve, none is on a drained cluster, and these
// say so.
func (w *world) awaitRound(what string, drained []string) {
	w.t.Helper()
	w.persist(what, func(ctx context.Context) error {
		list := &modelplane.ModelReplicaList{}
		if err := hub.Client.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		if len(list.Items) != drainDeployments*drainReplicas {
			return fmt.Errorf("%d replicas", len(list.Items))
		}
		for i := range list.Items {
			if r := &list.Items[i]; !servesNow(r) || slices.Contains(drained, r.Spec.ClusterName) {
				return fmt.Errorf("replica %s on %s", r.Name, r.Spec.ClusterName)
			}
		}
		for _, name := range drained {
			c := &modelplane.InferenceCluster{}
			if err := hub.Client.Get(ctx, client.ObjectKey{Name: name}, c); err != nil {
				return err
			}
			if !meta.IsStatusConditionTrue(c.Status.Conditions, evenkeel.ConditionDrained) {
				return fmt.Errorf("%s does not call itself drained: %s", name, conditions(c.Status.Conditions))
			}
		}
		return nil
	})
}

func servesNow(r *modelplane.ModelReplica) bool {
	return r.DeletionTimestamp == nil && meta.IsStatusConditionTrue(r.Status.Conditions, modelplane.ConditionReady)
}

// watchBudgets looks again and again how many replicas of each deployment serve, and gives the first that had too few.
func (w *world) watchBudgets() (result func() error) {
	ctx, cancel := context.WithCancel(w.ctx)
	var found error
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil && found == nil {
			list := &modelplane.ModelReplicaList{}
			if err := hub.Client.List(ctx, list, client.InNamespace(w.namespace)); err == nil {
				found = checkBudgets(list.Items)
			}
			waitFor(ctx, hubtest.Interval)
		}
	})
	return func() error {
		cancel()
		done.Wait()
		return found
	}
}

func checkBudgets(replicas []modelplane.ModelReplica) error {
	serving := map[string]int{}
	for i := range replicas {
		if servesNow(&replicas[i]) {
			serving[replicas[i].Labels[modelplane.LabelDeployment]]++
		}
	}
	for i := range drainDeployments {
		fewest := drainReplicas
		if !isCareful(i) {
			fewest-- // one at a time
		}
		if name := fmt.Sprintf("d%d", i); serving[name] < fewest {
			return fmt.Errorf("only %d replicas of %s served, must be %d", serving[name], name, fewest)
		}
	}
	return nil
}

// endState tells for each wanted replica where it is and how many attempts that took: one more than there were rounds,
// unless something was done twice.
func (w *world) endState() []string {
	w.t.Helper()
	var lines []string
	w.persist("read the end state", func(ctx context.Context) error {
		lines = nil
		list := &evenkeel.ReplicaPlacementList{}
		if err := hub.Client.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			p := &list.Items[i]
			if meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionMoved) {
				continue
			}
			if p.Status.Assignment == nil {
				return fmt.Errorf("placement %s is left over", p.Name)
			}
			lines = append(lines, fmt.Sprintf("%s attempt %d on %s", p.Spec.DeploymentName, p.Spec.Attempt, p.Status.Assignment.ClusterName))
		}
		if len(lines) != drainDeployments*drainReplicas {
			return fmt.Errorf("%d placements", len(lines))
		}
		return nil
	})
	slices.Sort(lines)
	return lines
}

// killAnything kills manager, scheduler or API server every now and then and starts it again at once, until it is
// stopped, and tells how often it has killed each.
func (w *world) killAnything() (stop func() map[string]int) {
	random := rand.New(rand.NewPCG(3, 4))
	ctx, cancel := context.WithCancel(w.ctx)
	kills := map[string]int{}
	var done sync.WaitGroup
	done.Go(func() {
		for round := 0; ctx.Err() == nil; round++ {
			waitFor(ctx, time.Duration(1000+random.IntN(2000))*time.Millisecond)
			if ctx.Err() != nil {
				return
			}
			victim, kill := "manager", w.manager.Again
			switch {
			case round%12 == 1 && kills["API server"] < 2:
				// Seldom: the garbage collector's watches wait longer after each time, and deletions wait for it.
				victim, kill = "API server", w.killAPIServer
			case random.IntN(3) == 0:
				victim, kill = "scheduler", w.scheduler.Again
			}
			if err := kill(ctx); err != nil {
				w.t.Errorf("start the %s again: %v", victim, err)
				return
			}
			kills[victim]++
		}
	})
	return func() map[string]int {
		cancel()
		done.Wait()
		return kills
	}
}

// killAPIServer brings it back even if the test is over meanwhile: others need it.
func (w *world) killAPIServer(context.Context) error {
	if err := hub.Kill(controlplane.APIServer); err != nil {
		return err
	}
	return hub.Restart(context.WithoutCancel(w.ctx), controlplane.APIServer)
}
