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

package simulation

import (
	"time"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// Outcome is what becomes of one replica.
type Outcome string

const (
	// OutcomeMoves is a replica that leaves its cluster and gets another.
	OutcomeMoves Outcome = "Moves"
	// OutcomeDeleted is a replica that leaves its cluster and finds no other: there is one less until there is room.
	OutcomeDeleted Outcome = "Deleted"
	// OutcomeHeld is a replica that must leave its cluster and stays, because it has nowhere to go, because its policy is
	// paused or lets nothing move, or because its deployment tolerates the taint for longer than was looked ahead.
	OutcomeHeld Outcome = "Held"
	// OutcomeRemoved is a replica that is not wanted any more.
	OutcomeRemoved Outcome = "Removed"
	// OutcomeLands is a replica that did not run before and gets a cluster.
	OutcomeLands Outcome = "Lands"
	// OutcomeWaits is a replica that did not run before and gets no cluster.
	OutcomeWaits Outcome = "Waits"
)

// Plan is what a change leads to.
type Plan struct {
	// Change that was looked at, in words, such as "drain gpu-us-east".
	Change string `json:"change"`
	// Replicas for which something changes, or that must leave and do not, in the order in which it happens; those for
	// which nothing happens come last.
	Replicas []Replica `json:"replicas"`
	// Deployments that these replicas belong to, by namespace and name.
	Deployments []Deployment `json:"deployments"`
	// Contended are the clusters that take replicas and are then too full for others which have nowhere else to go, by
	// name.
	Contended []Contention `json:"contended,omitempty"`
	// Duration that the plan covers: how much time passed until nothing changed any more, where loading takes none.
	Duration time.Duration `json:"durationNanoseconds"`
	// Unfinished says, where it is not empty, why the plan ends before everything was at rest.
	Unfinished string `json:"unfinished,omitempty"`
}

// Replica is one wanted replica of a deployment. It is told apart from the deployment's others by its slot, which it
// keeps when it moves.
type Replica struct {
	// Order counts, from 1, what happens. Zero is a replica for which nothing happens.
	Order      int    `json:"order,omitempty"`
	Namespace  string `json:"namespace"`
	Deployment string `json:"deployment"`
	Slot       int32  `json:"slot"`
	// Placement is the ReplicaPlacement that stands for it in the end, else that it had.
	Placement string  `json:"placement"`
	Outcome   Outcome `json:"outcome"`
	// From is where it runs now, nil where it does not.
	From *Place `json:"from,omitempty"`
	// To is where it runs in the end, nil where it does not.
	To *Place `json:"to,omitempty"`
	// Cause for which it leaves: a reason of the condition DisruptionTarget.
	Cause string `json:"cause,omitempty"`
	// Reason says, in a sentence, why it is held, deleted or waits.
	Reason string `json:"reason,omitempty"`
	// Lacks says for each cluster why the replica cannot go there, by name; for a replica without a destination.
	Lacks []Verdict `json:"lacks,omitempty"`
}

// Place is where a replica runs.
type Place struct {
	Cluster string `json:"cluster"`
	// Index among the deployment's replicas on the cluster.
	Index int32 `json:"index"`
	// Engines and their node pools.
	Engines []evenkeel.EngineAssignment `json:"engines,omitempty"`
}

// Verdict is why a cluster cannot take a replica.
type Verdict struct {
	Cluster string `json:"cluster"`
	// Plugin that refused it.
	Plugin string `json:"plugin,omitempty"`
	// Reason in the plugin's words, or with numbers where nodes are missing.
	Reason string `json:"reason"`
}

// Deployment is how a deployment fares meanwhile.
type Deployment struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Wanted replicas, at the end.
	Wanted int32 `json:"wanted"`
	// ServingBefore, LeastServing and ServingAfter count replicas that serve: now, at the worst time, and in the end.
	ServingBefore int32 `json:"servingBefore"`
	LeastServing  int32 `json:"leastServing"`
	ServingAfter  int32 `json:"servingAfter"`
	// MaxUnavailable is how many wanted replicas are without service at the worst time, those that were already included.
	MaxUnavailable int32 `json:"maxUnavailable"`
	// Policies are the DisruptionPolicies that its moves keep to.
	Policies []string `json:"policies,omitempty"`
}

// Contention is a cluster that takes some replicas and is then too full for others that find no place at all.
type Contention struct {
	Cluster string `json:"cluster"`
	// Takes counts the replicas of the plan that it takes.
	Takes int `json:"takes"`
	// Refuses names the ReplicaPlacements, as namespace/name, for which it then has too few free nodes.
	Refuses []string `json:"refuses"`
}

// Count counts the replicas with one of the outcomes.
func (p *Plan) Count(outcomes ...Outcome) int {
	n := 0
	for i := range p.Replicas {
		for _, outcome := range outcomes {
			if p.Replicas[i].Outcome == outcome {
				n++
			}
		}
	}
	return n
}

// Shortfall counts the replicas that would be deleted with nowhere to go: what the change costs in service for good.
func (p *Plan) Shortfall() int { return p.Count(OutcomeDeleted) }

// Unplaceable counts the replicas that get no cluster although they need one.
func (p *Plan) Unplaceable() int {
	n := p.Count(OutcomeDeleted, OutcomeWaits)
	for i := range p.Replicas {
		if p.Replicas[i].Outcome == OutcomeHeld && len(p.Replicas[i].Lacks) > 0 {
			n++
		}
	}
	return n
}
