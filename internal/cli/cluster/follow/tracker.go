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

package follow

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// Tracker remembers the replicas that a drain has been about, also when they have left.
type Tracker struct {
	rows map[types.NamespacedName]*Row
}

// Update takes in a snapshot with a cluster and gives the rows that would now be told in other words.
func (t *Tracker) Update(s *Snapshot, now time.Time) []*Row {
	before := t.rows
	t.rows = make(map[types.NamespacedName]*Row, len(before))
	for _, r := range s.residents() {
		if row := present(s, r, before[r.key], now); row != nil {
			t.rows[r.key] = row
		}
	}
	for key, row := range before {
		if t.rows[key] == nil {
			t.rows[key] = departed(s, row, now)
		}
	}
	var changed []*Row
	for _, row := range t.Rows() {
		if old := before[row.Replica]; old == nil || !row.same(old) {
			changed = append(changed, row)
		}
	}
	return changed
}

// Rows gives all rows, by namespace and name.
func (t *Tracker) Rows() []*Row {
	return slices.SortedFunc(maps.Values(t.rows), func(a, b *Row) int {
		return cmp.Or(cmp.Compare(a.Replica.Namespace, b.Replica.Namespace), cmp.Compare(a.Replica.Name, b.Replica.Name))
	})
}

// present is the row of a replica on the cluster; before is nil if it is new. The result is nil if the replica is gone
// already and only its placement does not say so yet.
func present(s *Snapshot, r *resident, before *Row, now time.Time) *Row {
	report := s.report(r)
	if report.Left+report.Staying == 0 {
		return nil
	}
	row := &Row{Replica: r.key, From: s.Cluster.Name, Began: now}
	if before != nil {
		row.Began = before.Began
	}
	if r.placement != nil {
		row.Deployment, row.Placement = r.placement.Spec.DeploymentName, r.placement.Name
		if c := meta.FindStatusCondition(r.placement.Status.Conditions, evenkeel.ConditionDisruptionTarget); c != nil && c.Status == metav1.ConditionTrue {
			row.Began = c.LastTransitionTime.Time
		}
	} else {
		row.Deployment = r.replica.Labels[modelplane.LabelDeployment]
	}
	if report.Left == 0 {
		row.Step = StepStays
		return row
	}
	kind := report.Kinds[0]
	row.Reason, row.WaitingFor = kind.Reason, kind.Detail
	row.Step, row.To = stepOf(s, r, kind.Reason)
	return row
}

// stepOf tells at which step the move of a replica is that must leave. Steps that pass quickly are
// not written down on placements, but show in what exists.
func stepOf(s *Snapshot, r *resident, reason string) (step, to string) {
	if r.placement == nil {
		if r.replica.DeletionTimestamp != nil {
			return evenkeel.StepDeleting, ""
		}
		return evenkeel.StepWaiting, ""
	}
	next := s.successor(r.placement.Namespace, r.placement.Name)
	if next != nil && next.Status.Assignment != nil {
		to = next.Status.Assignment.ClusterName
	}
	move := r.placement.Status.Move
	switch {
	case r.replica != nil && r.replica.DeletionTimestamp != nil:
		step = evenkeel.StepDeleting
	case reason == evenkeel.LeavingTolerating:
		step = StepTolerating
	case move != nil && move.Step != "" && move.From == s.Cluster.Name && move.To != s.Cluster.Name: // else it is how the replica came here
		step = move.Step
	case next != nil && next.Status.Assignment == nil:
		step = evenkeel.StepPlacing
	default:
		step = evenkeel.StepWaiting
	}
	return step, to
}

// departed is the row of a replica that is not on the cluster any more.
func departed(s *Snapshot, before *Row, now time.Time) *Row {
	row := *before
	row.Reason, row.WaitingFor = "", ""
	over := func(step string) {
		if row.Step != step || row.Ended.IsZero() {
			row.Ended = now
		}
		row.Step = step
	}
	next := s.successor(row.Replica.Namespace, row.Placement)
	switch {
	case row.Placement == "" || next == nil:
		row.To = ""
		over(StepGone)
	case next.Status.Assignment == nil:
		row.To = ""
		row.WaitingFor = "room: " + verdictOn(next)
		over(StepNowhere)
	case serves(next):
		row.To = next.Status.Assignment.ClusterName
		over(evenkeel.StepServing)
	default:
		row.To = next.Status.Assignment.ClusterName
		row.Step, row.Ended = evenkeel.StepLoading, time.Time{}
		row.WaitingFor = placement.ReplicaNameOf(next) + " to serve"
	}
	return &row
}

// verdictOn is what the scheduler says of a placement that has no cluster.
func verdictOn(p *evenkeel.ReplicaPlacement) string {
	if c := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionScheduled); c != nil && c.Message != "" {
		return c.Message
	}
	return "the scheduler has not looked at it yet"
}
