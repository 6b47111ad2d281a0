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

	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Resolve gives the device requests that a ModelReplica carries for members on pools already chosen: one list for each
// engine and member, in the order of the requirements, nil for a member that claims nothing. Requests that a synthetic
// device meets are not among them, since nothing is claimed for those.
//
// It fails where assignment and requirements do not fit together, where a pool is not published or does not match any
// more, and where an engine would claim nothing; Retain tells the cause of the same.
func (m *Matcher) Resolve(engines []evenkeel.EngineRequirements, assigned []evenkeel.EngineAssignment, pools *Pools) ([][][]modelplane.ReplicaDeviceRequest, error) {
	prepared, err := m.PrepareEngines(engines)
	if err != nil {
		return nil, err
	}
	if len(assigned) != len(prepared.engines) {
		return nil, fmt.Errorf("%d engines are assigned to pools, but the template has %d", len(assigned), len(prepared.engines))
	}
	resolved := make([][][]modelplane.ReplicaDeviceRequest, 0, len(prepared.engines))
	for i := range prepared.engines {
		e := &prepared.engines[i]
		to := assignmentNamed(assigned, e.name)
		if to == nil {
			return nil, fmt.Errorf("engine %q is not assigned to a pool", e.name)
		}
		members, err := m.resolveEngine(e, to, pools)
		if err != nil {
			return nil, err
		}
		resolved = append(resolved, members)
	}
	return resolved, nil
}

func (m *Matcher) resolveEngine(e *engine, to *evenkeel.EngineAssignment, pools *Pools) ([][]modelplane.ReplicaDeviceRequest, error) {
	if len(to.Members) != len(e.members) {
		return nil, fmt.Errorf("engine %q: %d members are assigned to pools, but the template has %d", e.name, len(to.Members), len(e.members))
	}
	resolved := make([][]modelplane.ReplicaDeviceRequest, 0, len(e.members))
	claims := false
	for i := range e.members {
		poolName := to.Members[i].NodePoolName
		p := pools.named(poolName)
		if p == nil {
			return nil, fmt.Errorf("engine %q, member %d: node pool %q is not published", e.name, i, poolName)
		}
		found := m.match(&e.members[i], p)
		if !found.ok {
			return nil, fmt.Errorf("engine %q, member %d: node pool %q has no device left for request %q",
				e.name, i, poolName, e.members[i].requests[len(found.devices)].name)
		}
		claims = claims || found.claims
		resolved = append(resolved, claimedRequests(&e.members[i], found, p))
	}
	if !claims {
		return nil, fmt.Errorf("engine %q claims no device on its node pools", e.name)
	}
	return resolved, nil
}

func claimedRequests(wanted *member, found *match, p *pool) []modelplane.ReplicaDeviceRequest {
	var claimed []modelplane.ReplicaDeviceRequest
	for i, chosen := range found.devices {
		d := &p.devices[chosen]
		if !d.dra {
			continue
		}
		r := &wanted.requests[i]
		claimed = append(claimed, modelplane.ReplicaDeviceRequest{
			Name:            r.name,
			DeviceClassName: d.className,
			Count:           ptr.To(r.count),
			Selectors:       append([]modelplane.DeviceSelector(nil), r.selectors...),
		})
	}
	return claimed
}
