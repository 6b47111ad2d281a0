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
	why := s.retain(u)
	if why == nil {
		return nil
	}
	c := &cause{reason: why.Reason, message: why.Message, aboutCluster: why.AboutCluster, settled: true}
	// Nothing is lost by giving up a place where nothing runs yet.
	if !why.NeedsSettling || u.uncreated() {
		return c
	}
	return s.settle(u, c)
}

// departed is the cause of a replica that is on its way out or gone. Ours does not change any more, whatever becomes of
// the taint; without one, somebody else has deleted the replica.
func (s *state) departed(u *unit) *cause {
	if c := u.condition(evenkeel.ConditionDisruptionTarget); c != nil && c.Status == metav1.ConditionTrue {
		return &cause{reason: c.Reason, message: c.Message, aboutCluster: isAboutCluster(c.Reason), settled: true}
	}
	return &cause{
		reason:  evenkeel.CauseReplicaDeleted,
		message: fmt.Sprintf("the ModelReplica %q was deleted by somebody else", u.name),
		settled: true,
	}
}

func isAboutCluster(reason string) bool {
	return reason == evenkeel.CauseTaint || reason == evenkeel.CauseClusterDeleted || reason == evenkeel.CauseSelector
}

// retain asks the placement rules. An empty list of clusters, or of those that the selector selects, is more likely a
// mistake than a wish to stop everything: it is reported and moves nothing that runs.
func (s *state) retain(u *unit) *placement.Cause {
	if len(s.Clusters) == 0 && !u.uncreated() {
		return nil
	}
	in := placement.RetainInput{
		Engines:     s.engines,
		Tolerations: s.Deployment.Spec.Template.Spec.Tolerations,
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
		if written.Status == metav1.ConditionTrue {
			return c
		}
		since = written.LastTransitionTime.Time
	}
	due := since.Add(s.Settings.SettleTime)
	c.settled = !s.Now.Before(due)
	s.wake(due)
	return c
}

// repels tells whether a cluster is one that the deployment's replicas must leave.
func (s *state) repels(name string) bool {
	c := s.clusters[name]
	if c == nil {
		return false
	}
	tolerations := s.Deployment.Spec.Template.Spec.Tolerations
	return len(placement.Untolerated(tolerations, c.Spec.Taints, modelplane.TaintEffectNoExecute)) > 0 ||
		!placement.SelectorMatches(s.selector, c.Labels)
}
