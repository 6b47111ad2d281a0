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
	"strconv"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// identity tells the replicas of one deployment apart.
type identity struct {
	cluster string
	index   int32
}

// identityOf reads a replica's identity. An index that is missing or no number is 0, as in Modelplane.
func identityOf(r *modelplane.ModelReplica) identity {
	index, err := strconv.ParseInt(r.Labels[modelplane.LabelReplicaIndex], 10, 32)
	if err != nil || index < 0 {
		index = 0
	}
	return identity{cluster: r.Spec.ClusterName, index: int32(index)}
}

// adopt gives placements to the deployment's replicas that have none: on the first start on a running fleet, and after
// somebody has deleted a placement. Whether such a replica may stay is then decided as for any other. Surplus are those
// that no placement can stand for: a second one of the same identity, and one that does not say where it is.
func (s *state) adopt() (adopting int, surplus []*modelplane.ModelReplica) {
	taken := map[identity]bool{}
	for u := range s.units {
		switch {
		case u.adopting():
			adopting++
			s.assignAdopted(u)
			if u.alive() {
				taken[identityOf(u.replica)] = true
			}
		case u.assigned():
			taken[identity{cluster: u.clusterName(), index: u.index()}] = true
		}
	}
	for _, r := range s.orphans {
		id := identityOf(r)
		if taken[id] || !assignable(r) {
			surplus = append(surplus, r)
			continue
		}
		taken[id] = true
		adopting++
		p := s.newPlacement(s.freeSlot())
		p.Spec.Adopts = r.Name
		s.act(CreatePlacement{Placement: p, AdoptUID: r.UID})
	}
	return adopting, surplus
}

func (s *state) assignAdopted(u *unit) {
	if !u.alive() {
		s.remove(u, "the replica to adopt is gone")
		return
	}
	id := identityOf(u.replica)
	s.act(AssignAdopted{Placement: u.placement, Assignment: evenkeel.Assignment{
		ClusterName: id.cluster,
		Index:       id.index,
		Engines:     placement.AssignmentOf(u.replica.Spec.Engines),
	}})
}

// assignable tells whether a replica says where all of it is.
func assignable(r *modelplane.ModelReplica) bool {
	if r.Spec.ClusterName == "" || len(r.Spec.Engines) == 0 {
		return false
	}
	for _, engine := range r.Spec.Engines {
		for _, member := range engine.Members {
			if member.NodePoolName == "" {
				return false
			}
		}
	}
	return true
}
