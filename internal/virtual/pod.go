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
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// generationMark stands between a placement's UID and its generation in a Pod's UID.
const generationMark = ".g"

// replicaContainer is the name of a translated Pod's only container.
const replicaContainer = "replica"

var (
	requirementsCodec = newCodec(parseJSON[Requirements])
	assignmentCodec   = newCodec(parseJSON[evenkeel.Assignment])
	moveCodec         = newCodec(parseJSON[evenkeel.Move])
)

// Requirements are what the plugins must know of a placement and a Pod has no field for. They hold nothing that tells
// the replicas of a deployment apart, so that those share one encoding.
type Requirements struct {
	// Deployment names the ModelDeployment in the Pod's namespace.
	Deployment string `json:"deployment"`
	// Engines to place, each whole onto one pool.
	Engines []evenkeel.EngineRequirements `json:"engines"`
	// Replaces names the placement that this one takes over from; empty when it does not.
	Replaces string `json:"replaces,omitempty"`
	// Surge tells that the nodes of what it takes over from are not free for it.
	Surge bool `json:"surge,omitempty"`
	// ModelCache names the cache of the model's weights; empty without one.
	ModelCache string `json:"modelCache,omitempty"`
	// ExcludedClusters are not considered. The Pod's node affinity says the same.
	ExcludedClusters []string `json:"excludedClusters,omitempty"`
}

// PodFor translates a placement, and returns nil for one that the scheduler must not see: a placement that is over, or
// one that adopts a replica and has no assignment yet. The Pod shares no memory with the placement that either might
// change.
func PodFor(p *evenkeel.ReplicaPlacement) *corev1.Pod {
	if hidden(p) {
		return nil
	}
	return podFor(p)
}

func hidden(p *evenkeel.ReplicaPlacement) bool {
	if meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionMoved) {
		return true
	}
	return p.Spec.Adopts != "" && p.Status.Assignment == nil
}

func podFor(p *evenkeel.ReplicaPlacement) *corev1.Pod {
	labels := copyMap(p.Labels, 1)
	labels[LabelDeployment] = p.Spec.DeploymentName
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         p.Namespace,
			Name:              p.Name,
			UID:               podUID(p),
			ResourceVersion:   p.ResourceVersion,
			Generation:        p.Generation,
			CreationTimestamp: p.CreationTimestamp,
			DeletionTimestamp: p.DeletionTimestamp.DeepCopy(),
			Labels:            labels,
			Annotations:       podAnnotations(p),
			OwnerReferences:   slices.Clone(p.OwnerReferences),
		},
		Spec: corev1.PodSpec{
			SchedulerName:    p.Spec.SchedulerName,
			Priority:         copyOf(p.Spec.Priority),
			PreemptionPolicy: copyOf(p.Spec.PreemptionPolicy),
			Tolerations:      podTolerations(p.Spec.Tolerations),
			Affinity:         excluding(p.Spec.ExcludedClusters),
			Containers:       []corev1.Container{containerFor(p.Spec.Engines)},
		},
		Status: corev1.PodStatus{
			Phase:      corev1.PodPending,
			Conditions: podConditions(p.Status.Conditions),
			Message:    moveText(p.Status.Move),
		},
	}
	if p.Spec.ClusterSelector != nil {
		pod.Spec.NodeSelector = copyMap(p.Spec.ClusterSelector.MatchLabels, 0)
	}
	if p.Status.Assignment == nil {
		pod.Status.NominatedNodeName = p.Status.NominatedCluster
		return pod
	}
	pod.Spec.NodeName = p.Status.Assignment.ClusterName
	if p.Status.PreemptedBy != nil && pod.DeletionTimestamp == nil {
		// To the scheduler it is as good as deleted. Only that there is a time matters.
		pod.DeletionTimestamp = p.CreationTimestamp.DeepCopy()
	}
	pod.Status.Phase = corev1.PodRunning
	if scheduled := scheduledCondition(p); scheduled != nil {
		pod.Status.StartTime = scheduled.LastTransitionTime.DeepCopy()
	}
	return pod
}

// podUID is the placement's UID with a generation. Of a pending placement it is the current generation: every edit of
// the spec makes a Pod that the scheduler has not seen, which it tries at once, where an update would only wake the
// Pod for the few changes that a real Pod allows. Of an assigned placement it is the generation that was assigned, so
// that a later edit is an update of the same Pod and its nodes never look free in between.
func podUID(p *evenkeel.ReplicaPlacement) types.UID {
	generation := p.Generation
	if p.Status.Assignment != nil {
		generation = 0
		if scheduled := scheduledCondition(p); scheduled != nil {
			generation = scheduled.ObservedGeneration
		}
	}
	return types.UID(string(p.UID) + generationMark + strconv.FormatInt(generation, 10))
}

// PlacementUID returns the UID of the placement that a Pod was translated from.
func PlacementUID(podUID types.UID) types.UID {
	uid, _ := splitUID(podUID)
	return uid
}

// splitUID returns a placement's UID and generation, and generation 0 for a UID that is not one of a translated Pod.
func splitUID(podUID types.UID) (types.UID, int64) {
	text := string(podUID)
	at := strings.LastIndex(text, generationMark)
	if at < 0 {
		return podUID, 0
	}
	generation, err := strconv.ParseInt(text[at+len(generationMark):], 10, 64)
	if err != nil {
		return podUID, 0
	}
	return types.UID(text[:at]), generation
}

// RequirementsOf returns the requirements of a translated Pod, shared and immutable.
func RequirementsOf(pod *corev1.Pod) (*Requirements, error) {
	requirements, err := requirementsCodec.decode(pod.Annotations[AnnotationRequirements])
	if err != nil {
		return nil, fmt.Errorf("pod %s/%s: annotation %s: %w", pod.Namespace, pod.Name, AnnotationRequirements, err)
	}
	return requirements, nil
}

// AssignmentOf returns the assignment of a translated Pod, shared and immutable, or nil when there is none yet. A Pod
// that the scheduler has assumed has a node name and still no assignment.
func AssignmentOf(pod *corev1.Pod) (*evenkeel.Assignment, error) {
	text, ok := pod.Annotations[AnnotationAssignment]
	if !ok {
		return nil, nil
	}
	assignment, err := assignmentCodec.decode(text)
	if err != nil {
		return nil, fmt.Errorf("pod %s/%s: annotation %s: %w", pod.Namespace, pod.Name, AnnotationAssignment, err)
	}
	return assignment, nil
}

// ReplicaNameOf names the ModelReplica that a translated Pod's placement has or will have, once it has an assignment.
func ReplicaNameOf(pod *corev1.Pod, assignment *evenkeel.Assignment) (string, error) {
	if adopted := pod.Annotations[AnnotationReplica]; adopted != "" {
		return adopted, nil
	}
	requirements, err := RequirementsOf(pod)
	if err != nil {
		return "", err
	}
	return placement.ReplicaName(requirements.Deployment, assignment.ClusterName, assignment.Index), nil
}

// moveText carries a placement's move through the scheduler, which has no use for it, to the write that replaces the
// placement's status. The scheduler takes no notice of a change in a Pod's status.
func moveText(move *evenkeel.Move) string {
	if move == nil {
		return ""
	}
	return moveCodec.encode(*move)
}

func moveOf(pod *corev1.Pod) *evenkeel.Move {
	if pod.Status.Message == "" {
		return nil
	}
	move, err := moveCodec.decode(pod.Status.Message)
	if err != nil {
		return nil // a report for people is no reason to place nothing
	}
	return move
}

// Leaving tells whether a translated Pod's replica is about to leave its cluster.
func Leaving(pod *corev1.Pod) bool {
	return pod.Annotations[AnnotationLeaving] == "true"
}

// podAnnotations holds Evenkeel's own keys only: the scheduler tries a pending Pod anew when any annotation changes.
func podAnnotations(p *evenkeel.ReplicaPlacement) map[string]string {
	out := make(map[string]string, 3)
	out[AnnotationRequirements] = requirementsCodec.encode(Requirements{
		Deployment:       p.Spec.DeploymentName,
		Engines:          p.Spec.Engines,
		Replaces:         p.Spec.Replaces,
		Surge:            p.Spec.Surge,
		ModelCache:       p.Spec.ModelCacheName,
		ExcludedClusters: p.Spec.ExcludedClusters,
	})
	if p.Status.Assignment != nil {
		out[AnnotationAssignment] = assignmentCodec.encode(p.Status.Assignment)
	}
	if meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionDisruptionTarget) {
		out[AnnotationLeaving] = "true"
	}
	if by := p.Status.PreemptedBy; by != nil {
		out[AnnotationPreemptor] = string(by.UID)
	}
	if p.Spec.Adopts != "" {
		out[AnnotationReplica] = p.Spec.Adopts
	}
	return out
}

// podTolerations keeps Modelplane's matching under the native matcher, which differs: natively an empty key matches
// every taint key also with Equal, and newer operators compare numbers. A toleration of limited time does not cover
// NoExecute, as placement.Repelling has it; natively it would let a replica land only to be evicted when the time is over.
func podTolerations(tolerations []modelplane.Toleration) []corev1.Toleration {
	if len(tolerations) == 0 {
		return nil
	}
	out := make([]corev1.Toleration, 0, len(tolerations))
	for i := range tolerations {
		if native, ok := podToleration(&tolerations[i]); ok {
			out = append(out, native)
		}
	}
	return out
}

// podToleration returns false for a toleration that covers nothing.
func podToleration(toleration *modelplane.Toleration) (corev1.Toleration, bool) {
	native := corev1.Toleration{
		Key:    toleration.Key,
		Value:  toleration.Value,
		Effect: corev1.TaintEffect(toleration.Effect),
	}
	switch toleration.Operator {
	case modelplane.TolerationOpExists:
		native.Operator = corev1.TolerationOpExists
	case modelplane.TolerationOpEqual, "":
		native.Operator = corev1.TolerationOpEqual
		if native.Key == "" {
			return corev1.Toleration{}, false
		}
	default:
		return corev1.Toleration{}, false
	}
	if placement.Limited(toleration) {
		switch toleration.Effect {
		case "":
			native.Effect = corev1.TaintEffectNoSchedule
		case modelplane.TaintEffectNoExecute:
			return corev1.Toleration{}, false
		}
	}
	return native, true
}

// excluding is an affinity that keeps a Pod off the named nodes. A requirement on a node's name takes one value.
func excluding(clusters []string) *corev1.Affinity {
	var requirements []corev1.NodeSelectorRequirement
	for _, name := range clusters {
		if name == "" {
			continue
		}
		requirements = append(requirements, corev1.NodeSelectorRequirement{
			Key:      metav1.ObjectNameField,
			Operator: corev1.NodeSelectorOpNotIn,
			Values:   []string{name},
		})
	}
	if len(requirements) == 0 {
		return nil
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: requirements}},
		},
	}}
}

func containerFor(engines []evenkeel.EngineRequirements) corev1.Container {
	nodes := *resource.NewQuantity(placement.NodesUpperBound(engines), resource.DecimalSI)
	return corev1.Container{
		Name:      replicaContainer,
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{ResourceNodes: nodes}},
	}
}

func copyOf[T any](in *T) *T {
	if in == nil {
		return nil
	}
	out := *in
	return &out
}
