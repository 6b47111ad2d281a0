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

package trafficpublisher

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// claims are the hosts and routes that this process has given away. The cache learns of a route only some time after it
// was written; without this, two services that want one host at the same moment would both get it. What others have, and
// what was given away before a restart, is found in the cache.
type claims struct {
	mu     sync.Mutex
	owners map[string]owner
}

// owner is who has a claim.
type owner struct {
	service, route types.NamespacedName
}

// conflict is a name that another service has.
type conflict struct {
	name string
	with owner
}

// take claims all of the names or, where another service has one of them, none. fresh are those that the service did not
// have before.
func (c *claims) take(by owner, names ...string) (fresh []string, clash *conflict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		other, claimed := c.owners[name]
		switch {
		case !claimed:
			fresh = append(fresh, name)
		case other.service != by.service:
			return nil, &conflict{name, other}
		}
	}
	if c.owners == nil {
		c.owners = map[string]owner{}
	}
	for _, name := range names {
		c.owners[name] = by
	}
	return fresh, nil
}

// release gives names up again that take has said are fresh.
func (c *claims) release(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		delete(c.owners, name)
	}
}

// keep gives up what a service has claimed, all but the names.
func (c *claims) keep(service types.NamespacedName, names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.owners, func(name string, by owner) bool {
		return by.service == service && !slices.Contains(names, name)
	})
}
