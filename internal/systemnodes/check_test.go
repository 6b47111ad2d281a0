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
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

func catalogue(t *testing.T) *servingpath.Catalogue {
	config, err := configapi.DecodeServingPathConfiguration(nil)
	require.NoError(t, err)
	c, err := servingpath.New(config)
	require.NoError(t, err)
	return c
}

func node(name string, taints ...corev1.Taint) corev1.Node {
	all := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110")}
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec:       corev1.NodeSpec{Taints: taints},
		Status:     corev1.NodeStatus{Allocatable: all, Capacity: all, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

var gpuTaint = corev1.Taint{Key: "nvidia.com/gpu", Value: "true", Effect: corev1.TaintEffectNoSchedule}

// seed is the cluster of the incident: two system nodes, two GPU nodes, DNS on one node with a budget of its own.
func seed(change ...func(*Snapshot)) *Snapshot {
	s := &Snapshot{Nodes: []corev1.Node{node("system-a"), node("system-b"), node("gpu-a", gpuTaint), node("gpu-b", gpuTaint)}}
	for _, f := range change {
		f(s)
	}
	return s
}

// picker adds one with replicas on these nodes; "" is Pending, and a node with "!" in front has one that is not Ready.
func picker(nodes ...string) func(*Snapshot) {
	return workloadOn("mp-team-1", "chat-epp", map[string]string{"app": "chat-epp"}, func(d *appsv1.Deployment) {
		d.Spec.Template.Annotations = map[string]string{"modelplane.ai/epp-config-checksum": "1"}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "epp"}}
	}, nodes)
}

func dns(nodes ...string) func(*Snapshot) {
	return workloadOn("kube-system", "coredns", map[string]string{"k8s-app": "kube-dns"}, func(*appsv1.Deployment) {}, nodes)
}

func certManager(nodes ...string) func(*Snapshot) {
	return workloadOn("cert-manager", "cert-manager", map[string]string{"app.kubernetes.io/instance": "mp-cert-manager"}, func(*appsv1.Deployment) {}, nodes)
}

func workloadOn(namespace, name string, labels map[string]string, change func(*appsv1.Deployment), nodes []string) func(*Snapshot) {
	return func(s *Snapshot) {
		d := appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
			Spec: appsv1.DeploymentSpec{
				Replicas: ptr.To(int32(len(nodes))),
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}},
			},
		}
		change(&d)
		s.Deployments = append(s.Deployments, d)
		for i, on := range nodes {
			s.Pods = append(s.Pods, podOf(&d, i, on))
		}
	}
}

func podOf(d *appsv1.Deployment, i int, on string) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: fmt.Sprintf("%s-%d", d.Name, i), UID: types.UID(fmt.Sprintf("%s-%d", d.Name, i)), Labels: map[string]string{"pod-template-hash": "1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: d.Name + "-1", Controller: ptr.To(true)}},
		},
		Spec: *d.Spec.Template.Spec.DeepCopy(),
	}
	for key, value := range d.Spec.Template.Labels {
		pod.Labels[key] = value
	}
	ready := corev1.ConditionTrue
	if on == "" {
		pod.Status.Phase = corev1.PodPending
		return pod
	}
	if on[0] == '!' {
		on, ready = on[1:], corev1.ConditionFalse
	}
	pod.Spec.NodeName = on
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}
	return pod
}

// spread gives the last workload's pods what Evenkeel fills in.
func spread(s *Snapshot) {
	d := &s.Deployments[len(s.Deployments)-1]
	constraints := servingpath.Constraints(&configapi.ComponentSpread{TopologyKeys: []string{corev1.LabelHostname}, WhenUnsatisfiable: corev1.ScheduleAnyway}, d.Spec.Selector, true)
	for i := range s.Pods {
		if s.Pods[i].Namespace == d.Namespace {
			s.Pods[i].Spec.TopologySpreadConstraints = constraints
		}
	}
}

// fallback lets all pods run on GPU nodes.
func fallback(s *Snapshot) {
	for i := range s.Pods {
		s.Pods[i].Spec.Tolerations = []corev1.Toleration{{Key: gpuTaint.Key, Operator: corev1.TolerationOpExists}}
	}
}

// budget protects the last workload, with a status as the disruption controller gives it.
func budget(spec policyv1.PodDisruptionBudgetSpec) func(*Snapshot) {
	return func(s *Snapshot) {
		d := &s.Deployments[len(s.Deployments)-1]
		spec.Selector = d.Spec.Selector
		s.Budgets = append(s.Budgets, policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: fmt.Sprintf("budget-%d", len(s.Budgets))}, Spec: spec})
		w := newWorld(s)
		w.updateBudgets()
		s.Budgets = w.budgets
	}
}

func one() policyv1.PodDisruptionBudgetSpec {
	return policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1)), UnhealthyPodEvictionPolicy: ptr.To(policyv1.AlwaysAllow)}
}

func atLeast(n int32) policyv1.PodDisruptionBudgetSpec {
	return policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(n))}
}

func TestCheck(t *testing.T) {
	const ok, blocks, interrupts = OutcomeOK, OutcomeBlocks, OutcomeInterrupts
	for name, tc := range map[string]struct {
		in        *Snapshot
		drains    map[string]Outcome
		cordonAll Outcome
		ok        bool
		fixes     []string
	}{
		"the seed's picker": {seed(picker("system-a")), map[string]Outcome{"system-a": interrupts}, interrupts, false,
			[]string{"kubectl scale deployment chat-epp -n mp-team-1 --replicas=2", "give it a PodDisruptionBudget"}},
		"one, with a budget that lets it go": {seed(picker("system-a"), budget(one())), map[string]Outcome{"system-a": interrupts}, interrupts, false,
			[]string{"--replicas=2"}},
		"one, with a hopeless budget": {seed(picker("system-a"), budget(atLeast(1))), map[string]Outcome{"system-a": blocks}, blocks, false,
			[]string{"Run at least 2 replicas", "--replicas=2"}},
		"two apart without a budget": {seed(picker("system-a", "system-b"), spread), map[string]Outcome{"system-a": ok, "system-b": ok}, ok, true, nil},
		"what Evenkeel makes":        {seed(picker("system-a", "system-b"), spread, budget(one())), map[string]Outcome{"system-a": ok, "system-b": ok}, ok, true, nil},
		"two on one node, no budget": {seed(picker("system-a", "system-a")), map[string]Outcome{"system-a": interrupts}, interrupts, false,
			[]string{"give it a PodDisruptionBudget", "share node system-a"}},
		"two on one node, a budget": {seed(picker("system-a", "system-a"), budget(one())), map[string]Outcome{"system-a": ok}, blocks, false,
			[]string{"share node system-a"}},
		"the seed's DNS": {seed(dns("system-a", "system-a"), budget(atLeast(1))), map[string]Outcome{"system-a": ok}, blocks, false,
			[]string{"share node system-a"}},
		"two budgets": {seed(picker("system-a", "system-b"), budget(one()), budget(one())), map[string]Outcome{"system-a": blocks, "system-b": blocks}, blocks, false,
			[]string{"2 PodDisruptionBudgets (budget-0, budget-1)"}},
		"one of two crashes": {seed(picker("system-a", "!system-b"), budget(one())), map[string]Outcome{"system-a": blocks, "system-b": ok}, blocks, false,
			[]string{"only 1 of 2 replicas are Ready"}},
		"one, which may fall back": {seed(picker("system-a"), fallback), map[string]Outcome{"system-a": interrupts}, interrupts, false, []string{"--replicas=2", "give it"}},
		"two, which may fall back": {seed(picker("system-a", "system-b"), spread, fallback, budget(one())), map[string]Outcome{"system-a": ok, "system-b": ok}, ok, true, nil},
		"already down":             {seed(picker("!system-a")), map[string]Outcome{"system-a": ok}, ok, false, []string{"none of its replicas is Ready now"}},
		"Pending":                  {seed(picker("")), map[string]Outcome{}, ok, false, []string{"none of its replicas is Ready now"}},
		"scaled to zero":           {seed(picker()), map[string]Outcome{}, ok, true, nil},
		"no request fails for it":  {seed(certManager("system-a")), map[string]Outcome{"system-a": interrupts}, interrupts, true, []string{"--replicas=2", "give it"}},
		"but it may block":         {seed(certManager("system-a"), budget(atLeast(1))), map[string]Outcome{"system-a": blocks}, blocks, false, []string{"Run at least 2", "--replicas=2"}},
		"both on a GPU node":       {seed(picker("gpu-a", "gpu-b"), fallback), map[string]Outcome{}, ok, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := Check(t.Context(), tc.in, catalogue(t))
			require.NoError(t, err)
			assert.Equal(t, []string{"system-a", "system-b"}, report.SystemNodes)
			require.Len(t, report.Components, 1)
			c := report.Components[0]
			assert.Equal(t, tc.drains, c.Drains)
			assert.Equal(t, tc.cordonAll, c.CordonAll)
			assert.Equal(t, tc.ok, report.OK)
			require.Len(t, c.Fixes, len(tc.fixes), "%q", c.Fixes)
			for i := range tc.fixes {
				assert.Contains(t, c.Fixes[i], tc.fixes[i])
			}
		})
	}
}

func TestASystemPoolOfOne(t *testing.T) {
	s := seed(picker("system-a", "system-a"), budget(one()))
	s.Nodes = append(s.Nodes[:1], s.Nodes[2:]...)
	report, err := Check(t.Context(), s, catalogue(t))
	require.NoError(t, err)
	assert.Equal(t, OutcomeBlocks, report.Components[0].Drains["system-a"])
	assert.Contains(t, report.Components[0].Fixes[1], "fewer than two system nodes")

	fallback(s)
	report, err = Check(t.Context(), s, catalogue(t))
	require.NoError(t, err)
	assert.True(t, report.OK, "%+v", report.Components)
}

func TestOthersThatBlock(t *testing.T) {
	s := seed(workloadOn("team", "db", map[string]string{"app": "db"}, func(*appsv1.Deployment) {}, []string{"system-a"}), budget(atLeast(1)))
	report, err := Check(t.Context(), s, catalogue(t))
	require.NoError(t, err)
	assert.Empty(t, report.Components)
	assert.Equal(t, []string{"pod team/db-0 keeps the drain of node system-a from ending: PodDisruptionBudget budget-0 does not allow it"}, report.Others)
	assert.False(t, report.OK)
}

// TestTheCheckLeavesItsInputAlone makes sure that a play changes only its copy.
func TestTheCheckLeavesItsInputAlone(t *testing.T) {
	s := seed(picker("system-a", "system-b"), spread, budget(one()), dns("system-a", "system-a"), budget(atLeast(1)))
	before := seed(picker("system-a", "system-b"), spread, budget(one()), dns("system-a", "system-a"), budget(atLeast(1)))
	_, err := Check(t.Context(), s, catalogue(t))
	require.NoError(t, err)
	assert.Equal(t, before, s)
}
