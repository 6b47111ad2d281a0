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

package servingpath

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func minAvailable(value string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.Parse(value))}}
}

func maxUnavailable(value string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.Parse(value))}}
}

func TestHopeless(t *testing.T) {
	for name, tc := range map[string]struct {
		budget   *policyv1.PodDisruptionBudget
		replicas int32
		desired  int32
		hopeless bool
	}{
		"one of one":            {minAvailable("1"), 1, 1, true},
		"one of two":            {minAvailable("1"), 2, 1, false},
		"two of two":            {minAvailable("2"), 2, 2, true},
		"more than there are":   {minAvailable("5"), 2, 5, true},
		"all":                   {minAvailable("100%"), 3, 3, true},
		"more than all":         {minAvailable("150%"), 2, 3, true},
		"a half of three":       {minAvailable("50%"), 3, 2, false},
		"ninety percent of two": {minAvailable("90%"), 2, 2, true},
		"none may go":           {maxUnavailable("0"), 3, 3, true},
		"none may go, percent":  {maxUnavailable("0%"), 3, 3, true},
		"a little, rounded up":  {maxUnavailable("1%"), 2, 1, false},
		"one may go, of one":    {maxUnavailable("1"), 1, 0, false},
		"more may go than are":  {maxUnavailable("5"), 2, 0, false},
		"none wanted":           {minAvailable("0"), 2, 0, false},
		"no replicas":           {minAvailable("1"), 0, 1, false},
		"nothing said":          {&policyv1.PodDisruptionBudget{}, 2, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			desired, err := DesiredHealthy(tc.budget, tc.replicas)
			require.NoError(t, err)
			assert.Equal(t, tc.desired, desired)
			assert.Equal(t, tc.hopeless, Hopeless(tc.budget, tc.replicas) != "")
		})
	}
	assert.Contains(t, Hopeless(minAvailable("x"), 1), "cannot be evaluated")
	assert.Contains(t, Hopeless(minAvailable("1"), 1), "Run at least 2 replicas")
}

func TestEvict(t *testing.T) {
	status := func(allowed, healthy, desired int32, policy *policyv1.UnhealthyPodEvictionPolicyType) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{
			Spec:   policyv1.PodDisruptionBudgetSpec{UnhealthyPodEvictionPolicy: policy},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, CurrentHealthy: healthy, DesiredHealthy: desired},
		}
	}
	always := ptr.To(policyv1.AlwaysAllow)
	stale := status(1, 2, 1, nil)
	stale.Generation = 2
	for name, tc := range map[string]struct {
		pod     *corev1.Pod
		budgets []*policyv1.PodDisruptionBudget
		want    Answer
		left    int32
	}{
		"no budget":                      {readyPod(1, "a"), nil, Allowed, 0},
		"allowed":                        {readyPod(1, "a"), []*policyv1.PodDisruptionBudget{status(1, 2, 1, nil)}, Allowed, 0},
		"used up":                        {readyPod(1, "a"), []*policyv1.PodDisruptionBudget{status(0, 1, 1, nil)}, Refused, 0},
		"two budgets":                    {readyPod(1, "a"), []*policyv1.PodDisruptionBudget{status(1, 2, 1, nil), status(1, 2, 1, nil)}, Overlap, 1},
		"two budgets, not Ready":         {readyPod(1, "a", unready), []*policyv1.PodDisruptionBudget{status(1, 2, 1, always), status(1, 2, 1, always)}, Overlap, 1},
		"not Ready, always":              {readyPod(1, "a", unready), []*policyv1.PodDisruptionBudget{status(0, 0, 1, always)}, Allowed, 0},
		"not Ready, the others suffice":  {readyPod(1, "a", unready), []*policyv1.PodDisruptionBudget{status(0, 1, 1, nil)}, Allowed, 0},
		"not Ready, the others do not":   {readyPod(1, "a", unready), []*policyv1.PodDisruptionBudget{status(0, 0, 1, nil)}, Refused, 0},
		"not Ready, none wanted":         {readyPod(1, "a", unready), []*policyv1.PodDisruptionBudget{status(0, 0, 0, nil)}, Refused, 0},
		"Pending, under two":             {readyPod(1, "a", pending), []*policyv1.PodDisruptionBudget{status(0, 0, 1, nil), status(0, 0, 1, nil)}, Allowed, 0},
		"on its way out":                 {readyPod(1, "a", terminating), []*policyv1.PodDisruptionBudget{status(0, 0, 1, nil)}, Allowed, 0},
		"a status older than the budget": {readyPod(1, "a"), []*policyv1.PodDisruptionBudget{stale}, Refused, 1},
	} {
		t.Run(name, func(t *testing.T) {
			answer, _ := Evict(tc.pod, tc.budgets)
			assert.Equal(t, tc.want, answer)
			if len(tc.budgets) > 0 {
				assert.Equal(t, tc.left, tc.budgets[0].Status.DisruptionsAllowed)
			}
		})
	}
}

func TestNeverReady(t *testing.T) {
	long := func(*corev1.Pod) bool { return true }
	for name, tc := range map[string]struct {
		pods []*corev1.Pod
		want bool
	}{
		"a leader and one who waits": {[]*corev1.Pod{readyPod(1, "a"), readyPod(2, "b", unready)}, true},
		"a leader and two":           {[]*corev1.Pod{readyPod(1, "a"), readyPod(2, "b", unready), readyPod(3, "b", unready)}, true},
		"both Ready":                 {[]*corev1.Pod{readyPod(1, "a"), readyPod(2, "b")}, false},
		"one crashes":                {[]*corev1.Pod{readyPod(1, "a"), readyPod(2, "b", unready, restarted)}, false},
		"one is not running":         {[]*corev1.Pod{readyPod(1, "a"), readyPod(2, "b", unready, waiting)}, false},
		"one is Pending":             {[]*corev1.Pod{readyPod(1, "a"), readyPod(2, "", pending)}, false},
		"one is going":               {[]*corev1.Pod{readyPod(1, "a"), readyPod(2, "b", unready, terminating)}, false},
		"nobody leads":               {[]*corev1.Pod{readyPod(1, "a", unready), readyPod(2, "b", unready)}, false},
		"only one":                   {[]*corev1.Pod{readyPod(1, "a")}, false},
		"none":                       {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, NeverReady(tc.pods, long))
			assert.False(t, NeverReady(tc.pods, func(*corev1.Pod) bool { return false }), "not yet")
		})
	}
}

func TestCovers(t *testing.T) {
	budget := func(selector *metav1.LabelSelector) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}}
	}
	pod := map[string]string{"app": "a"}
	assert.True(t, Covers(budget(&metav1.LabelSelector{MatchLabels: pod}), pod))
	assert.True(t, Covers(budget(&metav1.LabelSelector{}), pod), "an empty selector selects all")
	assert.False(t, Covers(budget(nil), pod), "none selects none")
	assert.False(t, Covers(budget(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "?"}}}), pod))
}
