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

package spread

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// scene is a cluster with CoreDNS on it, whose evictions are answered by the test.
type scene struct {
	t       *testing.T
	r       *Reconciler
	c       client.Client
	clock   *clocktesting.FakePassiveClock
	events  *events.FakeRecorder
	evicted []string
	refusal error
}

func newScene(t *testing.T, objects ...client.Object) *scene {
	t.Helper()
	config, err := configapi.DecodeServingPathConfiguration([]byte(`{"rebalance":{"settleTime":"30s","backoff":"1m","timeout":"5m"}}`))
	require.NoError(t, err)
	catalogue, err := servingpath.New(config)
	require.NoError(t, err)
	s := &scene{t: t, clock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))}
	s.c = fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).WithStatusSubresource(&appsv1.Deployment{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourceCreate: s.evict}).Build()
	s.events = events.NewFakeRecorder(100)
	s.r = New(s.c, s.events, catalogue, config.Rebalance)
	s.r.Clock = s.clock
	return s
}

func (s *scene) evict(_ context.Context, c client.Client, subresource string, o client.Object, _ client.Object, _ ...client.SubResourceCreateOption) error {
	require.Equal(s.t, "eviction", subresource)
	if s.refusal != nil {
		return s.refusal
	}
	s.evicted = append(s.evicted, o.GetName())
	return c.Delete(context.Background(), o)
}

// after lets time pass and looks once.
func (s *scene) after(d time.Duration) time.Duration {
	s.t.Helper()
	s.clock.SetTime(s.clock.Now().Add(d))
	result, err := s.r.Reconcile(s.t.Context(), cluster)
	require.NoError(s.t, err)
	return result.RequeueAfter
}

// said gives the one event that was recorded since it was last called, or nothing.
func (s *scene) said() string {
	s.t.Helper()
	require.LessOrEqual(s.t, len(s.events.Events), 1)
	select {
	case e := <-s.events.Events:
		return e
	default:
		return ""
	}
}

// counted gives how many evictions there were, and how many were refused.
func (s *scene) counted() [2]float64 {
	return [2]float64{testutil.ToFloat64(s.r.evictions.WithLabelValues("evicted")), testutil.ToFloat64(s.r.evictions.WithLabelValues("refused"))}
}

// replaced adds the pod that takes the place of an evicted one.
func (s *scene) replaced(workload string, n int, on string) {
	require.NoError(s.t, s.c.Create(s.t.Context(), pod(workload, n, on)))
}

func node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// workload is a component by its labels: CoreDNS, or trust-manager.
func workload(name string) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: types.UID(name), Labels: map[string]string{"k8s-app": "kube-dns"}},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"of": name}}},
		Status:     appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2},
	}
	return d
}

func pod(workload string, n int, on string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: fmt.Sprintf("%s-%d", workload, n), UID: types.UID(fmt.Sprintf("%s-%d", workload, n)), Labels: map[string]string{"of": workload}},
		Spec:       corev1.PodSpec{NodeName: on},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

func TestOneMoveAtATime(t *testing.T) {
	s := newScene(t, node("a"), node("b"),
		workload("dns"), pod("dns", 1, "a"), pod("dns", 2, "a"), workload("dns2"), pod("dns2", 1, "a"), pod("dns2", 2, "a"))
	assert.Equal(t, 30*time.Second, s.after(0), "they settle first")
	assert.Empty(t, s.evicted)
	s.after(30 * time.Second)
	assert.Equal(t, []string{"dns-1"}, s.evicted)
	s.after(time.Minute)
	assert.Len(t, s.evicted, 1, "the other waits while one is not back")
	s.replaced("dns", 3, "b")
	s.after(time.Second)
	assert.Equal(t, []string{"dns-1", "dns2-1"}, s.evicted)
	s.replaced("dns2", 3, "b")
	assert.Zero(t, s.after(time.Hour))
	assert.Len(t, s.evicted, 2)
}

// TestWhatIsToldAndCounted are evictions, and those that a budget refuses; a pod that has gone by itself is neither.
func TestWhatIsToldAndCounted(t *testing.T) {
	s := newScene(t, node("a"), node("b"), workload("dns"), pod("dns", 1, "a"), pod("dns", 2, "a"))
	s.after(0)
	assert.Empty(t, s.said(), "they settle")

	s.refusal = apierrors.NewNotFound(corev1.Resource("pods"), "dns-1")
	assert.Equal(t, recheck, s.after(30*time.Second))
	assert.Empty(t, s.said())
	assert.Equal(t, [2]float64{0, 0}, s.counted())

	s.refusal = apierrors.NewTooManyRequests("budget", 0)
	s.after(time.Second)
	said := s.said()
	assert.Contains(t, said, "Normal CannotMoveApart Pod dns-1 is not moved although ")
	assert.Contains(t, said, ": TooManyRequests. The next try is in 1m0s")
	assert.Equal(t, [2]float64{0, 1}, s.counted())

	s.refusal = nil
	s.after(30 * time.Second)
	assert.Empty(t, s.said(), "it waits for the next try")
	s.after(30 * time.Second)
	assert.Contains(t, s.said(), "Normal MovedApart Evicted pod dns-1: ")
	assert.Equal(t, [2]float64{1, 1}, s.counted())

	s.replaced("dns", 3, "b")
	s.after(time.Hour)
	assert.Empty(t, s.said())
	assert.Equal(t, [2]float64{1, 1}, s.counted())
}

func TestADeploymentThatBecomesPartOfTheServingPath(t *testing.T) {
	d := workload("dns")
	d.Labels = nil
	s := newScene(t, node("a"), node("b"), d, pod("dns", 1, "a"), pod("dns", 2, "a"))
	s.after(0)
	s.after(time.Hour)
	require.Empty(t, s.evicted)
	require.NoError(t, s.c.Get(t.Context(), client.ObjectKeyFromObject(d), d))
	d.Labels = workload("dns").Labels
	require.NoError(t, s.c.Update(t.Context(), d))
	s.after(0)
	s.after(time.Minute)
	assert.Len(t, s.evicted, 1)
}

func TestARefusalBacksOff(t *testing.T) {
	s := newScene(t, node("a"), node("b"), workload("dns"), pod("dns", 1, "a"), pod("dns", 2, "a"))
	s.refusal = apierrors.NewTooManyRequests("budget", 0)
	s.after(0)
	for _, wait := range []time.Duration{1, 2, 4, 8, 16, 20, 20} {
		assert.Equal(t, wait*time.Minute, s.after(30*time.Minute))
	}
	s.refusal = nil
	s.after(time.Minute)
	assert.Empty(t, s.evicted, "not before its time")
	s.after(20 * time.Minute)
	assert.Len(t, s.evicted, 1)
}

func TestAFruitlessMoveBacksOff(t *testing.T) {
	s := newScene(t, node("a"), node("b"), workload("dns"), pod("dns", 1, "a"), pod("dns", 2, "a"))
	s.after(0)
	s.after(30 * time.Second)
	require.Len(t, s.evicted, 1)
	s.replaced("dns", 3, "a") // the same node again
	assert.Equal(t, time.Minute, s.after(time.Second))
	s.after(30 * time.Second)
	assert.Len(t, s.evicted, 1)
	s.after(30 * time.Second)
	assert.Len(t, s.evicted, 2)
}

func TestAMoveThatTakesTooLongLetsOthersGo(t *testing.T) {
	s := newScene(t, node("a"), node("b"),
		workload("dns"), pod("dns", 1, "a"), pod("dns", 2, "a"), workload("dns2"), pod("dns2", 1, "a"), pod("dns2", 2, "a"))
	s.after(0)
	s.after(30 * time.Second)
	require.Equal(t, []string{"dns-1"}, s.evicted)
	d := workload("dns")
	require.NoError(t, s.c.Get(t.Context(), client.ObjectKeyFromObject(d), d))
	d.Status.ReadyReplicas = 1
	require.NoError(t, s.c.Status().Update(t.Context(), d))
	s.after(5*time.Minute - time.Second)
	require.Len(t, s.evicted, 1)
	s.after(time.Second)
	assert.Equal(t, []string{"dns-1", "dns2-1"}, s.evicted)
}

func TestWhatIsLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*appsv1.Deployment){
		"opted out":           func(d *appsv1.Deployment) { d.Annotations = map[string]string{"evenkeel.io/serving-path": "off"} },
		"no component":        func(d *appsv1.Deployment) { d.Labels = nil },
		"a rollout under way": func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 },
		"not all Ready":       func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 1 },
		"not seen yet":        func(d *appsv1.Deployment) { d.Generation = 2 },
		"more pods than told": func(d *appsv1.Deployment) {
			d.Spec.Replicas, d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = ptr.To[int32](1), 1, 1, 1, 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := workload("dns")
			change(d)
			s := newScene(t, node("a"), node("b"), d, pod("dns", 1, "a"), pod("dns", 2, "a"))
			s.after(0)
			s.after(time.Hour)
			assert.Empty(t, s.evicted)
		})
	}
}
