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
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

var now = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

type testScene struct {
	t        *testing.T
	r        *Reconciler
	recorder *events.FakeRecorder
	clock    *clocktesting.FakePassiveClock
}

func newScene(t *testing.T, objects ...client.Object) *testScene {
	t.Helper()
	config, err := configapi.DecodeServingPathConfiguration(nil)
	require.NoError(t, err)
	catalogue, err := servingpath.New(config)
	require.NoError(t, err)
	s := &testScene{t: t, recorder: events.NewFakeRecorder(100), clock: clocktesting.NewFakePassiveClock(now)}
	s.r = &Reconciler{
		Client:    fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).Build(),
		Recorder:  s.recorder,
		Catalogue: catalogue,
		Clock:     s.clock,
		problems: &problems{
			gauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "x"}, []string{"namespace", "name", "problem"}),
			told:  map[types.NamespacedName][]finding{},
		},
	}
	return s
}

func (s *testScene) reconcile(name string) ctrl.Result {
	s.t.Helper()
	result, err := s.r.Reconcile(s.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "lws-system", Name: name}})
	require.NoError(s.t, err)
	return result
}

func (s *testScene) budgets() []string {
	list := &policyv1.PodDisruptionBudgetList{}
	require.NoError(s.t, s.r.Client.List(s.t.Context(), list))
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

func (s *testScene) told() string {
	var all []string
	for {
		select {
		case e := <-s.recorder.Events:
			all = append(all, e)
		default:
			return strings.Join(all, "\n")
		}
	}
}

func lws(change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	labels := map[string]string{"app.kubernetes.io/name": "lws"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lws-system", Name: "lws", UID: "u", Labels: labels},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}},
	}
	for _, f := range change {
		f(d)
	}
	return d
}

func lwsPod(name string, ready corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lws-system", Name: name, Labels: map[string]string{"app.kubernetes.io/name": "lws"}},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
			ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}}},
		},
	}
}

func TestTheBudget(t *testing.T) {
	s := newScene(t, lws())
	s.reconcile("lws")
	budget := &policyv1.PodDisruptionBudget{}
	require.NoError(t, s.r.Client.Get(t.Context(), client.ObjectKey{Namespace: "lws-system", Name: "lws-evenkeel"}, budget))
	assert.Equal(t, 1, budget.Spec.MaxUnavailable.IntValue())
	assert.Nil(t, budget.Spec.MinAvailable)
	assert.Equal(t, policyv1.AlwaysAllow, *budget.Spec.UnhealthyPodEvictionPolicy)
	assert.Equal(t, lws().Spec.Selector, budget.Spec.Selector)
	assert.True(t, metav1.IsControlledBy(budget, lws()))
	assert.Nil(t, budget.OwnerReferences[0].BlockOwnerDeletion)
	assert.Equal(t, map[string]string{LabelManagedBy: ManagedBy, LabelComponent: "lws-controller"}, budget.Labels)
	assert.Empty(t, s.told())

	// Somebody lowers it: it is put right.
	budget.Spec.MaxUnavailable = ptr.To(intOrString(0))
	require.NoError(t, s.r.Client.Update(t.Context(), budget))
	s.reconcile("lws")
	require.NoError(t, s.r.Client.Get(t.Context(), client.ObjectKeyFromObject(budget), budget))
	assert.Equal(t, 1, budget.Spec.MaxUnavailable.IntValue())

	// It is no part of the serving path any more.
	d := lws()
	require.NoError(t, s.r.Client.Get(t.Context(), client.ObjectKeyFromObject(d), d))
	d.Labels = nil
	require.NoError(t, s.r.Client.Update(t.Context(), d))
	s.reconcile("lws")
	assert.Empty(t, s.budgets())
}

func TestNoSecondBudget(t *testing.T) {
	foreign := func(name string) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "lws-system", Name: name},
			Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intOrString(1)), Selector: &metav1.LabelSelector{}}}
	}
	s := newScene(t, lws())
	s.reconcile("lws")
	require.NoError(t, s.r.Client.Create(t.Context(), foreign("theirs")))
	s.reconcile("lws")
	assert.Equal(t, []string{"theirs"}, s.budgets())
	assert.Contains(t, s.told(), "Normal BudgetExists Its pods are under PodDisruptionBudget theirs already")
	s.reconcile("lws")
	assert.Empty(t, s.told(), "told once")
	require.NoError(t, s.r.Client.Create(t.Context(), foreign("another")))
	s.reconcile("lws")
	assert.Contains(t, s.told(), "Warning OverlappingBudgets Its pods are under 2 PodDisruptionBudgets (another, theirs)")
}

func TestWhereOnlyALeaderIsReady(t *testing.T) {
	s := newScene(t, lws(), lwsPod("a", corev1.ConditionTrue), lwsPod("b", corev1.ConditionFalse))
	assert.Equal(t, heldFor, s.reconcile("lws").RequeueAfter)
	assert.Equal(t, []string{"lws-evenkeel"}, s.budgets(), "it may still become Ready")
	s.clock.SetTime(now.Add(heldFor))
	s.reconcile("lws")
	assert.Empty(t, s.budgets(), "it would never allow the leader's eviction")
	assert.Contains(t, s.told(), "Warning LeaderGated Only one of its 2 running pods is Ready")
	require.NoError(t, s.r.Client.Delete(t.Context(), lwsPod("b", corev1.ConditionFalse)))
	require.NoError(t, s.r.Client.Create(t.Context(), lwsPod("c", corev1.ConditionTrue)))
	s.reconcile("lws")
	assert.Equal(t, []string{"lws-evenkeel"}, s.budgets())
}

func TestNoBudget(t *testing.T) {
	for name, d := range map[string]*appsv1.Deployment{
		"opted out": lws(func(d *appsv1.Deployment) { d.Annotations = map[string]string{"evenkeel.io/serving-path": "off"} }),
		"single": lws(func(d *appsv1.Deployment) {
			d.Namespace, d.Labels = "modelplane-system", map[string]string{"app.kubernetes.io/name": "modelplane-collector"}
		}),
		"an engine":   lws(func(d *appsv1.Deployment) { d.Spec.Template.Labels = map[string]string{"modelplane.ai/serving": "x"} }),
		"not matched": lws(func(d *appsv1.Deployment) { d.Labels = nil }),
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, d)
			_, err := s.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(d)})
			require.NoError(t, err)
			assert.Empty(t, s.budgets())
		})
	}
}

// TestALeftoverBudgetIsFound is for budgets of Deployments that an older configuration has covered: no event of such a
// Deployment is looked at, but the budget's is.
func TestALeftoverBudgetIsFound(t *testing.T) {
	s := newScene(t, lws())
	s.reconcile("lws")
	d := lws()
	require.NoError(t, s.r.Client.Get(t.Context(), client.ObjectKeyFromObject(d), d))
	d.Labels = nil
	require.NoError(t, s.r.Client.Update(t.Context(), d))
	budget := &policyv1.PodDisruptionBudget{}
	require.NoError(t, s.r.Client.Get(t.Context(), client.ObjectKey{Namespace: "lws-system", Name: "lws-evenkeel"}, budget))

	requests := s.r.byBudget(t.Context(), budget)
	require.Equal(t, []ctrl.Request{{NamespacedName: client.ObjectKeyFromObject(d)}}, requests)
	s.reconcile(requests[0].Name)
	assert.Empty(t, s.budgets())
}

func TestBudgetName(t *testing.T) {
	assert.Equal(t, "chat-32a9b-epp-evenkeel", budgetName("chat-32a9b-epp"))
	long := strings.Repeat("a", 253)
	assert.Len(t, budgetName(long), 253)
	assert.NotEqual(t, budgetName(long), budgetName(long[:252]+"b"))
}
