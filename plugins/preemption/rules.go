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

package preemption

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	upstream "k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"github.com/evenkeel-io/evenkeel/internal/virtual"
)

// rules are those of kube-scheduler's DefaultPreemption, with every choice made in a total order: kube-scheduler begins at
// a random node, sorts equals as they come, and takes any of several equally good nodes.
type rules struct {
	*defaultpreemption.DefaultPreemption
	handle fwk.Handle
}

var _ upstream.Interface = &rules{}

func newRules(ctx context.Context, handle fwk.Handle) (*rules, error) {
	inner, err := defaultpreemption.New(ctx, &config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 100, MinCandidateNodesAbsolute: 1}, handle, feature.Features{})
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", defaultpreemption.Name, err)
	}
	inner.IsEligiblePod = eligible
	inner.MoreImportantPod = moreImportant
	return &rules{DefaultPreemption: inner, handle: handle}, nil
}

// eligible leaves out what cannot be asked to leave: a placement whose assignment is being written.
func eligible(_ fwk.NodeInfo, victim fwk.PodInfo, _ *v1.Pod) bool {
	return victim.GetPod().Annotations[virtual.AnnotationAssignment] != ""
}

// moreImportant puts the higher priority first, then the older replica, then the name.
func moreImportant(a, b *v1.Pod) bool {
	return cmp.Or(
		cmp.Compare(corev1helpers.PodPriority(b), corev1helpers.PodPriority(a)),
		util.GetPodStartTime(a).Compare(util.GetPodStartTime(b).Time),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	) < 0
}

// GetOffsetAndNumCandidates looks at all clusters, from the first.
func (r *rules) GetOffsetAndNumCandidates(clusters int32) (int32, int32) {
	return 0, clusters
}

// PodEligibleToPreemptOthers tells whether a placement may preempt, or why not. One whose victims have not left yet waits
// for them, unless its cluster has become impossible.
func (r *rules) PodEligibleToPreemptOthers(_ context.Context, pod *v1.Pod, nominated *fwk.Status) (bool, string) {
	if policy := pod.Spec.PreemptionPolicy; policy != nil && *policy == v1.PreemptNever {
		return false, "It may not preempt (preemptionPolicy Never)."
	}
	cluster := pod.Status.NominatedNodeName
	if cluster == "" || nominated.Code() == fwk.UnschedulableAndUnresolvable {
		return true, ""
	}
	nodeInfo, err := r.handle.SnapshotSharedLister().NodeInfos().Get(cluster)
	if err != nil {
		return true, "" // the cluster is gone
	}
	left := 0
	for _, podInfo := range nodeInfo.GetPods() {
		if virtual.PreemptorUID(podInfo.GetPod()) == virtual.PlacementUID(pod.UID) {
			left++
		}
	}
	if left == 0 {
		return true, ""
	}
	return false, fmt.Sprintf("Waiting for %d replica(s) to leave InferenceCluster %q.", left, cluster)
}

// OrderedScoreFuncs is kube-scheduler's order of clusters: the fewest violated budgets, the lowest of the most important
// victims, the lowest victims together, the fewest, the youngest; and then the name.
func (r *rules) OrderedScoreFuncs(_ context.Context, victims map[string]*extenderv1.Victims) []func(cluster string) int64 {
	names := make([]string, 0, len(victims))
	for name := range victims {
		names = append(names, name)
	}
	slices.Sort(names)
	return []func(string) int64{
		func(cluster string) int64 { return -victims[cluster].NumPDBViolations },
		func(cluster string) int64 { return -int64(corev1helpers.PodPriority(victims[cluster].Pods[0])) },
		func(cluster string) int64 { return -sumOfPriorities(victims[cluster].Pods) },
		func(cluster string) int64 { return -int64(len(victims[cluster].Pods)) },
		func(cluster string) int64 { return util.GetEarliestPodStartTime(victims[cluster]).UnixNano() },
		func(cluster string) int64 { return -int64(slices.Index(names, cluster)) },
	}
}

// sumOfPriorities counts each priority from zero, so that one more victim is never better than one less.
func sumOfPriorities(pods []*v1.Pod) int64 {
	var sum int64
	for _, pod := range pods {
		sum += int64(corev1helpers.PodPriority(pod)) - math.MinInt32
	}
	return sum
}
