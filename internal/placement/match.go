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

import resourceapi "k8s.io/api/resource/v1"

type matchKey struct {
	member, pool fingerprint
}

// match is whether each node of a pool has what a member requests, and from which devices.
type match struct {
	ok bool
	// claims tells that at least one request is met by a device that is claimed; only then the member costs nodes.
	claims bool
	// devices by position of the request; those before the first that nothing meets, unless ok.
	devices []int
}

// anyNode is the match of a member without requests: every pool will do and nothing is claimed.
var anyNode = &match{ok: true}

func (m *Matcher) match(wanted *member, p *pool) *match {
	if len(wanted.requests) == 0 {
		return anyNode
	}
	key := matchKey{wanted.print, p.print}
	if known, ok := m.matches.get(key); ok {
		return known
	}
	found := matchDevices(wanted.requests, p.devices)
	m.matches.put(key, found, 1)
	return found
}

// matchDevices gives each request, in order, the first device that satisfies its selectors and has enough left.
// Modelplane's rule: a request never spans two devices and nothing is tried twice, so that a wanting request may take
// what a later one needed. That can reject wrongly and never claims too much.
//
// All selectors together may cost what Kubernetes allows one of them: a hundred expensive ones on a dozen devices would
// stop the scheduler for minutes.
func matchDevices(requests []request, devices []device) *match {
	found := &match{devices: make([]int, 0, len(requests))}
	budget := uint64(resourceapi.CELSelectorExpressionMaxCost)
	left := make([]int64, len(devices))
	for i := range devices {
		left[i] = devices[i].count
	}
	for i := range requests {
		chosen := firstDevice(&requests[i], devices, left, &budget)
		if chosen < 0 {
			return found
		}
		left[chosen] -= requests[i].count
		found.devices = append(found.devices, chosen)
	}
	found.ok = true
	for _, chosen := range found.devices {
		found.claims = found.claims || devices[chosen].dra
	}
	return found
}

func firstDevice(wanted *request, devices []device, left []int64, budget *uint64) int {
	for i := range devices {
		if left[i] >= wanted.count && wanted.selects(&devices[i], budget) {
			return i
		}
	}
	return -1
}

func (r *request) selects(d *device, budget *uint64) bool {
	for _, p := range r.programs {
		if !p.matches(d, budget) {
			return false
		}
	}
	return true
}
