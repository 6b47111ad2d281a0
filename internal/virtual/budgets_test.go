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

package virtual

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func budgetPolicy(settings evenkeel.DisruptionSettings) *evenkeel.DisruptionPolicy {
	return &evenkeel.DisruptionPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "careful"},
		Spec: evenkeel.DisruptionPolicySpec{
			Selector:           &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}},
			DisruptionSettings: settings,
		},
	}
}

// budgetPod is a replica of chat on east.
func budgetPod(slot int, change func(*evenkeel.ReplicaPlacement)) *corev1.Pod {
	p := pendingPlacement(fmt.Sprintf("chat-%d-1", slot))
	assignment := toEast()
	p.Status.Assignment = &assignment
	p.Status.Conditions = []metav1.Condition{{Type: evenkeel.ConditionReady, Status: metav1.ConditionTrue, Reason: evenkeel.ReasonReplicaReady}}
	if change != nil {
		change(p)
	}
	return PodFor(p)
}

func atMost(n int) evenkeel.DisruptionSettings {
	return evenkeel.DisruptionSettings{MaxUnavailable: ptr.To(intstr.FromInt(n))}
}

func TestBudgets(t *testing.T) {
	preempted := func(p *evenkeel.ReplicaPlacement) { p.Status.PreemptedBy = &evenkeel.Preemptor{UID: "urgent"} }
	leaving := func(p *evenkeel.ReplicaPlacement) {
		p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{Type: evenkeel.ConditionDisruptionTarget, Status: metav1.ConditionTrue, Reason: evenkeel.CauseTaint})
	}
	notReady := func(p *evenkeel.ReplicaPlacement) { p.Status.Conditions[0].Status = metav1.ConditionFalse }
	notRouted := func(p *evenkeel.ReplicaPlacement) {
		p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{Type: evenkeel.ConditionServing, Status: metav1.ConditionFalse, Reason: evenkeel.ReasonNotRouted})
	}
	for name, tc := range map[string]struct {
		policy evenkeel.DisruptionSettings
		first  func(*evenkeel.ReplicaPlacement)
		tier   string
		want   []int32
	}{
		"all serve":                       {policy: atMost(1), want: []int32{1}},
		"two may go":                      {policy: atMost(2), want: []int32{2}},
		"none may go":                     {policy: atMost(0), want: []int32{0}},
		"a share of them":                 {policy: evenkeel.DisruptionSettings{MaxUnavailable: ptr.To(intstr.FromString("60%"))}, want: []int32{2}},
		"one is preempted":                {policy: atMost(1), first: preempted, want: []int32{0}},
		"one leaves":                      {policy: atMost(1), first: leaving, want: []int32{0}},
		"one is not ready":                {policy: atMost(1), first: notReady, want: []int32{0}},
		"no route names one":              {policy: atMost(1), first: notRouted, want: []int32{0}},
		"moves are paused":                {policy: evenkeel.DisruptionSettings{MaxUnavailable: ptr.To(intstr.FromInt(2)), Paused: ptr.To(true)}, want: []int32{0}},
		"another serves first":            {policy: evenkeel.DisruptionSettings{MaxUnavailable: ptr.To(intstr.FromInt(0)), Strategy: evenkeel.StrategyMakeBeforeBreak}, want: []int32{1}},
		"the policy is not about it":      {policy: atMost(1), tier: "bronze"},
		"one in another state altogether": {policy: atMost(3), first: preempted, want: []int32{2}},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := &modelplane.ModelDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "chat", Labels: map[string]string{"tier": "gold"}}}
			deployment.Spec.Replicas = 3
			if tc.tier != "" {
				deployment.Labels["tier"] = tc.tier
			}
			pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
			for slot := range 3 {
				change := tc.first
				if slot > 0 {
					change = nil
				}
				require.NoError(t, pods.Add(budgetPod(slot, change)))
			}
			b := &Budgets{pods: listersv1.NewPodLister(pods), deployments: genericLister(t, deployment), policies: genericLister(t, budgetPolicy(tc.policy))}
			budgets, err := b.List(labels.Everything())
			require.NoError(t, err)
			var allowed []int32
			for _, budget := range budgets {
				allowed = append(allowed, budget.Status.DisruptionsAllowed)
				selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
				require.NoError(t, err)
				assert.True(t, selector.Matches(labels.Set(budgetPod(0, nil).Labels)))
			}
			assert.Equal(t, tc.want, allowed)
			named, err := b.PodDisruptionBudgets("team-a").List(labels.Everything())
			require.NoError(t, err)
			assert.Len(t, named, len(tc.want))
			of, err := b.GetPodPodDisruptionBudgets(budgetPod(0, nil))
			if len(tc.want) > 0 {
				require.NoError(t, err)
			}
			assert.Len(t, of, len(tc.want))
		})
	}
}

// A budget follows the Pods at once: nobody has to notice that it was spent.
func TestBudgetsAreNeverStale(t *testing.T) {
	deployment := &modelplane.ModelDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "chat", Labels: map[string]string{"tier": "gold"}}}
	deployment.Spec.Replicas = 1
	pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	require.NoError(t, pods.Add(budgetPod(0, nil)))
	b := &Budgets{pods: listersv1.NewPodLister(pods), deployments: genericLister(t, deployment), policies: genericLister(t, budgetPolicy(atMost(1)))}
	allowed := func() int32 {
		budgets, err := b.List(labels.Everything())
		require.NoError(t, err)
		require.Len(t, budgets, 1)
		return budgets[0].Status.DisruptionsAllowed
	}
	assert.EqualValues(t, 1, allowed())
	require.NoError(t, pods.Update(budgetPod(0, func(p *evenkeel.ReplicaPlacement) { p.Status.PreemptedBy = &evenkeel.Preemptor{UID: "urgent"} })))
	assert.EqualValues(t, 0, allowed())
}

func genericLister(t *testing.T, objects ...runtime.Object) cache.GenericLister {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, object := range objects {
		require.NoError(t, indexer.Add(object))
	}
	return cache.NewGenericLister(indexer, PoliciesResource.GroupResource())
}
