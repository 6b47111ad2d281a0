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

package poolfit

import (
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
)

const (
	preFilterStateKey  fwk.StateKey = "PreFilter" + Name
	assignmentStateKey fwk.StateKey = "Assignment" + Name
)

// preFilterState is computed at PreFilter and used at Filter, Reserve and PostFilter.
type preFilterState struct {
	requirements *virtual.Requirements
	engines      *placement.Engines
	// removed are the replicas, by cluster, of Pods that a simulation has taken off. Their objects are still in the
	// ledger, so that taking the Pod from the NodeInfo would free nothing.
	removed map[string]map[types.NamespacedName]bool
	// shortages of the clusters that did not fit. A clone shares them: also a Filter that counts nominated Pods, which
	// runs on a clone, tells why a cluster does not fit.
	shortages *shortageList
}

// Clone makes a copy that AddPod and RemovePod can change.
func (s *preFilterState) Clone() fwk.StateData {
	clone := *s
	clone.removed = make(map[string]map[types.NamespacedName]bool, len(s.removed))
	for cluster, replicas := range s.removed {
		clone.removed[cluster] = maps.Clone(replicas)
	}
	return &clone
}

func readPreFilterState(state fwk.CycleState) (*preFilterState, error) {
	data, err := state.Read(preFilterStateKey)
	if err != nil {
		return nil, fmt.Errorf("read %q from the cycle state: %w", preFilterStateKey, err)
	}
	s, ok := data.(*preFilterState)
	if !ok {
		return nil, fmt.Errorf("%q in the cycle state is a %T", preFilterStateKey, data)
	}
	return s, nil
}

// shortageList collects shortages from filters that run side by side.
type shortageList struct {
	mu    sync.Mutex
	items []clusterShortage
}

type clusterShortage struct {
	cluster  string
	shortage *placement.Shortage
}

func (l *shortageList) add(cluster string, shortage *placement.Shortage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items = append(l.items, clusterShortage{cluster, shortage})
}

// Shortages tells why clusters did not fit in this cycle, by name. Clusters that another plugin refused first are not
// among them. It is empty before PoolFit has run.
func Shortages(state fwk.CycleState) map[string]*placement.Shortage {
	s, err := readPreFilterState(state)
	if err != nil {
		return nil
	}
	s.shortages.mu.Lock()
	defer s.shortages.mu.Unlock()
	shortages := make(map[string]*placement.Shortage, len(s.shortages.items))
	for _, item := range s.shortages.items {
		shortages[item.cluster] = item.shortage
	}
	return shortages
}

// assignmentState carries the decision from Reserve to Bind.
type assignmentState struct {
	assignment evenkeel.Assignment
}

// Clone returns the state itself, which nobody changes.
func (s *assignmentState) Clone() fwk.StateData {
	return s
}

// ChosenAssignment returns what PoolFit has decided in this cycle: the cluster, the index and the pools. It is an error
// to ask before Reserve. The result is shared and must not be changed.
func ChosenAssignment(state fwk.CycleState) (*evenkeel.Assignment, error) {
	data, err := state.Read(assignmentStateKey)
	if err != nil {
		return nil, fmt.Errorf("plugin %s has not assigned node pools in this scheduling cycle, is it enabled at reserve? %w", Name, err)
	}
	s, ok := data.(*assignmentState)
	if !ok {
		return nil, fmt.Errorf("%q in the cycle state is a %T", assignmentStateKey, data)
	}
	return &s.assignment, nil
}
