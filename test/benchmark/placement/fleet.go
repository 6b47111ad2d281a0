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

import "fmt"

// The fleet is the same on both sides: every cluster (or node) has room for
// roomPerKind replicas of each kind of hardware, and each deployment wants
// replicasPerDeployment replicas of one kind. Two thirds of the deployments want
// the first kind.
const (
	roomPerKind           = 24
	replicasPerDeployment = 10
	regions               = 5
	namespace             = "bench"
)

// kind is one kind of hardware: a node pool of a cluster, an extended resource of a
// node.
type kind struct {
	pool           string
	architecture   string
	memory         string // of one device
	devicesPerNode int64
}

var kinds = []kind{
	{pool: "h100", architecture: "Hopper", memory: "80Gi", devicesPerNode: 8},
	{pool: "l4", architecture: "Ada Lovelace", memory: "24Gi", devicesPerNode: 4},
}

func clusterName(i int) string {
	return fmt.Sprintf("cluster-%04d", i)
}

func regionOf(cluster int) string {
	return fmt.Sprintf("region-%d", cluster%regions)
}

// replica is one wanted replica.
type replica struct {
	deployment string
	slot       int
	kind       kind
}

func replicaAt(i int) replica {
	deployment := i / replicasPerDeployment
	wants := kinds[0]
	if deployment%3 == 2 {
		wants = kinds[1]
	}
	return replica{
		deployment: fmt.Sprintf("model-%04d", deployment),
		slot:       i % replicasPerDeployment,
		kind:       wants,
	}
}

// name is the one that Evenkeel gives to the first placement of a slot.
func (r replica) name() string {
	return fmt.Sprintf("%s-%d-1", r.deployment, r.slot)
}

// checkRoom refuses a case in which something cannot be placed: it would wait forever.
func (s shape) checkRoom() error {
	wanted := map[string]int{}
	for i := range s.placements {
		wanted[replicaAt(i).kind.pool]++
	}
	for _, k := range kinds {
		if room := s.clusters * roomPerKind; wanted[k.pool] > room {
			return fmt.Errorf("%d placements want %d %s nodes, and %d clusters have %d: ask for more clusters or fewer placements",
				s.placements, wanted[k.pool], k.pool, s.clusters, room)
		}
	}
	return nil
}
