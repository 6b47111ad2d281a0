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

package cluster

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// Move is one replica's move as its finished placement remembers it.
type Move struct {
	Finished   metav1.Time `json:"finished"`
	Namespace  string      `json:"namespace"`
	Deployment string      `json:"deployment"`
	// Replica is the name of the ModelReplica that left.
	Replica string `json:"replica"`
	// Cause is a reason of the condition DisruptionTarget.
	Cause string `json:"cause"`
	// By names who asked for it, as managed fields do; empty if nobody did.
	By   string `json:"by,omitempty"`
	From string `json:"from"`
	// To is empty if the replica had nowhere to go.
	To string `json:"to,omitempty"`
	// Took is the time from when it was known that the replica must leave until it was gone.
	Took metav1.Duration `json:"took"`
	// Outcome is the sentence with which the move ended.
	Outcome string `json:"outcome"`
}

// movesOf gives the finished moves from or to a cluster, the oldest first.
func movesOf(all []evenkeel.ReplicaPlacement, cluster string) []Move {
	moves := []Move{}
	for i := range all {
		if m, over := moveOf(&all[i]); over && (m.From == cluster || m.To == cluster) {
			moves = append(moves, m)
		}
	}
	slices.SortFunc(moves, func(a, b Move) int {
		return cmp.Or(a.Finished.Compare(b.Finished.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Replica, b.Replica))
	})
	return moves
}

// moveOf reads what a finished placement remembers.
func moveOf(p *evenkeel.ReplicaPlacement) (Move, bool) {
	moved := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionMoved)
	if moved == nil || moved.Status != metav1.ConditionTrue || p.Status.Assignment == nil {
		return Move{}, false
	}
	m := Move{
		Finished: moved.LastTransitionTime, Namespace: p.Namespace, Deployment: p.Spec.DeploymentName,
		Replica: placement.ReplicaNameOf(p), Cause: moved.Reason, From: p.Status.Assignment.ClusterName, Outcome: moved.Message,
	}
	if p.Status.Move != nil {
		m.By, m.To = p.Status.Move.Actor, p.Status.Move.To
	}
	if target := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionDisruptionTarget); target != nil {
		m.Took.Duration = moved.LastTransitionTime.Sub(target.LastTransitionTime.Time).Round(time.Second)
	}
	return m, true
}
