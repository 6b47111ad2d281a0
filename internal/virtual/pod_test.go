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
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// oneEngine needs one node with a device for each copy.
func oneEngine(copies int32) []evenkeel.EngineRequirements {
	return []evenkeel.EngineRequirements{{
		Name: "main", Copies: copies,
		Members: []evenkeel.MemberRequirements{{
			Role: modelplane.MemberRoleStandalone, Nodes: 1,
			Devices: []modelplane.DeviceRequest{{Name: "gpu", Count: ptr.To[int64](1), Selectors: []modelplane.DeviceSelector{{CEL: "true"}}}},
		}},
	}}
}

func pendingPlacement(name string) *evenkeel.ReplicaPlacement {
	return &evenkeel.ReplicaPlacement{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "11", Generation: 2},
		Spec: evenkeel.ReplicaPlacementSpec{
			DeploymentName: "chat", Attempt: 1, SchedulerName: evenkeel.DefaultSchedulerName, Engines: oneEngine(3),
		},
	}
}

// assigned makes a placement one that the scheduler assigned at its present generation.
func assigned(p *evenkeel.ReplicaPlacement, cluster string) *evenkeel.ReplicaPlacement {
	p.Status.Assignment = &evenkeel.Assignment{ClusterName: cluster, Index: 4, Engines: []evenkeel.EngineAssignment{
		{Name: "main", Members: []evenkeel.MemberAssignment{{NodePoolName: "h100"}}},
	}}
	p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{
		Type: evenkeel.ConditionScheduled, Status: metav1.ConditionTrue, ObservedGeneration: p.Generation,
		LastTransitionTime: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), Reason: evenkeel.ReasonScheduled,
	})
	return p
}

func TestPodForPending(t *testing.T) {
	p := pendingPlacement("chat-0-1")
	p.Labels = map[string]string{"tier": "gold", LabelDeployment: "a person cannot set this"}
	p.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}
	p.Spec.ClusterSelector = &modelplane.LabelSelector{MatchLabels: map[string]string{"region": "us"}}
	p.Spec.Priority = ptr.To[int32](7)
	p.Spec.PreemptionPolicy = ptr.To(corev1.PreemptNever)
	p.Spec.Replaces = "chat-0-0"
	p.Spec.ExcludedClusters = []string{"east", "", "west"}
	p.Spec.Tolerations = []modelplane.Toleration{{Key: "maintenance", Operator: modelplane.TolerationOpExists}}
	p.Status.NominatedCluster = "north"
	p.Status.Conditions = []metav1.Condition{
		{Type: evenkeel.ConditionScheduled, Status: metav1.ConditionFalse, Reason: "Unschedulable", Message: "no room", ObservedGeneration: 1},
		{Type: evenkeel.ConditionDisruptionTarget, Status: metav1.ConditionTrue, Reason: evenkeel.CauseScaleDown},
	}

	pod := PodFor(p)

	excluded := func(name string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{name}}
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: "chat-0-1", UID: "uid-chat-0-1.g2", ResourceVersion: "11", Generation: 2,
			Labels: map[string]string{"tier": "gold", LabelDeployment: "chat"},
			Annotations: map[string]string{
				AnnotationRequirements: `{"deployment":"chat","engines":[{"name":"main","copies":3,"members":[{"role":"Standalone","nodes":1,` +
					`"devices":[{"name":"gpu","count":1,"selectors":[{"cel":"true"}]}]}]}],"replaces":"chat-0-0","excludedClusters":["east","","west"]}`,
				AnnotationLeaving: "true",
			},
		},
		Spec: corev1.PodSpec{
			SchedulerName:    "evenkeel",
			Priority:         ptr.To[int32](7),
			PreemptionPolicy: ptr.To(corev1.PreemptNever),
			NodeSelector:     map[string]string{"region": "us"},
			Tolerations:      []corev1.Toleration{{Key: "maintenance", Operator: corev1.TolerationOpExists}},
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
					{MatchFields: []corev1.NodeSelectorRequirement{excluded("east"), excluded("west")}},
				}},
			}},
			Containers: []corev1.Container{{Name: "replica", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{ResourceNodes: *resource.NewQuantity(3, resource.DecimalSI)},
			}}},
		},
		Status: corev1.PodStatus{
			Phase:             corev1.PodPending,
			NominatedNodeName: "north",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no room", ObservedGeneration: 1},
				{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: evenkeel.CauseScaleDown},
			},
		},
	}
	assert.Empty(t, cmp.Diff(want, pod))
	assert.True(t, Leaving(pod))
}

func TestPodForAssigned(t *testing.T) {
	p := assigned(pendingPlacement("chat-0-1"), "east")
	p.Status.NominatedCluster = "left over"

	pod := PodFor(p)

	assert.Equal(t, "east", pod.Spec.NodeName)
	assert.Equal(t, corev1.PodRunning, pod.Status.Phase)
	assert.Empty(t, pod.Status.NominatedNodeName)
	assert.Equal(t, p.Status.Conditions[0].LastTransitionTime, *pod.Status.StartTime)
	assert.False(t, Leaving(pod))
	assignment, err := AssignmentOf(pod)
	require.NoError(t, err)
	assert.Equal(t, p.Status.Assignment, assignment)

	pending := PodFor(pendingPlacement("chat-0-1"))
	pending.Spec.NodeName = "east" // as the scheduler assumes it
	assignment, err = AssignmentOf(pending)
	require.NoError(t, err)
	assert.Nil(t, assignment, "an assumed Pod has no assignment yet")
}

func TestPodForHides(t *testing.T) {
	with := func(change func(*evenkeel.ReplicaPlacement)) *evenkeel.ReplicaPlacement {
		p := pendingPlacement("chat-0-1")
		change(p)
		return p
	}
	moved := func(status metav1.ConditionStatus) func(*evenkeel.ReplicaPlacement) {
		return func(p *evenkeel.ReplicaPlacement) {
			p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{Type: evenkeel.ConditionMoved, Status: status})
		}
	}
	tests := map[string]struct {
		placement *evenkeel.ReplicaPlacement
		hidden    bool
	}{
		"pending":                  {placement: with(func(*evenkeel.ReplicaPlacement) {})},
		"assigned":                 {placement: with(func(p *evenkeel.ReplicaPlacement) { assigned(p, "east") })},
		"over":                     {placement: with(moved(metav1.ConditionTrue)), hidden: true},
		"over, assigned":           {placement: with(func(p *evenkeel.ReplicaPlacement) { moved(metav1.ConditionTrue)(assigned(p, "east")) }), hidden: true},
		"not over":                 {placement: with(moved(metav1.ConditionFalse))},
		"adopts":                   {placement: with(func(p *evenkeel.ReplicaPlacement) { p.Spec.Adopts = "chat-32a9b" }), hidden: true},
		"has adopted":              {placement: with(func(p *evenkeel.ReplicaPlacement) { p.Spec.Adopts = "chat-32a9b"; assigned(p, "east") })},
		"nothing but a zero value": {placement: &evenkeel.ReplicaPlacement{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.hidden, PodFor(tc.placement) == nil)
		})
	}
}

// The scheduler must take an edited pending placement for a new Pod, and must never lose sight of an assigned one.
func TestPodUIDFollowsTheSpecOfPendingPlacementsOnly(t *testing.T) {
	uid := func(change func(*evenkeel.ReplicaPlacement)) types.UID {
		p := pendingPlacement("chat-0-1")
		change(p)
		return PodFor(p).UID
	}
	pending := uid(func(*evenkeel.ReplicaPlacement) {})
	assert.Equal(t, types.UID("uid-chat-0-1.g2"), pending)
	assert.NotEqual(t, pending, uid(func(p *evenkeel.ReplicaPlacement) { p.Generation++ }), "an edit")
	assert.Equal(t, pending, uid(func(p *evenkeel.ReplicaPlacement) { p.Status.NominatedCluster = "east" }), "a status write")
	assert.Equal(t, pending, uid(func(p *evenkeel.ReplicaPlacement) { assigned(p, "east") }), "assigned as it is")
	assert.Equal(t, pending, uid(func(p *evenkeel.ReplicaPlacement) { assigned(p, "east"); p.Generation += 5 }), "edited after it was assigned")
	unobserved := func(p *evenkeel.ReplicaPlacement) { assigned(p, "east"); p.Status.Conditions = nil }
	assert.Equal(t, uid(unobserved), uid(func(p *evenkeel.ReplicaPlacement) { unobserved(p); p.Generation++ }), "assigned by another writer, then edited")
}

func TestPlacementUID(t *testing.T) {
	tests := map[types.UID]types.UID{
		"":                          "",
		"abc":                       "abc",
		"abc.g12":                   "abc",
		"abc.g":                     "abc.g",
		"abc.gx":                    "abc.gx",
		"a.g1.g2":                   "a.g1",
		"abc.g99999999999999999999": "abc.g99999999999999999999",
	}
	for podUID, want := range tests {
		assert.Equal(t, want, PlacementUID(podUID), "%q", podUID)
	}
}

func TestRequirementsOf(t *testing.T) {
	p := pendingPlacement("chat-0-1")
	requirements, err := RequirementsOf(PodFor(p))
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(&Requirements{Deployment: "chat", Engines: p.Spec.Engines}, requirements))

	sibling := pendingPlacement("chat-1-1")
	sibling.Spec.Slot = 1
	again, err := RequirementsOf(PodFor(sibling))
	require.NoError(t, err)
	assert.Same(t, requirements, again, "replicas of one deployment share one parsed value")

	for _, malformed := range []string{"", "{", "[]", `{"deployment":1,"clusterName":1}`} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b",
			Annotations: map[string]string{AnnotationRequirements: malformed, AnnotationAssignment: malformed}}}
		_, err := RequirementsOf(pod)
		assert.ErrorContains(t, err, "pod a/b: annotation evenkeel.io/requirements", "%q", malformed)
		_, err = AssignmentOf(pod)
		assert.ErrorContains(t, err, "pod a/b: annotation evenkeel.io/assignment", "%q", malformed)
	}
}

func TestExcludedClusters(t *testing.T) {
	p := pendingPlacement("chat-0-1")
	p.Spec.ExcludedClusters = []string{"east", "west"}
	affinity := nodeaffinity.GetRequiredNodeAffinity(PodFor(p))
	for cluster, want := range map[string]bool{"east": false, "west": false, "north": true, "eas": true} {
		matches, err := affinity.Match(NodeFor(servingCluster(cluster)))
		require.NoError(t, err)
		assert.Equal(t, want, matches, cluster)
	}
	p.Spec.ExcludedClusters = []string{""}
	assert.Nil(t, PodFor(p).Spec.Affinity)
}

func TestPodForSharesNoMemory(t *testing.T) {
	p := assigned(pendingPlacement("chat-0-1"), "east")
	p.Labels = map[string]string{"tier": "gold"}
	p.Spec.Priority = ptr.To[int32](7)
	p.Spec.ClusterSelector = &modelplane.LabelSelector{MatchLabels: map[string]string{"region": "us"}}
	p.Spec.Tolerations = []modelplane.Toleration{{Key: "k"}}
	pod := PodFor(p)
	want := pod.DeepCopy()

	p.Labels["tier"] = "lead"
	*p.Spec.Priority = 1
	p.Spec.ClusterSelector.MatchLabels["region"] = "eu"
	p.Spec.Tolerations[0].Key = "other"
	p.Spec.Engines[0].Name = "other"
	p.Status.Assignment.Engines[0].Members[0].NodePoolName = "other"
	p.Status.Conditions[0].Message = "other"

	assert.Empty(t, cmp.Diff(want, pod))
	assignment, err := AssignmentOf(pod)
	require.NoError(t, err)
	assert.Equal(t, "h100", assignment.Engines[0].Members[0].NodePoolName)
}

// The native matcher on translated objects must say what Modelplane's rule says, for any strings whatever.
func TestTolerationsMatchAsModelplaneDoes(t *testing.T) {
	texts := []string{"", "a", "no label: ä/\n" + strings.Repeat("long", 100)}
	effects := []modelplane.TaintEffect{"", modelplane.TaintEffectNoSchedule, modelplane.TaintEffectNoExecute, "PreferNoSchedule", "Other"}
	var taints []modelplane.Taint
	for _, key := range texts {
		for _, value := range texts {
			for _, effect := range effects {
				taints = append(taints, modelplane.Taint{Key: key, Value: value, Effect: effect})
			}
		}
	}
	var tolerations []modelplane.Toleration
	for _, key := range texts {
		for _, value := range texts {
			for _, effect := range effects {
				for _, operator := range []modelplane.TolerationOperator{"", "Equal", "Exists", "Gt", "Lt", "Other"} {
					for _, seconds := range []*int64{nil, ptr.To[int64](-1), ptr.To[int64](0), ptr.To[int64](60), ptr.To[int64](math.MaxInt64)} {
						tolerations = append(tolerations, modelplane.Toleration{Key: key, Operator: operator, Value: value, Effect: effect, TolerationSeconds: seconds})
					}
				}
			}
		}
	}
	for _, taint := range taints {
		for _, toleration := range tolerations {
			tolerates(t, []modelplane.Taint{taint}, []modelplane.Toleration{toleration})
		}
	}
	tolerates(t, taints[:9], tolerations[:100])
	tolerates(t, taints, tolerations)
	tolerates(t, taints, nil)
	tolerates(t, nil, tolerations)
}

// tolerates fails the test when the native matcher and Modelplane's rule differ on whether these taints keep a new
// replica away.
func tolerates(t *testing.T, taints []modelplane.Taint, tolerations []modelplane.Toleration) {
	keepsAway := func(taint *corev1.Taint) bool {
		return taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
	}
	want := len(placement.Repelling(tolerations, taints)) > 0
	_, got := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), nodeTaints(taints), podTolerations(tolerations), keepsAway, true)
	if got != want {
		t.Errorf("kept away natively: %t, by Modelplane's rule: %t; taints %+v, tolerations %+v", got, want, taints, tolerations)
	}
}

func TestConditionsRoundTrip(t *testing.T) {
	want := []metav1.Condition{
		{Type: evenkeel.ConditionReady, Status: metav1.ConditionUnknown, ObservedGeneration: 4, LastTransitionTime: metav1.Now(), Reason: "A", Message: "b"},
		{Type: evenkeel.ConditionScheduled, Status: metav1.ConditionFalse, ObservedGeneration: 3, LastTransitionTime: metav1.Now(), Reason: "C", Message: "d"},
		{Type: evenkeel.ConditionDisruptionTarget, Status: metav1.ConditionTrue, Reason: "E"},
		{Type: "example.com/Other", Status: metav1.ConditionTrue, Reason: "F"},
	}
	assert.Empty(t, cmp.Diff(want, placementConditions(podConditions(want))))
}

func FuzzPodFor(f *testing.F) {
	seeds := []*evenkeel.ReplicaPlacement{
		{},
		pendingPlacement("chat-0-1"),
		assigned(pendingPlacement(strings.Repeat("n", 253)), strings.Repeat("c", 253)),
	}
	for _, seed := range seeds {
		raw, err := json.Marshal(seed)
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Add([]byte(`{"metadata":{"labels":null,"uid":""},"spec":{"engines":[{"members":null,"copies":-5},{}],"tolerations":[{}],"clusterSelector":{}},"status":{"assignment":{},"conditions":[{}]}}`))
	f.Add([]byte(`{"metadata":{"generation":-1,"labels":{"":""}},"spec":{"engines":[{"copies":2147483647,"members":[{"nodes":2147483647,"devices":[{}]}]}],"clusterSelector":{"matchLabels":{"/":"%"}},"excludedClusters":["/"]},"status":{"conditions":[{"type":"Moved"}]}}`))
	node := NodeFor(servingCluster("east"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p := &evenkeel.ReplicaPlacement{}
		if json.Unmarshal(raw, p) != nil {
			return
		}
		pod := PodFor(p)
		if pod == nil {
			return
		}
		assert.Equal(t, p.UID, PlacementUID(pod.UID))
		_, err := RequirementsOf(pod)
		require.NoError(t, err, "what was translated parses")
		assignment, err := AssignmentOf(pod)
		require.NoError(t, err)
		assert.Equal(t, p.Status.Assignment != nil, assignment != nil)
		_, _ = nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	})
}
