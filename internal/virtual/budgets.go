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

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	listersv1 "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// Budgets shows what DisruptionPolicies allow as PodDisruptionBudgets, one for each deployment that a policy selects. They
// are made anew whenever somebody asks, of the Pods as they are at that moment: a budget is never behind the victims that
// it was spent on.
type Budgets struct {
	pods        listersv1.PodLister
	deployments cache.GenericLister
	policies    cache.GenericLister
}

var _ policylisters.PodDisruptionBudgetLister = &Budgets{}

// NewBudgets makes Budgets over informers of the factory, which it asks for: call it before the factory starts. The
// scheduler must be allowed to list and watch ModelDeployments and DisruptionPolicies.
func NewBudgets(pods listersv1.PodLister, factory dynamicinformer.DynamicSharedInformerFactory) *Budgets {
	return &Budgets{
		pods:        pods,
		deployments: factory.ForResource(DeploymentsResource).Lister(),
		policies:    factory.ForResource(PoliciesResource).Lister(),
	}
}

// List implements policylisters.PodDisruptionBudgetLister.
func (b *Budgets) List(selector labels.Selector) ([]*policyv1.PodDisruptionBudget, error) {
	lister, err := b.now()
	if err != nil {
		return nil, err
	}
	return lister.List(selector)
}

// PodDisruptionBudgets implements policylisters.PodDisruptionBudgetLister. Where the budgets cannot be told it gives none.
func (b *Budgets) PodDisruptionBudgets(namespace string) policylisters.PodDisruptionBudgetNamespaceLister {
	lister, err := b.now()
	if err != nil {
		lister = listerOfBudgets(newBudgetIndexer())
	}
	return lister.PodDisruptionBudgets(namespace)
}

// GetPodPodDisruptionBudgets implements policylisters.PodDisruptionBudgetLister.
func (b *Budgets) GetPodPodDisruptionBudgets(pod *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	lister, err := b.now()
	if err != nil {
		return nil, err
	}
	return lister.GetPodPodDisruptionBudgets(pod)
}

func newBudgetIndexer() cache.Indexer {
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

func listerOfBudgets(indexer cache.Indexer) policylisters.PodDisruptionBudgetLister {
	return policylisters.NewPodDisruptionBudgetLister(indexer)
}

// now counts.
func (b *Budgets) now() (policylisters.PodDisruptionBudgetLister, error) {
	policies, err := b.policiesByNamespace()
	if err != nil {
		return nil, err
	}
	healthy, err := b.healthy()
	if err != nil {
		return nil, err
	}
	deployments, err := b.deployments.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list ModelDeployments: %w", err)
	}
	indexer := newBudgetIndexer()
	for _, object := range deployments {
		deployment, ok := object.(*modelplane.ModelDeployment)
		if !ok || len(policies[deployment.Namespace]) == 0 {
			continue
		}
		// A policy that cannot be read does not count; the manager says so on the deployment.
		policy, _ := replicas.PolicyFor(deployment, policies[deployment.Namespace], nil)
		if len(policy.Names) == 0 {
			continue
		}
		serving := healthy[types.NamespacedName{Namespace: deployment.Namespace, Name: deployment.Name}]
		if err := indexer.Add(budgetFor(deployment, policy, serving)); err != nil {
			return nil, err
		}
	}
	return listerOfBudgets(indexer), nil
}

// budgetFor counts as a PodDisruptionBudget with maxUnavailable does: what is healthy less what must be.
func budgetFor(deployment *modelplane.ModelDeployment, policy replicas.Policy, healthy int) *policyv1.PodDisruptionBudget {
	allowed := healthy - (int(deployment.Spec.Replicas) - policy.AtOnce())
	if policy.NeverMoves() {
		allowed = 0
	}
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: deployment.Namespace, Name: deployment.Name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelDeployment: deployment.Name}},
		},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(max(allowed, 0))},
	}
}

func (b *Budgets) policiesByNamespace() (map[string][]*evenkeel.DisruptionPolicy, error) {
	objects, err := b.policies.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list DisruptionPolicies: %w", err)
	}
	policies := map[string][]*evenkeel.DisruptionPolicy{}
	for _, object := range objects {
		if policy, ok := object.(*evenkeel.DisruptionPolicy); ok {
			policies[policy.Namespace] = append(policies[policy.Namespace], policy)
		}
	}
	return policies, nil
}

// healthy counts, by deployment, the replicas that serve and are not about to leave.
func (b *Budgets) healthy() (map[types.NamespacedName]int, error) {
	pods, err := b.pods.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list placements: %w", err)
	}
	healthy := map[types.NamespacedName]int{}
	for _, pod := range pods {
		if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && !Leaving(pod) && serves(pod) {
			healthy[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[LabelDeployment]}]++
		}
	}
	return healthy, nil
}

// serves tells whether a Pod's replica is ready and, on hubs with routes, named by one.
func serves(pod *corev1.Pod) bool {
	ready := findCondition(pod.Status.Conditions, corev1.PodConditionType(evenkeel.ConditionReady))
	serving := findCondition(pod.Status.Conditions, corev1.PodConditionType(evenkeel.ConditionServing))
	return ready != nil && ready.Status == corev1.ConditionTrue && (serving == nil || serving.Status == corev1.ConditionTrue)
}
