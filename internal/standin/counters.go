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
	"maps"
	"sync"
)

// Counters tells what a stand-in has done so far.
type Counters struct {
	// ClustersPublished counts writes of a cluster's status.
	ClustersPublished int
	// ReplicasLoaded counts replicas that became ready.
	ReplicasLoaded int
	// ReplicasFailed counts replicas that were kept from being ready on purpose.
	ReplicasFailed int
	// ReplicasReleased counts deleted replicas that were held and let go.
	ReplicasReleased int
	// EndpointsConfigured counts endpoints that got a backend.
	EndpointsConfigured int
	// RouteCycles counts how often a service's route was computed.
	RouteCycles int
	// HTTPRoutesWritten counts HTTPRoutes created, changed and deleted.
	HTTPRoutesWritten int
	// RequestsCutOff counts requests whose replica was deleted before it had answered.
	RequestsCutOff int
	// Answers counts the gateway's answers by HTTP status code.
	Answers map[int]int
}

// counter guards Counters.
type counter struct {
	mu    sync.Mutex
	value Counters
}

// add changes the counters.
func (c *counter) add(change func(*Counters)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.value)
}

func (c *counter) answered(code int) {
	c.add(func(v *Counters) {
		if v.Answers == nil {
			v.Answers = map[int]int{}
		}
		v.Answers[code]++
	})
}

// read returns a copy that does not change any more.
func (c *counter) read() Counters {
	c.mu.Lock()
	defer c.mu.Unlock()
	copied := c.value
	copied.Answers = maps.Clone(c.value.Answers)
	return copied
}
