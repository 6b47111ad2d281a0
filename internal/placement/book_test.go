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
	"slices"

	resourceapi "k8s.io/api/resource/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// placeByTheBook is the rule of placing as plainly as it can be said: nothing is tabulated, remembered or shared.
func placeByTheBook(m *Matcher, engines []evenkeel.EngineRequirements, published []modelplane.GPUPool, free func(string) int64) *Decision {
	pools := firstOfEachName(published)
	if len(engines) == 0 || m.Validate(engines) != nil {
		return nil
	}
	decision := &Decision{Cost: map[string]int64{}}
	for _, engine := range engines {
		i := slices.IndexFunc(pools, func(p modelplane.GPUPool) bool {
			cost, ok := costByTheBook(m, engine, p, pools)
			return ok && addNodes(cost, decision.Cost[p.Name]) <= free(p.Name)
		})
		if i < 0 {
			return nil
		}
		cost, _ := costByTheBook(m, engine, pools[i], pools)
		decision.Cost[pools[i].Name] += cost
		decision.Engines = append(decision.Engines, evenkeel.EngineAssignment{
			Name:    engine.Name,
			Members: slices.Repeat([]evenkeel.MemberAssignment{{NodePoolName: pools[i].Name}}, len(engine.Members)),
		})
	}
	return decision
}

func firstOfEachName(published []modelplane.GPUPool) []modelplane.GPUPool {
	var pools []modelplane.GPUPool
	for _, p := range published {
		if !slices.ContainsFunc(pools, func(q modelplane.GPUPool) bool { return q.Name == p.Name }) {
			pools = append(pools, p)
		}
	}
	return pools
}

// costByTheBook is not ok where a member does not match the pool, where one would claim nothing that claims elsewhere,
// and where none claims.
func costByTheBook(m *Matcher, engine evenkeel.EngineRequirements, p modelplane.GPUPool, pools []modelplane.GPUPool) (cost int64, ok bool) {
	claims := false
	for _, member := range engine.Members {
		matches, claimsHere := memberByTheBook(m, member, p)
		claimsSomewhere := slices.ContainsFunc(pools, func(q modelplane.GPUPool) bool {
			_, claims := memberByTheBook(m, member, q)
			return claims
		})
		if !matches || claimsSomewhere && !claimsHere {
			return 0, false
		}
		if claimsHere {
			claims = true
			cost = addNodes(cost, memberNodes(member.Nodes, engine.Copies))
		}
	}
	return cost, claims
}

func memberByTheBook(m *Matcher, member evenkeel.MemberRequirements, p modelplane.GPUPool) (matches, claims bool) {
	used := make([]int64, len(p.Devices))
	for _, request := range member.Devices {
		met := false
		for i := range p.Devices {
			d := prepareDevice(&p.Devices[i])
			if d.count-used[i] < requestCount(request.Count) || !satisfies(m, &d, request.Selectors) {
				continue
			}
			used[i] += requestCount(request.Count)
			met = true
			claims = claims || p.Devices[i].Claim == "" || p.Devices[i].Claim == "DRA"
			break
		}
		if !met {
			return false, false
		}
	}
	return true, claims
}

func satisfies(m *Matcher, d *device, selectors []modelplane.DeviceSelector) bool {
	return !slices.ContainsFunc(selectors, func(s modelplane.DeviceSelector) bool {
		budget := uint64(resourceapi.CELSelectorExpressionMaxCost)
		return !m.program(s.CEL).matches(d, &budget)
	})
}
