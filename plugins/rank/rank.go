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

// Package rank holds the plugin Rank, which chooses one of the clusters that fit. The order is that of
// internal/placement and total, so that the same fleet always gets the same answer: kube-scheduler chooses at random
// between equal scores, therefore one cluster gets all points and the others none. It must not refuse a cluster that it
// has not found a better one for.
package rank

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/names"
)

// Rank is a plugin that gives the best cluster the highest score and all others the lowest.
type Rank struct {
	handle      fwk.Handle
	comparators []placement.Comparator
}

var _ fwk.PreFilterPlugin = &Rank{}
var _ fwk.PreScorePlugin = &Rank{}
var _ fwk.ScorePlugin = &Rank{}

const (
	// Name is the name of the plugin used in the plugin registry and configurations.
	Name = names.Rank

	preScoreStateKey fwk.StateKey = "PreScore" + Name
)

// New makes the plugin.
func New(_ context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	return &Rank{handle: handle, comparators: placement.DefaultComparators()}, nil
}

// Name returns the name of the plugin.
func (pl *Rank) Name() string {
	return Name
}

// preScoreState is computed at PreScore and used at Score.
type preScoreState struct {
	best string
}

// Clone returns the state itself, which nobody changes.
func (s *preScoreState) Clone() fwk.StateData {
	return s
}

// PreScore finds the best of the clusters that fit.
func (pl *Rank) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	requirements, err := virtual.RequirementsOf(pod)
	if err != nil {
		return fwk.AsStatus(err)
	}
	candidates := make([]placement.Candidate, 0, len(nodes))
	for _, nodeInfo := range nodes {
		candidates = append(candidates, candidateFor(requirements, pod.Namespace, nodeInfo))
	}
	best, ok := placement.Best(candidates, pl.comparators)
	if !ok {
		return fwk.NewStatus(fwk.Skip)
	}
	klog.FromContext(ctx).V(5).Info("Ranked clusters", "pod", klog.KObj(pod), "best", best.Cluster, "load", best.Load, "candidates", len(candidates))
	state.Write(preScoreStateKey, &preScoreState{best: best.Cluster})
	return nil
}

func candidateFor(requirements *virtual.Requirements, namespace string, nodeInfo fwk.NodeInfo) placement.Candidate {
	return placement.Candidate{
		Cluster: nodeInfo.Node().Name,
		Load:    load(requirements, namespace, nodeInfo),
		Cached:  cached(requirements, nodeInfo.Node()),
	}
}

// cached tells whether a cluster holds the weights of the placement's model. The placement's cluster selector has that of
// its ModelCache in it, so that clusters which the cache leaves out are no candidates; of the others those hold the
// weights that have a storage class to keep them in.
func cached(requirements *virtual.Requirements, node *v1.Node) bool {
	return requirements.ModelCache != "" && node.Annotations[virtual.AnnotationCacheStorage] != ""
}

// load counts the deployment's replicas on a cluster, without those that are about to leave and without the one that
// this placement takes over from.
func load(requirements *virtual.Requirements, namespace string, nodeInfo fwk.NodeInfo) int {
	count := 0
	for _, podInfo := range nodeInfo.GetPods() {
		pod := podInfo.GetPod()
		if pod.Namespace != namespace || pod.Labels[virtual.LabelDeployment] != requirements.Deployment {
			continue
		}
		if pod.DeletionTimestamp != nil || virtual.Leaving(pod) || pod.Name == requirements.Replaces {
			continue
		}
		count++
	}
	return count
}

// Score gives all points to the best cluster.
func (pl *Rank) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) (int64, *fwk.Status) {
	data, err := state.Read(preScoreStateKey)
	if err != nil {
		return 0, fwk.AsStatus(fmt.Errorf("read %q from the cycle state: %w", preScoreStateKey, err))
	}
	s, ok := data.(*preScoreState)
	if !ok {
		return 0, fwk.AsStatus(fmt.Errorf("%q in the cycle state is a %T", preScoreStateKey, data))
	}
	if nodeInfo.Node().Name == s.best {
		return fwk.MaxNodeScore, nil
	}
	return fwk.MinNodeScore, nil
}

// ScoreExtensions returns nil, since the scores need no normalizing.
func (pl *Rank) ScoreExtensions() fwk.ScoreExtensions {
	return nil
}
