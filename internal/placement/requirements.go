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
	"maps"
	"math"

	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// RequirementsOf gives what a template's engines need of nodes, with every default applied. Only a Worker has more than
// one pod a copy, and only where it says so. The result shares no memory with the template.
func RequirementsOf(engines []modelplane.Engine) []evenkeel.EngineRequirements {
	requirements := make([]evenkeel.EngineRequirements, 0, len(engines))
	for i := range engines {
		engine := &engines[i]
		members := make([]evenkeel.MemberRequirements, 0, len(engine.Members))
		for j := range engine.Members {
			members = append(members, memberRequirements(&engine.Members[j]))
		}
		requirements = append(requirements, evenkeel.EngineRequirements{
			Name:    engine.Name,
			Copies:  atLeastOne(ptr.Deref(engine.Copies, 1)),
			Members: members,
		})
	}
	return requirements
}

func memberRequirements(member *modelplane.Member) evenkeel.MemberRequirements {
	requirements := evenkeel.MemberRequirements{Role: roleOf(member.Role), Nodes: podsOf(member.Role, member.Worker)}
	if member.NodeSelector == nil {
		return requirements
	}
	for i := range member.NodeSelector.Devices {
		request := member.NodeSelector.Devices[i].DeepCopy()
		request.Count = ptr.To(requestCount(request.Count))
		requirements.Devices = append(requirements.Devices, *request)
	}
	return requirements
}

func roleOf(role modelplane.MemberRole) modelplane.MemberRole {
	if role == "" {
		return modelplane.MemberRoleStandalone
	}
	return role
}

func podsOf(role modelplane.MemberRole, worker *modelplane.WorkerGroup) int32 {
	if role != modelplane.MemberRoleWorker || worker == nil {
		return 1
	}
	return atLeastOne(worker.Nodes)
}

// requestCount never gives less than one: a request for nothing would match every node.
func requestCount(count *int64) int64 {
	return max(ptr.Deref(count, 1), 1)
}

func atLeastOne(n int32) int32 {
	return max(n, 1)
}

// MergeSelectors gives the selector that a cluster must satisfy for a deployment whose weights are in a cache: both, and
// on the same key the cache's value. It is nil, which selects every cluster, where neither names a label.
func MergeSelectors(deployment, cache *modelplane.LabelSelector) *modelplane.LabelSelector {
	merged := map[string]string{}
	for _, selector := range []*modelplane.LabelSelector{deployment, cache} {
		if selector != nil {
			maps.Copy(merged, selector.MatchLabels)
		}
	}
	if len(merged) == 0 {
		return nil
	}
	return &modelplane.LabelSelector{MatchLabels: merged}
}

// SelectorMatches tells whether labels have every label of the selector. A nil or empty selector matches all.
func SelectorMatches(selector *modelplane.LabelSelector, labels map[string]string) bool {
	if selector == nil {
		return true
	}
	for key, value := range selector.MatchLabels {
		if got, ok := labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// NodesUpperBound is how many nodes a replica can cost at most: all pods of members that request devices. It depends on
// the template alone, so that a quota charges the same before and after a cluster is chosen.
func NodesUpperBound(engines []evenkeel.EngineRequirements) int64 {
	var nodes int64
	for i := range engines {
		engine := &engines[i]
		for j := range engine.Members {
			if len(engine.Members[j].Devices) > 0 {
				nodes = addNodes(nodes, memberNodes(engine.Members[j].Nodes, engine.Copies))
			}
		}
	}
	return nodes
}

// memberNodes is what a member costs if it claims devices: a whole node for each of its pods.
func memberNodes(pods, copies int32) int64 {
	return int64(atLeastOne(pods)) * int64(atLeastOne(copies))
}

// addNodes adds two counts that are not negative. It stops at the largest number, since a cost that wraps around would
// look like free nodes.
func addNodes(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
