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

package rank

import (
	"container/heap"
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
)

// maxTries is how many of the best clusters PreFilter looks at. When so many have refused, most of the fleet is likely
// full, and looking at all of it side by side, as the scheduler then does, is faster.
const maxTries = 100

// PreFilter asks the filters about one cluster after another, from the best to the worst, and narrows the cycle to the
// first that fits. That is the cluster that Score would choose, found without asking a thousand others. Where none of
// those that it asks fits, it narrows nothing: the scheduler then asks all clusters and explains what each of them lacks.
//
// It must be the last plugin at this point, since the filters read what the others prepare.
func (pl *Rank) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if len(pl.handle.Extenders()) > 0 {
		return nil, nil // an extender may refuse what the filters accept
	}
	requirements, err := virtual.RequirementsOf(pod)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	ranked := pl.rank(requirements, pod.Namespace, nodes)
	for range min(maxTries, ranked.Len()) {
		best := ranked.next()
		status := pl.handle.RunFilterPluginsWithNominatedPods(ctx, state, pod, best.nodeInfo)
		if status.IsSuccess() {
			klog.FromContext(ctx).V(5).Info("Found the best cluster that fits", "pod", klog.KObj(pod), "best", best.Cluster, "load", best.Load)
			return &fwk.PreFilterResult{NodeNames: sets.New(best.Cluster)}, nil
		}
		if status.Code() == fwk.Error {
			return nil, nil // for the scheduler to meet and to report
		}
	}
	return nil, nil
}

// PreFilterExtensions returns nil: what a simulation adds or removes changes no narrowing that was made before.
func (pl *Rank) PreFilterExtensions() fwk.PreFilterExtensions {
	return nil
}

func (pl *Rank) rank(requirements *virtual.Requirements, namespace string, nodes []fwk.NodeInfo) *ranking {
	r := &ranking{comparators: pl.comparators, items: make([]contender, 0, len(nodes))}
	for _, nodeInfo := range nodes {
		r.items = append(r.items, contender{Candidate: candidateFor(requirements, namespace, nodeInfo), nodeInfo: nodeInfo})
	}
	return r
}

// ranking gives clusters from the best to the worst. One placement seldom needs more than the first, which one pass
// finds; only for the second is the rest made a heap.
type ranking struct {
	comparators []placement.Comparator
	items       []contender
	given       int
}

// next takes the best of the clusters that are left. There must be one.
func (r *ranking) next() contender {
	r.given++
	switch r.given {
	case 1:
		return r.first()
	case 2:
		heap.Init(r)
	}
	return heap.Pop(r).(contender)
}

func (r *ranking) first() contender {
	best := 0
	for i := range r.items {
		if r.Less(i, best) {
			best = i
		}
	}
	r.Swap(best, r.Len()-1)
	return r.Pop().(contender)
}

type contender struct {
	placement.Candidate
	nodeInfo fwk.NodeInfo
}

func (r *ranking) Len() int { return len(r.items) }

func (r *ranking) Less(i, j int) bool {
	return placement.Better(r.items[i].Candidate, r.items[j].Candidate, r.comparators)
}

func (r *ranking) Swap(i, j int) { r.items[i], r.items[j] = r.items[j], r.items[i] }

func (r *ranking) Push(x any) { r.items = append(r.items, x.(contender)) }

func (r *ranking) Pop() any {
	last := len(r.items) - 1
	item := r.items[last]
	r.items = r.items[:last]
	return item
}
