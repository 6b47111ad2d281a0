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

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// Outcome is what a maintenance does to a workload; a later one in the list is worse.
type Outcome string

const (
	// OutcomeOK keeps a replica Ready all along.
	OutcomeOK Outcome = "ok"
	// OutcomeBlocks keeps the drain from ever ending. One who does not wait and deletes interrupts.
	OutcomeBlocks Outcome = "blocks"
	// OutcomeInterrupts leaves no replica Ready for a while.
	OutcomeInterrupts Outcome = "interrupts"
)

var badness = map[Outcome]int{"": 0, OutcomeOK: 0, OutcomeBlocks: 1, OutcomeInterrupts: 2}

func worse(a, b Outcome) Outcome {
	if badness[b] > badness[a] {
		return b
	}
	if a == "" {
		return OutcomeOK
	}
	return a
}

// blocked is a pod that a drain cannot evict, and why.
type blocked struct {
	pod    *corev1.Pod
	answer servingpath.Answer
	budget *policyv1.PodDisruptionBudget
}

// play is a maintenance under way.
type play struct {
	*world
	scheduler *scheduler
	watched   []*workload
	outcomes  map[*workload]Outcome
	stuck     []blocked
}

func newPlay(s *Snapshot, scheduler *scheduler, watched []*workload) *play {
	p := &play{world: newWorld(s), scheduler: scheduler, watched: watched, outcomes: map[*workload]Outcome{}}
	for _, w := range watched {
		p.outcomes[w] = OutcomeOK
	}
	return p
}

// drain evicts the pods of a cordoned node, all at once and again until none is left, as kubectl does. It tells whether
// it came to an end.
func (p *play) drain(ctx context.Context, node string) (bool, error) {
	for {
		before := p.readiness()
		var refused []blocked
		evicted := 0
		for _, pod := range p.on(node) {
			answer, budget := servingpath.Evict(pod, servingpath.Covering(p.budgets, pod.Namespace, pod.Labels))
			if answer != servingpath.Allowed {
				refused = append(refused, blocked{pod: pod, answer: answer, budget: budget})
				continue
			}
			p.replace(pod)
			evicted++
		}
		p.notice(before)
		placed, err := p.settle(ctx)
		if err != nil {
			return false, err
		}
		if len(refused) == 0 {
			return true, nil
		}
		if evicted == 0 && placed == 0 {
			p.block(refused)
			return false, nil
		}
	}
}

func (p *play) readiness() map[*workload]int {
	ready := map[*workload]int{}
	for _, w := range p.watched {
		ready[w] = p.ready(w)
	}
	return ready
}

// notice finds the workloads that have just lost their last Ready replica.
func (p *play) notice(before map[*workload]int) {
	for _, w := range p.watched {
		if before[w] > 0 && p.ready(w) == 0 {
			p.outcomes[w] = worse(p.outcomes[w], OutcomeInterrupts)
		}
	}
}

func (p *play) block(refused []blocked) {
	p.stuck = refused
	for _, b := range refused {
		for _, w := range p.watched {
			if w.owns(b.pod) {
				p.outcomes[w] = worse(p.outcomes[w], OutcomeBlocks)
			}
		}
	}
}

// settle lets time pass: Pending pods go where the scheduler puts them and become Ready, and budgets follow. It gives
// the number of pods that found a place.
func (p *play) settle(ctx context.Context) (int, error) {
	placed := 0
	for _, pod := range p.pods {
		if pod.Spec.NodeName != "" {
			continue
		}
		var others []*corev1.Pod
		for _, other := range p.pods {
			if other.Spec.NodeName != "" {
				others = append(others, other)
			}
		}
		node, err := p.scheduler.place(ctx, pod, others, p.nodes)
		if err != nil {
			return placed, err
		}
		if node == "" {
			continue
		}
		pod.Spec.NodeName = node
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		placed++
	}
	p.updateBudgets()
	return placed, nil
}
