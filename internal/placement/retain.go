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

package placement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

const maxShownTaints = 3

// RetainInput is a replica, the template it should follow, and the cluster it is on.
type RetainInput struct {
	// Engines of the current template.
	Engines []evenkeel.EngineRequirements
	// Tolerations of the current template.
	Tolerations []modelplane.Toleration
	// Overdue are NoExecute taints of the cluster that were tolerated for a time that is over.
	Overdue []modelplane.Taint
	// Selector of the current template, merged with its cache's.
	Selector *modelplane.LabelSelector
	// Assigned are the pools that the replica is on. Nil means those that Stamped names.
	Assigned []evenkeel.EngineAssignment
	// Stamped are the engines of the ModelReplica, nil while there is none.
	Stamped []modelplane.ReplicaEngine
	// ClusterName of the cluster that the replica is on.
	ClusterName string
	// Cluster of that name, nil if there is none.
	Cluster *modelplane.InferenceCluster
	// Pools that the cluster publishes.
	Pools *Pools
}

// Cause is why a replica must leave.
type Cause struct {
	// Reason is one of the causes of evenkeel.io/v1alpha1.
	Reason string
	// Message for people.
	Message string
	// AboutCluster tells that the replica must not come back to the same cluster for as long as the cause lasts.
	AboutCluster bool
	// NeedsSettling tells that the cause may be a passing fault of what publishes clusters and classes, and should last
	// before anything is moved for it.
	NeedsSettling bool
}

// Retain tells whether a replica may stay where it is: nil if so. Modelplane's rules. It does not look at the cluster's
// readiness, gateway, NoSchedule taints or free nodes: a replica that may stay does so even if it would not be placed
// there anew.
//
// Of several causes the one that calls for action soonest is given: a cluster that is gone, then NoExecute taints, then
// the template, then the selector and the pools, which need settling.
//
// Where a pool does not match the current template any more, either can have changed. It is the template if the replica
// was stamped with other requests and the pool still has what these ask for. Everything else counts as the pool's doing,
// also what cannot be told: a replica without its stamp, and one whose unmet request a synthetic device met before,
// which a stamp does not mention. That costs the settling time at worst, where the opposite mistake would empty a fleet
// at once when a class of devices is withdrawn by mistake.
//
// Unlike in Modelplane, a template with a selector that does not compile is no cause: its author is told, and what runs
// goes on running.
func (m *Matcher) Retain(in RetainInput) *Cause {
	if in.Cluster == nil {
		return &Cause{
			Reason:        evenkeel.CauseClusterDeleted,
			Message:       bounded(fmt.Sprintf("the InferenceCluster %q does not exist", in.ClusterName), maxShownError),
			AboutCluster:  true,
			NeedsSettling: true,
		}
	}
	taints := append(Untolerated(in.Tolerations, in.Cluster.Spec.Taints, modelplane.TaintEffectNoExecute), in.Overdue...)
	if len(taints) > 0 {
		sortTaints(taints)
		return &Cause{Reason: evenkeel.CauseTaint, Message: taintMessage(in.ClusterName, taints), AboutCluster: true}
	}
	var pools *Cause
	if prepared := m.prepareEngines(in.Engines); prepared.invalid == nil {
		if in.Assigned == nil {
			in.Assigned = AssignmentOf(in.Stamped)
		}
		if message := shapeMismatch(prepared, &in); message != "" {
			return templateCause(message)
		}
		pools = m.retainPools(prepared, &in)
	}
	if pools != nil && pools.Reason == evenkeel.CauseTemplate {
		return pools
	}
	if !SelectorMatches(in.Selector, in.Cluster.Labels) {
		return &Cause{
			Reason:        evenkeel.CauseSelector,
			Message:       selectorMessage(in.ClusterName, in.Selector, in.Cluster.Labels),
			AboutCluster:  true,
			NeedsSettling: true,
		}
	}
	return pools
}

func templateCause(message string) *Cause {
	return &Cause{Reason: evenkeel.CauseTemplate, Message: bounded(message, maxShownError)}
}

func taintMessage(cluster string, taints []modelplane.Taint) string {
	shown := make([]string, 0, maxShownTaints)
	for _, taint := range taints[:min(len(taints), maxShownTaints)] {
		shown = append(shown, TaintString(taint))
	}
	more := ""
	if len(taints) > maxShownTaints {
		more = fmt.Sprintf(" and %d more", len(taints)-maxShownTaints)
	}
	return bounded(fmt.Sprintf("the InferenceCluster %q has taints that the deployment does not tolerate: %s%s",
		cluster, strings.Join(shown, ", "), more), maxShownError)
}

func selectorMessage(cluster string, selector *modelplane.LabelSelector, labels map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		want := selector.MatchLabels[key]
		got, found := labels[key]
		switch {
		case !found:
			return bounded(fmt.Sprintf("the InferenceCluster %q has no label %q, and %q is selected", cluster, key, want), maxShownError)
		case got != want:
			return bounded(fmt.Sprintf("the InferenceCluster %q has the label %s=%q, and %q is selected", cluster, key, got, want), maxShownError)
		}
	}
	return ""
}

// shapeMismatch says how the replica's engines, members or roles differ from the template's. Their order does not
// matter, and roles are known of a stamped replica only.
func shapeMismatch(prepared *Engines, in *RetainInput) string {
	if len(prepared.engines) != len(in.Assigned) {
		return fmt.Sprintf("the template has %d engines and the replica %d", len(prepared.engines), len(in.Assigned))
	}
	for i := range prepared.engines {
		e := &prepared.engines[i]
		to := assignmentNamed(in.Assigned, e.name)
		if to == nil {
			return fmt.Sprintf("the replica does not have the template's engine %q", e.name)
		}
		if len(to.Members) != len(e.members) {
			return fmt.Sprintf("engine %q has %d members in the template and %d in the replica", e.name, len(e.members), len(to.Members))
		}
		for j := range e.members {
			stamped := stampedMember(in.Stamped, e.name, j)
			if stamped != nil && roleOf(stamped.Role) != e.members[j].role {
				return fmt.Sprintf("member %d of engine %q is a %s in the template and a %s in the replica", j, e.name, e.members[j].role, roleOf(stamped.Role))
			}
		}
	}
	return ""
}

func stampedMember(stamped []modelplane.ReplicaEngine, engine string, member int) *modelplane.ReplicaMember {
	for i := range stamped {
		if stamped[i].Name == engine && member < len(stamped[i].Members) {
			return &stamped[i].Members[member]
		}
	}
	return nil
}

// retainPools tells which engine cannot stay on its pools. A cause that lies with the template comes before one that
// lies with a pool.
func (m *Matcher) retainPools(prepared *Engines, in *RetainInput) *Cause {
	var pool *Cause
	for i := range prepared.engines {
		e := &prepared.engines[i]
		cause := m.retainEngine(e, assignmentNamed(in.Assigned, e.name), in)
		if cause != nil && cause.Reason == evenkeel.CauseTemplate {
			return cause
		}
		if pool == nil {
			pool = cause
		}
	}
	return pool
}

func (m *Matcher) retainEngine(e *engine, to *evenkeel.EngineAssignment, in *RetainInput) *Cause {
	claims := false
	for i := range e.members {
		name := to.Members[i].NodePoolName
		p := in.Pools.named(name)
		if p == nil {
			return poolCause(fmt.Sprintf("the InferenceCluster %q does not publish node pool %q, where engine %q is", in.ClusterName, name, e.name))
		}
		found := m.match(&e.members[i], p)
		if !found.ok {
			message := fmt.Sprintf("node pool %q of InferenceCluster %q has no device left for request %q of engine %q",
				name, in.ClusterName, e.members[i].requests[len(found.devices)].name, e.name)
			if m.templateChanged(e, to, in) {
				return templateCause(message)
			}
			return poolCause(message)
		}
		claims = claims || found.claims
	}
	if claims {
		return nil
	}
	message := fmt.Sprintf("engine %q would claim no device on its node pools of InferenceCluster %q", e.name, in.ClusterName)
	if m.templateChanged(e, to, in) {
		return templateCause(message)
	}
	return poolCause(message)
}

func poolCause(message string) *Cause {
	return &Cause{Reason: evenkeel.CausePool, Message: bounded(message, maxShownError), NeedsSettling: true}
}

// templateChanged tells whether an engine was stamped with other requests than the template's, which its pools still
// meet: then they have not changed, and the template has.
func (m *Matcher) templateChanged(e *engine, to *evenkeel.EngineAssignment, in *RetainInput) bool {
	changed, claims := false, false
	for i := range e.members {
		stamped := stampedMember(in.Stamped, e.name, i)
		p := in.Pools.named(to.Members[i].NodePoolName)
		if stamped == nil || p == nil {
			return false
		}
		changed = changed || !hasRequests(&e.members[i], stamped.DeviceRequests)
		found := m.match(m.stampedRequirements(stamped), p)
		if !found.ok {
			return false
		}
		claims = claims || found.claims
	}
	return changed && claims
}

// hasRequests tells whether each stamped request is among the template's, with the same count and selectors.
func hasRequests(current *member, stamped []modelplane.ReplicaDeviceRequest) bool {
	for i := range stamped {
		same := slices.ContainsFunc(current.requests, func(r request) bool {
			return r.name == stamped[i].Name && r.count == requestCount(stamped[i].Count) && slices.Equal(r.selectors, stamped[i].Selectors)
		})
		if !same {
			return false
		}
	}
	return true
}

func (m *Matcher) stampedRequirements(stamped *modelplane.ReplicaMember) *member {
	required := evenkeel.EngineRequirements{Members: []evenkeel.MemberRequirements{{}}}
	for i := range stamped.DeviceRequests {
		r := &stamped.DeviceRequests[i]
		required.Members[0].Devices = append(required.Members[0].Devices, modelplane.DeviceRequest{
			Name: r.Name, Count: ptr.To(requestCount(r.Count)), Selectors: r.Selectors,
		})
	}
	return &m.prepareEngines([]evenkeel.EngineRequirements{required}).engines[0].members[0]
}
