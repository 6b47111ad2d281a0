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

package systemnodes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

const (
	evictionCases = 200
	caseLabel     = "case"
	caseNamespace = "evictions"
)

// evictionCase is a workload with some of its pods Ready, under some budgets.
type evictionCase struct {
	name     string
	replicas int32
	ready    int // of the pods
	started  int // of the pods; the others are Pending
	budgets  []policyv1.PodDisruptionBudgetSpec
}

func randomCase(r *rand.Rand, i int) evictionCase {
	c := evictionCase{name: "case-" + strconv.Itoa(i), replicas: 1 + r.Int32N(4)}
	c.started = r.IntN(int(c.replicas) + 1)
	if r.IntN(3) > 0 {
		c.started = int(c.replicas)
	}
	c.ready = r.IntN(c.started + 1)
	if r.IntN(2) > 0 {
		c.ready = c.started
	}
	for range []int{0, 1, 1, 1, 1, 1, 2}[r.IntN(7)] {
		values := []intstr.IntOrString{
			intstr.FromInt32(r.Int32N(5)), intstr.FromInt32(1), intstr.FromString(strconv.Itoa(r.IntN(5)*30) + "%"),
		}
		spec := policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{caseLabel: c.name}}}
		value := values[r.IntN(len(values))]
		if value.Type == intstr.String && value.StrVal == "120%" {
			value = intstr.FromString("100%") // the API server takes no more
		}
		if r.IntN(2) == 0 {
			spec.MinAvailable = &value
		} else {
			spec.MaxUnavailable = &value
		}
		spec.UnhealthyPodEvictionPolicy = []*policyv1.UnhealthyPodEvictionPolicyType{nil, ptr.To(policyv1.AlwaysAllow), ptr.To(policyv1.IfHealthyBudget)}[r.IntN(3)]
		c.budgets = append(c.budgets, spec)
	}
	return c
}

// TestEvictionsAgree evicts from random workloads on a real API server, with the real disruption controller, and compares
// its answers with those that the check foretells.
func TestEvictionsAgree(t *testing.T) {
	bin, err := filepath.Abs(filepath.Join(root, "bin", "k8s"))
	require.NoError(t, err)
	cp, err := controlplane.Start(t.Context(), controlplane.Options{BinDir: bin})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cp.Stop()) })
	client, err := kubernetes.NewForConfig(cp.Config())
	require.NoError(t, err)
	_, err = client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: caseNamespace}}, metav1.CreateOptions{})
	require.NoError(t, err)

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var cases []evictionCase
	for i := range evictionCases {
		cases = append(cases, randomCase(r, i))
	}
	createCases(t, client, cases)
	awaitStatus(t, client, cases)
	answers := map[servingpath.Answer]int{}
	for _, c := range cases {
		answers[evictOne(t, client, r, c)]++
	}
	t.Logf("answers: %v", answers)
	for _, answer := range []servingpath.Answer{servingpath.Allowed, servingpath.Refused, servingpath.Overlap} {
		assert.Positive(t, answers[answer], "the cases must give every answer")
	}
}

func createCases(t *testing.T, client kubernetes.Interface, cases []evictionCase) {
	t.Helper()
	for _, c := range cases {
		labels := map[string]string{caseLabel: c.name}
		_, err := client.AppsV1().ReplicaSets(caseNamespace).Create(t.Context(), &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: c.name},
			Spec: appsv1.ReplicaSetSpec{
				Replicas: &c.replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main"}}}},
			},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		for i, spec := range c.budgets {
			_, err := client.PolicyV1().PodDisruptionBudgets(caseNamespace).Create(t.Context(), &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Name: budgetNameOf(c, i)}, Spec: spec,
			}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
	}
	wanted := 0
	for _, c := range cases {
		wanted += int(c.replicas)
	}
	eventually(t, "all pods", func(t *assert.CollectT) {
		pods, err := client.CoreV1().Pods(caseNamespace).List(context.Background(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, pods.Items, wanted)
	})
	for _, c := range cases {
		for i, pod := range podsOfCase(t, client, c) {
			if i >= c.started {
				continue
			}
			runPod(t, client, pod.Name, i < c.ready)
		}
	}
}

// runPod does what the kubelet does when the containers have started.
func runPod(t *testing.T, client kubernetes.Interface, name string, ready bool) {
	t.Helper()
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	// A patch, since controllers write the pod too.
	patch := fmt.Appendf(nil, `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":%q}]}}`, status)
	_, err := client.CoreV1().Pods(caseNamespace).Patch(t.Context(), name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	require.NoError(t, err)
}

func podsOfCase(t require.TestingT, client kubernetes.Interface, c evictionCase) []corev1.Pod {
	pods, err := client.CoreV1().Pods(caseNamespace).List(context.Background(), metav1.ListOptions{LabelSelector: caseLabel + "=" + c.name})
	require.NoError(t, err)
	return pods.Items
}

func budgetNameOf(c evictionCase, i int) string { return c.name + "-" + strconv.Itoa(i) }

func budgetsOfCase(t require.TestingT, client kubernetes.Interface, c evictionCase) []*policyv1.PodDisruptionBudget {
	var budgets []*policyv1.PodDisruptionBudget
	for i := range c.budgets {
		budget, err := client.PolicyV1().PodDisruptionBudgets(caseNamespace).Get(context.Background(), budgetNameOf(c, i), metav1.GetOptions{})
		require.NoError(t, err)
		budgets = append(budgets, budget)
	}
	return budgets
}

// awaitStatus waits until the disruption controller has seen every pod, and compares its arithmetic with ours.
func awaitStatus(t *testing.T, client kubernetes.Interface, cases []evictionCase) {
	t.Helper()
	eventually(t, "the budgets' status", func(t *assert.CollectT) {
		list, err := client.PolicyV1().PodDisruptionBudgets(caseNamespace).List(context.Background(), metav1.ListOptions{})
		require.NoError(t, err)
		byName := map[string]*policyv1.PodDisruptionBudget{}
		for i := range list.Items {
			byName[list.Items[i].Name] = &list.Items[i]
		}
		for _, c := range cases {
			if len(c.budgets) > 1 {
				continue // of several budgets the controller follows only one: what it last said of the others stands
			}
			for i := range c.budgets {
				budget := byName[budgetNameOf(c, i)]
				desired, err := servingpath.DesiredHealthy(budget, c.replicas)
				require.NoError(t, err)
				require.Equal(t, budget.Generation, budget.Status.ObservedGeneration)
				require.EqualValues(t, c.ready, budget.Status.CurrentHealthy, budget.Name)
				require.Equal(t, desired, budget.Status.DesiredHealthy, "%s of %d: %v", budget.Name, c.replicas, budget.Spec)
				hopeless := servingpath.Hopeless(budget, c.replicas) != ""
				if hopeless {
					require.Zero(t, budget.Status.DisruptionsAllowed, budget.Name)
				} else if int32(c.ready) == c.replicas {
					require.Positive(t, budget.Status.DisruptionsAllowed, budget.Name)
				}
			}
		}
	})
}

func evictOne(t *testing.T, client kubernetes.Interface, r *rand.Rand, c evictionCase) servingpath.Answer {
	t.Helper()
	pods := podsOfCase(t, client, c)
	pod := &pods[r.IntN(len(pods))]
	foretold, _ := servingpath.Evict(pod, budgetsOfCase(t, client, c))
	err := client.PolicyV1().Evictions(caseNamespace).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: caseNamespace}})
	var answer servingpath.Answer
	switch {
	case err == nil:
		answer = servingpath.Allowed
	case apierrors.IsTooManyRequests(err):
		answer = servingpath.Refused
	case apierrors.IsInternalError(err) || apierrors.ReasonForError(err) == metav1.StatusReasonUnknown:
		answer = servingpath.Overlap
	}
	assert.Equal(t, foretold, answer, "%+v, pod %s %v: %v", c, pod.Name, pod.Status.Conditions, err)
	return answer
}
