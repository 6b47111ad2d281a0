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

package disruptionbudget

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// counts checks which problem of lws is counted, or that none is.
func (s *testScene) counts(problem string) {
	s.t.Helper()
	if problem == "" {
		assert.Zero(s.t, testutil.CollectAndCount(s.r.problems.gauge))
		return
	}
	want := fmt.Sprintf("# HELP x \n# TYPE x gauge\nx{name=\"lws\",namespace=\"lws-system\",problem=%q} 1\n", problem)
	assert.NoError(s.t, testutil.CollectAndCompare(s.r.problems.gauge, strings.NewReader(want)))
}

// TestProblems has what is told of somebody else's budgets, once, and counted for as long as it lasts.
func TestProblems(t *testing.T) {
	theirs := func(name string, maxUnavailable int32, selector map[string]string) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "lws-system", Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intOrString(maxUnavailable)), Selector: &metav1.LabelSelector{MatchLabels: selector}}}
	}
	matching := map[string]string{"app.kubernetes.io/name": "lws"}
	for name, tc := range map[string]struct {
		budgets []client.Object
		told    string // none: nothing
		counted string
	}{
		"none": {},
		"one that lets pods go": {
			[]client.Object{theirs("theirs", 1, matching)},
			"Normal BudgetExists Its pods are under PodDisruptionBudget theirs already, so Evenkeel adds none", "",
		},
		"one that never does": {
			[]client.Object{theirs("theirs", 0, matching)},
			"Warning HopelessBudget PodDisruptionBudget theirs wants 2 Ready of 2 replicas, so no eviction is ever allowed", "HopelessBudget",
		},
		"two": {
			[]client.Object{theirs("theirs", 1, matching), theirs("too", 1, matching)},
			"Warning OverlappingBudgets Its pods are under 2 PodDisruptionBudgets (theirs, too)", "OverlappingBudgets",
		},
		"one with another key": {
			[]client.Object{theirs("theirs", 1, map[string]string{"app": "lws"})},
			"Warning BudgetSelectsNothing PodDisruptionBudget theirs selects no pod", "BudgetSelectsNothing",
		},
		"one of its name": {
			[]client.Object{theirs("lws", 1, map[string]string{"app": "x"})},
			"Warning BudgetSelectsNothing PodDisruptionBudget lws selects no pod", "BudgetSelectsNothing",
		},
		"one that selects nothing and is not meant": {budgets: []client.Object{theirs("theirs", 1, map[string]string{"app": "x"})}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, append(tc.budgets, lws())...)
			s.reconcile("lws")
			told := s.told()
			assert.Contains(t, told, tc.told)
			assert.Equal(t, tc.told == "", told == "", told)
			s.counts(tc.counted)
			s.reconcile("lws")
			assert.Empty(t, s.told(), "told once")
			s.counts(tc.counted)
			for _, budget := range tc.budgets {
				require.NoError(t, s.r.Client.Delete(t.Context(), budget))
			}
			s.reconcile("lws")
			assert.Empty(t, s.told())
			s.counts("")
		})
	}
}

// TestAProblemEndsWithItsWorkload also where the workload goes, and not its budgets.
func TestAProblemEndsWithItsWorkload(t *testing.T) {
	s := newScene(t, lws(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "lws-system", Name: "theirs"},
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intOrString(0)), Selector: lws().Spec.Selector}})
	s.reconcile("lws")
	s.counts(ReasonHopeless)
	require.NoError(t, s.r.Client.Delete(t.Context(), lws()))
	s.reconcile("lws")
	s.counts("")
}

// TestByPod finds the Deployment of a pod by the name of its ReplicaSet.
func TestByPod(t *testing.T) {
	pod := func(kind, owner, hash string) *corev1.Pod {
		p := lwsPod("p", corev1.ConditionTrue)
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: ptr.To(true)}}
		if hash != "" {
			p.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
		}
		return p
	}
	assert.Equal(t, []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: "lws-system", Name: "lws-x"}}}, byPod(t.Context(), pod("ReplicaSet", "lws-x-5d8f", "5d8f")))
	for name, p := range map[string]*corev1.Pod{
		"of no Deployment": pod("ReplicaSet", "lws", "5d8f"), "no hash": pod("ReplicaSet", "lws-5d8f", ""), "of a StatefulSet": pod("StatefulSet", "lws-5d8f", "5d8f"), "of nobody": lwsPod("p", corev1.ConditionTrue),
	} {
		assert.Empty(t, byPod(t.Context(), p), name)
	}
}
