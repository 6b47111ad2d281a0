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

package standin

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// maxWeight is the largest weight that a backend of an HTTPRoute can have.
const maxWeight = 1_000_000

// weightedBackend is a backend and its share of a route.
type weightedBackend struct {
	key    types.NamespacedName
	weight int64
	// rewritePath replaces the route's prefix in what the backend is asked for.
	rewritePath string
}

// resolution is what a service's selectors gave.
type resolution struct {
	backends []weightedBackend
	// waiting counts selected endpoints that have no backend yet.
	waiting int
}

// resolve divides a service over endpoints of every namespace. An endpoint belongs
// to the first group that selects it. A group's weight is spread evenly over its
// endpoints, so a group without any leaves its share to the others. The result does
// not depend on the order of the endpoints.
func resolve(groups []modelplane.EndpointGroup, endpoints []modelplane.ModelEndpoint) resolution {
	members := make([][]weightedBackend, len(groups))
	var r resolution
	for i := range endpoints {
		group := firstGroup(groups, endpoints[i].Labels)
		switch {
		case group < 0:
		case backendOf(&endpoints[i]) == "":
			r.waiting++
		default:
			members[group] = append(members[group], weightedBackend{
				key:         types.NamespacedName{Namespace: endpoints[i].Namespace, Name: backendOf(&endpoints[i])},
				rewritePath: endpoints[i].Spec.RewritePath,
			})
		}
	}
	r.backends = spread(groups, members)
	return r
}

// firstGroup returns the index of the first group that selects labels, or -1.
func firstGroup(groups []modelplane.EndpointGroup, set labels.Set) int {
	return slices.IndexFunc(groups, func(group modelplane.EndpointGroup) bool {
		return labels.SelectorFromSet(group.Selector.MatchLabels).Matches(set)
	})
}

// spread scales the weights so that each group's is divisible by the number of its
// members, and then reduces them to the smallest whole numbers.
func spread(groups []modelplane.EndpointGroup, members [][]weightedBackend) []weightedBackend {
	scale := int64(1)
	for _, list := range members {
		if len(list) > 0 {
			scale = leastCommonMultiple(scale, int64(len(list)))
		}
	}
	var backends []weightedBackend
	divisor := int64(0)
	for i, list := range members {
		if len(list) == 0 {
			continue
		}
		share := int64(ptr.Deref(groups[i].Weight, 1)) * scale / int64(len(list))
		divisor = greatestCommonDivisor(divisor, share)
		slices.SortFunc(list, func(a, b weightedBackend) int { return strings.Compare(a.key.String(), b.key.String()) })
		for _, b := range list {
			b.weight = share
			backends = append(backends, b)
		}
	}
	for i := range backends {
		backends[i].weight = min(backends[i].weight/divisor, maxWeight)
	}
	return backends
}

func greatestCommonDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func leastCommonMultiple(a, b int64) int64 {
	return a / greatestCommonDivisor(a, b) * b
}
