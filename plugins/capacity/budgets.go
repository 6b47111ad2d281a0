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

package capacity

import (
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/policy"
	policyv1 "k8s.io/client-go/informers/policy/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// budgeted is a scheduler's handle whose PodDisruptionBudgets are what DisruptionPolicies allow. CapacityScheduling, and
// kube-scheduler's search for victims that it calls, ask the handle's informers for them; the hub's own are empty.
type budgeted struct {
	fwk.Handle
	informers informers.SharedInformerFactory
}

func withBudgets(handle fwk.Handle, budgets policylisters.PodDisruptionBudgetLister) fwk.Handle {
	return &budgeted{Handle: handle, informers: &factory{SharedInformerFactory: handle.SharedInformerFactory(), budgets: budgets}}
}

// SharedInformerFactory has the informers of the handle, but for budgets.
func (h *budgeted) SharedInformerFactory() informers.SharedInformerFactory { return h.informers }

type factory struct {
	informers.SharedInformerFactory
	budgets policylisters.PodDisruptionBudgetLister
}

// Policy gives the group that budgets are in.
func (f *factory) Policy() policy.Interface {
	return group{Interface: f.SharedInformerFactory.Policy(), budgets: f.budgets}
}

type group struct {
	policy.Interface
	budgets policylisters.PodDisruptionBudgetLister
}

func (g group) V1() policyv1.Interface {
	return version{Interface: g.Interface.V1(), budgets: g.budgets}
}

type version struct {
	policyv1.Interface
	budgets policylisters.PodDisruptionBudgetLister
}

func (v version) PodDisruptionBudgets() policyv1.PodDisruptionBudgetInformer {
	return informer{PodDisruptionBudgetInformer: v.Interface.PodDisruptionBudgets(), budgets: v.budgets}
}

type informer struct {
	policyv1.PodDisruptionBudgetInformer
	budgets policylisters.PodDisruptionBudgetLister
}

func (i informer) Lister() policylisters.PodDisruptionBudgetLister { return i.budgets }
