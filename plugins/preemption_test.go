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

package plugins

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	policylisters "k8s.io/client-go/listers/policy/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	inTree "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/internal/testhub"
)

const preempts = `
  pluginConfig:
  - name: Preemption
    args:
      mode: Preempt
      maxNamedClusters: 1
`

// fleet is a hub on which one placement, with priority 100 and one node unless said otherwise, fits nowhere. Every
// assigned placement has its ModelReplica, which holds its nodes for as long as it exists.
type fleet struct {
	clusters  []*modelplane.InferenceCluster
	running   []*evenkeel.ReplicaPlacement
	nominated []*evenkeel.ReplicaPlacement
	// allowed is what the budgets of deployments allow; one that is not there has none.
	allowed map[string]int32
	urgent  []testhub.Option
}

func priority(n int32) testhub.Option {
	return func(p *evenkeel.ReplicaPlacement) { p.Spec.Priority = ptr.To(n) }
}

func nodes(n int32) testhub.Option {
	return testhub.Engines(testhub.Engine("main", n, "h100"))
}

func aged(age time.Duration) testhub.Option {
	return func(p *evenkeel.ReplicaPlacement) {
		for i := range p.Status.Conditions {
			p.Status.Conditions[i].LastTransitionTime = metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(-age))
		}
	}
}

func nominatedTo(cluster string) testhub.Option {
	return func(p *evenkeel.ReplicaPlacement) { p.Status.NominatedCluster = cluster }
}

func victimOf(name string) testhub.Option {
	return func(p *evenkeel.ReplicaPlacement) {
		p.Status.PreemptedBy = &evenkeel.Preemptor{Namespace: testhub.Namespace, Name: name, UID: types.UID(testhub.Namespace + "/" + name)}
	}
}

// on is slot 0 of a deployment with one node of a cluster, of priority 10.
func on(deployment, cluster string, options ...testhub.Option) *evenkeel.ReplicaPlacement {
	return testhub.Placement(deployment, 0, append([]testhub.Option{testhub.On(cluster, 0, "h100"), priority(10)}, options...)...)
}

// outcome is what came of one attempt.
type outcome struct {
	cluster string
	victims []string
	message string
}

// attempt runs the placement through a cycle as the scheduler does when no cluster fits.
func (f fleet) attempt(t *testing.T) outcome {
	t.Helper()
	metrics.Register()
	urgent := virtual.PodFor(testhub.Placement("urgent", 0, append([]testhub.Option{priority(100)}, f.urgent...)...))
	pods := testhub.Pods(f.running...)
	var replicas []*modelplane.ModelReplica
	for _, p := range f.running {
		engine := p.Spec.Engines[0]
		replicas = append(replicas, testhub.Replica(p.Spec.DeploymentName, p.Status.Assignment.ClusterName, p.Status.Assignment.Index, "h100", engine.Copies))
	}
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, pod := range append(slices.Clone(pods), urgent) {
		require.NoError(t, client.Tracker().Add(pod.DeepCopy()))
		require.NoError(t, factory.Core().V1().Pods().Informer().GetIndexer().Add(pod))
	}
	nominator := &testhub.Nominator{}
	for _, p := range f.nominated {
		require.NoError(t, nominator.Nominate(virtual.PodFor(p)))
	}
	informer, err := testhub.ReplicaInformer(replicas...)
	require.NoError(t, err)
	registry := Registry(Dependencies{Replicas: informer, Writer: &writer{}, Budgets: f.budgets(t)})
	require.NoError(t, registry.Merge(inTree.NewInTreeRegistry()))
	snapshot := schedulercache.NewSnapshot(pods, testhub.Nodes(f.clusters...))
	p := decode(t, profile(preempts))
	scheduler, err := frameworkruntime.NewFramework(t.Context(), registry, &p,
		frameworkruntime.WithSnapshotSharedLister(snapshot), frameworkruntime.WithClientSet(client),
		frameworkruntime.WithPodNominator(nominator), frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}), frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()))
	require.NoError(t, err)

	state := framework.NewCycleState()
	_, status, _ := scheduler.RunPreFilterPlugins(t.Context(), state, urgent)
	require.True(t, status.IsSuccess(), status.Message())
	statuses := framework.NewDefaultNodeToStatus()
	all, err := snapshot.List()
	require.NoError(t, err)
	for _, nodeInfo := range all {
		status := scheduler.RunFilterPluginsWithNominatedPods(t.Context(), state, urgent, nodeInfo)
		require.False(t, status.IsSuccess(), "it fits on %s", nodeInfo.Node().Name)
		statuses.Set(nodeInfo.Node().Name, status)
	}
	result, status := scheduler.RunPostFilterPlugins(t.Context(), state, urgent, statuses)
	out := outcome{message: status.Message(), victims: deleted(client)}
	if status.IsSuccess() {
		out.cluster = result.NominatedNodeName
	} else {
		require.Equal(t, fwk.Unschedulable, status.Code(), status.Message())
	}
	return out
}

func (f fleet) budgets(t *testing.T) func() policylisters.PodDisruptionBudgetLister {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for deployment, allowed := range f.allowed {
		require.NoError(t, indexer.Add(&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: testhub.Namespace, Name: deployment},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{virtual.LabelDeployment: deployment}}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
		}))
	}
	return func() policylisters.PodDisruptionBudgetLister {
		return policylisters.NewPodDisruptionBudgetLister(indexer)
	}
}

func deleted(client *fake.Clientset) []string {
	var names []string
	for _, action := range client.Actions() {
		if deletion, ok := action.(clienttesting.DeleteAction); ok && action.Matches("delete", "pods") {
			names = append(names, deletion.GetName())
		}
	}
	slices.Sort(names)
	return names
}

func cluster(name string, size int64) *modelplane.InferenceCluster {
	return testhub.Cluster(name, testhub.Pool("h100", size))
}

func notReady(c *modelplane.InferenceCluster) *modelplane.InferenceCluster {
	c.Status.Conditions[0].Status = metav1.ConditionFalse
	return c
}

// Whom it preempts, and that the answer never depends on the order of anything: kubernetes/kubernetes#92475.
func TestVictims(t *testing.T) {
	tests := map[string]struct {
		fleet
		want outcome
	}{
		"the lowest priority of a cluster": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 2)}, running: []*evenkeel.ReplicaPlacement{on("a", "east", priority(20)), on("b", "east")}},
			want:  outcome{cluster: "east", victims: []string{"b-0-1"}},
		},
		"of equals the youngest": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 3)}, running: []*evenkeel.ReplicaPlacement{on("a", "east", aged(2*time.Hour)), on("b", "east", aged(time.Hour)), on("c", "east", aged(3*time.Hour))}},
			want:  outcome{cluster: "east", victims: []string{"b-0-1"}},
		},
		"of equals of one age the last name": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 3)}, running: []*evenkeel.ReplicaPlacement{on("a", "east"), on("b", "east"), on("c", "east")}},
			want:  outcome{cluster: "east", victims: []string{"c-0-1"}},
		},
		"no more than are needed": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 4)}, urgent: []testhub.Option{nodes(2)},
				running: []*evenkeel.ReplicaPlacement{on("a", "east"), on("b", "east"), on("c", "east"), on("d", "east")}},
			want: outcome{cluster: "east", victims: []string{"c-0-1", "d-0-1"}},
		},
		"the cluster with the lowest victims": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 1), cluster("west", 1)}, running: []*evenkeel.ReplicaPlacement{on("a", "east", priority(20)), on("b", "west")}},
			want:  outcome{cluster: "west", victims: []string{"b-0-1"}},
		},
		"the cluster with the fewest victims": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 2), cluster("west", 2)}, urgent: []testhub.Option{nodes(2)},
				running: []*evenkeel.ReplicaPlacement{on("a", "east"), on("b", "east"), on("c", "west", nodes(2), testhub.On("west", 0, "h100"))}},
			want: outcome{cluster: "west", victims: []string{"c-0-1"}},
		},
		"the cluster with the lowest victims together": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 2), cluster("west", 2)}, urgent: []testhub.Option{nodes(2)},
				running: []*evenkeel.ReplicaPlacement{on("a", "east", priority(50)), on("b", "east", priority(50)), on("c", "west", priority(50)), on("d", "west")}},
			want: outcome{cluster: "west", victims: []string{"c-0-1", "d-0-1"}},
		},
		"one victim more is never better, however low": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 2), cluster("west", 2)}, urgent: []testhub.Option{nodes(2)},
				running: []*evenkeel.ReplicaPlacement{on("a", "east", priority(50)), on("b", "east", priority(-10)), on("c", "west", nodes(2), testhub.On("west", 0, "h100"), priority(50))}},
			want: outcome{cluster: "west", victims: []string{"c-0-1"}},
		},
		"another cluster, if its own can take nobody any more": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{notReady(cluster("east", 1)), cluster("west", 1)}, urgent: []testhub.Option{nominatedTo("east")},
				running: []*evenkeel.ReplicaPlacement{on("a", "east", victimOf("urgent-0-1")), on("b", "west")}},
			want: outcome{cluster: "west", victims: []string{"b-0-1"}},
		},
		"it does not wait for victims of others": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 2)}, urgent: []testhub.Option{nominatedTo("east")},
				running: []*evenkeel.ReplicaPlacement{on("a", "east", priority(20)), on("b", "east", victimOf("gone-0-1"))}},
			want: outcome{cluster: "east"},
		},
		"the cluster with the youngest": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 1), cluster("west", 1)}, running: []*evenkeel.ReplicaPlacement{on("a", "east", aged(2*time.Hour)), on("b", "west", aged(time.Hour))}},
			want:  outcome{cluster: "west", victims: []string{"b-0-1"}},
		},
		"of equal clusters the first name": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 1), cluster("north", 1), cluster("west", 1)},
				running: []*evenkeel.ReplicaPlacement{on("a", "east"), on("b", "north"), on("c", "west")}},
			want: outcome{cluster: "east", victims: []string{"a-0-1"}},
		},
		// kubernetes/kubernetes#129136: budgets weigh more than priorities, whatever is looked at first.
		"a budget is worth more than a priority": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 1), cluster("west", 1)}, allowed: map[string]int32{"a": 0, "b": 1},
				running: []*evenkeel.ReplicaPlacement{on("a", "east", priority(1)), on("b", "west", priority(99))}},
			want: outcome{cluster: "west", victims: []string{"b-0-1"}},
		},
		"a budget is spent once": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 2), cluster("west", 2)}, urgent: []testhub.Option{nodes(2)}, allowed: map[string]int32{"a": 1, "b": 1, "c": 1},
				running: []*evenkeel.ReplicaPlacement{on("a", "east"), testhub.Placement("a", 1, testhub.On("east", 1, "h100"), priority(10)), on("b", "west", priority(50)), on("c", "west", priority(50))}},
			want: outcome{cluster: "west", victims: []string{"b-0-1", "c-0-1"}},
		},
		"a budget that has to be violated is": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 1)}, allowed: map[string]int32{"a": 0}, running: []*evenkeel.ReplicaPlacement{on("a", "east")}},
			want:  outcome{cluster: "east", victims: []string{"a-0-1"}},
		},
		"one that is said to leave is not told again": {
			fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 1)}, running: []*evenkeel.ReplicaPlacement{on("a", "east", victimOf("gone-0-1"))}},
			want:  outcome{cluster: "east"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				rand.Shuffle(len(tc.running), func(i, j int) { tc.running[i], tc.running[j] = tc.running[j], tc.running[i] })
				rand.Shuffle(len(tc.clusters), func(i, j int) { tc.clusters[i], tc.clusters[j] = tc.clusters[j], tc.clusters[i] })
				got := tc.attempt(t)
				assert.Contains(t, got.message, fmt.Sprintf("Making room on InferenceCluster %q.", tc.want.cluster))
				got.message = ""
				require.Equal(t, tc.want, got)
			}
		})
	}
}

// Who preempts nobody, and what it is told.
func TestNoVictims(t *testing.T) {
	east := []*modelplane.InferenceCluster{cluster("east", 1)}
	const lacks = "Best: east/h100 needs 1 node, has 0 free (engine main)."
	tests := map[string]struct {
		fleet
		want string
	}{
		"the same priority":  {fleet: fleet{clusters: east, running: []*evenkeel.ReplicaPlacement{on("a", "east", priority(100))}}, want: "Preemption does not help"},
		"a higher priority":  {fleet: fleet{clusters: east, running: []*evenkeel.ReplicaPlacement{on("a", "east", priority(101))}}, want: "Preemption does not help"},
		"no priority at all": {fleet: fleet{clusters: east, running: []*evenkeel.ReplicaPlacement{on("a", "east")}, urgent: []testhub.Option{func(p *evenkeel.ReplicaPlacement) { p.Spec.Priority = nil }}}, want: "Preemption does not help"},
		"too little room":    {fleet: fleet{clusters: []*modelplane.InferenceCluster{cluster("east", 2)}, urgent: []testhub.Option{nodes(2)}, running: []*evenkeel.ReplicaPlacement{on("a", "east"), on("b", "east", priority(100))}}, want: "Preemption does not help"},
		"a policy of never":  {fleet: fleet{clusters: east, running: []*evenkeel.ReplicaPlacement{on("a", "east")}, urgent: []testhub.Option{func(p *evenkeel.ReplicaPlacement) { p.Spec.PreemptionPolicy = ptr.To(v1.PreemptNever) }}}, want: "It may not preempt (preemptionPolicy Never)."},
		"victims yet to leave": {
			fleet: fleet{clusters: east, running: []*evenkeel.ReplicaPlacement{on("a", "east", victimOf("urgent-0-1"))}, urgent: []testhub.Option{nominatedTo("east")}},
			want:  `Waiting for 1 replica(s) to leave InferenceCluster "east".`,
		},
		// Two that wait must not count on the same victim.
		"a victim of somebody else who waits": {
			fleet: fleet{clusters: east, running: []*evenkeel.ReplicaPlacement{on("a", "east", victimOf("first-0-1"))},
				nominated: []*evenkeel.ReplicaPlacement{testhub.Placement("first", 0, priority(100), nominatedTo("east"))}},
			want: "Preemption does not help",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := tc.attempt(t)
			assert.Empty(t, got.victims)
			assert.Empty(t, got.cluster)
			assert.Contains(t, got.message, tc.want)
			if name != "too little room" && name != "a victim of somebody else who waits" {
				assert.Contains(t, got.message, lacks)
			}
		})
	}
}
