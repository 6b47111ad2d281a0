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

package replicas

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// findCauses tells for each unit whether its replica must leave.
func (s *state) findCauses() {
	for u := range s.units {
		if u.assigned() {
			u.cause = s.findCause(u)
		}
	}
}

func (s *state) findCause(u *unit) *cause {
	if !u.alive() && (u.replica != nil || u.seen()) {
		return s.departed(u)
	}
	if c := u.condition(evenkeel.ConditionDisruptionTarget); u.withdrawing() && irrevocable(c) {
		return recorded(c)
	}
	st := s.stayOf(u)
	u.taintsSeen = st.seen
	why := s.retain(u, st.overdue)
	if why == nil {
		if c := s.preempted(u); c != nil {
			return c
		}
		return s.patience(u, st)
	}
	c := &cause{reason: why.Reason, message: why.Message, aboutCluster: why.AboutCluster, settled: true}
	// Nothing is lost by giving up a place where nothing runs yet.
	if !why.NeedsSettling || u.uncreated() {
		return c
	}
	return s.settle(u, c)
}

// irrevocable tells whether a cause that was written down stays the cause once requests are kept off the replica,
// whatever becomes of it: the move is as good as done. A replica more than wanted can be wanted again.
func irrevocable(c *metav1.Condition) bool {
	return c != nil && c.Status == metav1.ConditionTrue && c.Reason != evenkeel.CauseScaleDown && c.Reason != evenkeel.CauseNotServing
}

func recorded(c *metav1.Condition) *cause {
	return &cause{reason: c.Reason, message: c.Message, aboutCluster: isAboutCluster(c.Reason), settled: true}
}

// patience gives the causes that time brings to a replica that may stay for now: a cluster that is not ready for too
// long, and taints that are tolerated for a time. Where nothing runs yet, such a place is given up at once.
func (s *state) patience(u *unit, st stay) *cause {
	if c := s.degraded(u); c != nil {
		return c
	}
	c := tolerating(st)
	if c != nil && u.uncreated() {
		c.reason, c.settled = evenkeel.CauseTaint, true
	}
	return c
}

// degraded is the cause of a replica on a cluster that has not been ready for longer than the configuration allows.
func (s *state) degraded(u *unit) *cause {
	if s.Settings.DegradedAfter <= 0 || u.cluster == nil || placement.Ready(u.cluster.InferenceCluster) {
		return nil
	}
	ready := meta.FindStatusCondition(u.cluster.Status.Conditions, modelplane.ConditionReady)
	if ready == nil {
		return nil
	}
	due := ready.LastTransitionTime.Add(s.Settings.DegradedAfter)
	if s.Now.Before(due) {
		s.wake(due)
		return nil
	}
	c := &cause{
		reason:       evenkeel.CauseDegraded,
		message:      Bounded(fmt.Sprintf("the InferenceCluster %q has not been ready since %s (%s)", u.clusterName(), stamp(ready.LastTransitionTime.Time), ready.Reason)),
		aboutCluster: true,
		settled:      true,
	}
	s.brake(c)
	return c
}

// brake holds a cause back that no person asked for and that more than half of the fleet shows.
func (s *state) brake(c *cause) {
	if why := s.braked(c.reason); why != "" {
		c.settled = false
		c.message += "; " + why
	}
}

// departed is the cause of a replica that is on its way out or gone. Ours does not change any more, whatever becomes of
// the taint; without one, somebody else has deleted the replica.
func (s *state) departed(u *unit) *cause {
	if c := u.condition(evenkeel.ConditionDisruptionTarget); c != nil && c.Status == metav1.ConditionTrue {
		return recorded(c)
	}
	return &cause{
		reason:  evenkeel.CauseReplicaDeleted,
		message: fmt.Sprintf("the ModelReplica %q was deleted by somebody else", u.name),
		settled: true,
	}
}

func isAboutCluster(reason string) bool {
	switch reason {
	case evenkeel.CauseTaint, evenkeel.CauseClusterDeleted, evenkeel.CauseSelector, evenkeel.CauseDegraded, evenkeel.CausePreempted:
		return true
	}
	return false
}

// retain asks the placement rules. An empty list of clusters, or of those that the selector selects, is more likely a
// mistake than a wish to stop everything: it is reported and moves nothing that runs.
func (s *state) retain(u *unit, overdue []modelplane.Taint) *placement.Cause {
	if len(s.Clusters) == 0 && !u.uncreated() {
		return nil
	}
	in := placement.RetainInput{
		Engines:     s.engines,
		Tolerations: s.tolerations,
		Overdue:     overdue,
		Selector:    s.selector,
		Assigned:    u.placement.Status.Assignment.Engines,
		ClusterName: u.clusterName(),
	}
	if s.candidates == 0 && !u.uncreated() {
		in.Selector = nil
	}
	if u.replica != nil {
		in.Stamped = u.replica.Spec.Engines
	}
	if u.cluster != nil {
		in.Cluster, in.Pools = u.cluster.InferenceCluster, u.cluster.Pools
	}
	return s.Matcher.Retain(in)
}

// settle tells whether a cause that may be a passing fault has lasted. Its clock is a condition of the placement, and
// stands still, to start anew, while the cluster is not ready.
func (s *state) settle(u *unit, c *cause) *cause {
	if u.cluster != nil && !placement.Ready(u.cluster.InferenceCluster) {
		return nil
	}
	written := u.condition(evenkeel.ConditionDisruptionTarget)
	since := s.Now
	if written != nil && written.Reason == c.reason {
		c.settled = written.Status == metav1.ConditionTrue
		since = written.LastTransitionTime.Time
	} else {
		c.settled = false
	}
	if !c.settled {
		due := since.Add(s.Settings.SettleTime)
		c.settled = !s.Now.Before(due)
		s.wake(due)
	}
	s.brake(c)
	return c
}

// repels tells whether a cluster is one that the deployment's replicas must leave, or could not stay on for long.
func (s *state) repels(name string) bool {
	c := s.clusters[name]
	if c == nil {
		return false
	}
	evicts := func(t modelplane.Taint) bool { return t.Effect == modelplane.TaintEffectNoExecute }
	return slices.ContainsFunc(placement.Repelling(s.tolerations, c.Spec.Taints), evicts) || !placement.SelectorMatches(s.selector, c.Labels)
}
