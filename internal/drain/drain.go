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

package drain

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// Observation is what is known of one cluster. Objects are not changed, and may be shared with a cache.
type Observation struct {
	// Cluster whose drain it is.
	Cluster *modelplane.InferenceCluster
	// Replicas on the cluster, of all namespaces, terminating ones too.
	Replicas []*modelplane.ModelReplica
	// Placements that are assigned to the cluster, without finished ones.
	Placements []*evenkeel.ReplicaPlacement
	// Tolerations of a ModelDeployment; false if there is no such deployment. A placement may have been made before these
	// were edited.
	Tolerations func(deployment types.NamespacedName) ([]modelplane.Toleration, bool)
}

// Kind is one reason for which replicas are still on a cluster that they must leave.
type Kind struct {
	// Reason is one of the constants Leaving...
	Reason string
	// Count of the replicas.
	Count int
	// Example is the first of them by namespace and name.
	Example types.NamespacedName
	// Detail says what the example waits for, if that is known.
	Detail string
}

// Report is how far a drain has come.
type Report struct {
	// Left counts the replicas that must still leave.
	Left int
	// Staying counts those that may stay, since their deployments tolerate the taints for good.
	Staying int
	// Kinds of reasons for those left: what needs a person first.
	Kinds []Kind
}

// Reasons lists all kinds, in the order in which they are reported.
func Reasons() []string {
	return []string{
		evenkeel.LeavingUnplaceable, evenkeel.LeavingNotServing, evenkeel.LeavingPaused, evenkeel.LeavingUnmanaged,
		evenkeel.LeavingBudget, evenkeel.LeavingTolerating, evenkeel.LeavingMoving,
	}
}

// Draining tells whether a cluster is being drained: it has a NoExecute taint.
func Draining(cluster *modelplane.InferenceCluster) bool {
	return slices.ContainsFunc(cluster.Spec.Taints, func(taint modelplane.Taint) bool {
		return taint.Effect == modelplane.TaintEffectNoExecute
	})
}

// Observe makes the report. The order of the lists does not matter.
func Observe(o Observation) Report {
	c := counter{observation: &o, kinds: map[string]*Kind{}}
	placements := make(map[types.NamespacedName]*evenkeel.ReplicaPlacement, len(o.Placements))
	for _, p := range o.Placements {
		placements[types.NamespacedName{Namespace: p.Namespace, Name: placement.ReplicaNameOf(p)}] = p
	}
	for _, r := range o.Replicas {
		key := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
		c.countReplica(r, placements[key])
		delete(placements, key)
	}
	for key, p := range placements {
		c.countReplicaToBe(key, p)
	}
	return c.report()
}

type counter struct {
	observation *Observation
	kinds       map[string]*Kind
	left        int
	staying     int
}

// countReplica counts a replica that exists; p is nil if no placement stands for it.
func (c *counter) countReplica(r *modelplane.ModelReplica, p *evenkeel.ReplicaPlacement) {
	key := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
	switch {
	case r.DeletionTimestamp != nil:
		c.leave(key, evenkeel.LeavingMoving, "its pods to end")
	case p != nil && meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionDisruptionTarget):
		reason, detail := reasonOf(p)
		c.leave(key, reason, detail)
	case p != nil:
		c.judge(key, c.tolerations(p), evenkeel.LeavingMoving, "its move to begin")
	default:
		deployment := types.NamespacedName{Namespace: r.Namespace, Name: r.Labels[modelplane.LabelDeployment]}
		tolerations, _ := c.observation.Tolerations(deployment)
		c.judge(key, tolerations, evenkeel.LeavingUnmanaged, "whoever keeps the replicas of ModelDeployment "+deployment.Name)
	}
}

// countReplicaToBe counts a placement whose replica was never made: it may be, as long as the placement is there.
func (c *counter) countReplicaToBe(key types.NamespacedName, p *evenkeel.ReplicaPlacement) {
	if meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionReady) == nil {
		c.judge(key, c.tolerations(p), evenkeel.LeavingMoving, "another place")
	}
}

// tolerations of a placement's deployment as they are now; the placement's own if the deployment is gone.
func (c *counter) tolerations(p *evenkeel.ReplicaPlacement) []modelplane.Toleration {
	deployment := types.NamespacedName{Namespace: p.Namespace, Name: p.Spec.DeploymentName}
	if tolerations, found := c.observation.Tolerations(deployment); found {
		return tolerations
	}
	return p.Spec.Tolerations
}

// judge counts a replica by what its deployment tolerates.
func (c *counter) judge(key types.NamespacedName, tolerations []modelplane.Toleration, reason, detail string) {
	taints := c.observation.Cluster.Spec.Taints
	switch {
	case len(placement.Untolerated(tolerations, taints, modelplane.TaintEffectNoExecute)) > 0:
		c.leave(key, reason, detail)
	case len(placement.Untolerated(forGood(tolerations), taints, modelplane.TaintEffectNoExecute)) > 0:
		c.leave(key, evenkeel.LeavingTolerating, "its tolerationSeconds to pass")
	default:
		c.staying++
	}
}

// forGood gives the tolerations that do not end.
func forGood(tolerations []modelplane.Toleration) []modelplane.Toleration {
	return slices.DeleteFunc(slices.Clone(tolerations), func(t modelplane.Toleration) bool { return t.TolerationSeconds != nil })
}

func (c *counter) leave(key types.NamespacedName, reason, detail string) {
	c.left++
	k := c.kinds[reason]
	if k == nil {
		k = &Kind{Reason: reason, Example: key, Detail: detail}
		c.kinds[reason] = k
	}
	k.Count++
	if compareKeys(key, k.Example) < 0 {
		k.Example, k.Detail = key, detail
	}
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func (c *counter) report() Report {
	r := Report{Left: c.left, Staying: c.staying}
	for _, reason := range Reasons() {
		if k := c.kinds[reason]; k != nil {
			r.Kinds = append(r.Kinds, *k)
		}
	}
	return r
}

// reasonOf tells why the replica of a placement that must leave is still there. A reason that is not known counts as
// being on the move.
func reasonOf(p *evenkeel.ReplicaPlacement) (reason, detail string) {
	move := p.Status.Move
	if move == nil || p.Status.Assignment != nil && move.To == p.Status.Assignment.ClusterName { // which is how it came here
		return evenkeel.LeavingMoving, "its move to begin"
	}
	if slices.Contains(Reasons(), move.Reason) {
		return move.Reason, move.WaitingFor
	}
	return evenkeel.LeavingMoving, move.WaitingFor
}
