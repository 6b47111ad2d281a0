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
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// ReplicaCost is what a ModelReplica costs, in nodes by pool, as it is stamped: whole nodes for all pods of members that
// have device requests. Whether the pools are still published is for the caller, who has the ledger; a pool that is not
// published is charged nothing there.
func ReplicaCost(spec *modelplane.ModelReplicaSpec) map[string]int64 {
	cost := map[string]int64{}
	for i := range spec.Engines {
		engine := &spec.Engines[i]
		for j := range engine.Members {
			member := &engine.Members[j]
			if len(member.DeviceRequests) > 0 {
				nodes := memberNodes(podsOf(member.Role, member.Worker), ptr.Deref(engine.Copies, 1))
				cost[member.NodePoolName] = addNodes(cost[member.NodePoolName], nodes)
			}
		}
	}
	return cost
}

// Cost is what a placement costs on the pools it is assigned to, in nodes by pool, while its ModelReplica is not there
// to tell. Members that claim devices count. A member that requests devices which its pool has no longer counts too,
// since its nodes are spoken for until the placement goes. Pools that are not published cost nothing, and neither do
// engines and members that only one side knows.
func (m *Matcher) Cost(engines []evenkeel.EngineRequirements, assigned []evenkeel.EngineAssignment, pools *Pools) map[string]int64 {
	prepared := m.prepareEngines(engines)
	cost := map[string]int64{}
	for i := range assigned {
		engine := prepared.named(assigned[i].Name)
		if engine == nil {
			continue
		}
		for j := range min(len(engine.members), len(assigned[i].Members)) {
			p := pools.named(assigned[i].Members[j].NodePoolName)
			if p == nil {
				continue
			}
			if found := m.match(&engine.members[j], p); found.claims || !found.ok {
				cost[p.name] = addNodes(cost[p.name], engine.members[j].nodes)
			}
		}
	}
	return cost
}

func (e *Engines) named(name string) *engine {
	for i := range e.engines {
		if e.engines[i].name == name {
			return &e.engines[i]
		}
	}
	return nil
}

func assignmentNamed(assigned []evenkeel.EngineAssignment, name string) *evenkeel.EngineAssignment {
	for i := range assigned {
		if assigned[i].Name == name {
			return &assigned[i]
		}
	}
	return nil
}

// AssignmentOf reads from a ModelReplica's engines where they are.
func AssignmentOf(engines []modelplane.ReplicaEngine) []evenkeel.EngineAssignment {
	assigned := make([]evenkeel.EngineAssignment, 0, len(engines))
	for i := range engines {
		members := make([]evenkeel.MemberAssignment, 0, len(engines[i].Members))
		for j := range engines[i].Members {
			members = append(members, evenkeel.MemberAssignment{NodePoolName: engines[i].Members[j].NodePoolName})
		}
		assigned = append(assigned, evenkeel.EngineAssignment{Name: engines[i].Name, Members: members})
	}
	return assigned
}
