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
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

func ownerOf(name string) owner {
	service := types.NamespacedName{Namespace: "prod", Name: name}
	return owner{service: service, route: types.NamespacedName{Namespace: "prod", Name: name + routeSuffix}}
}

func TestClaims(t *testing.T) {
	var c claims
	a, b := ownerOf("a"), ownerOf("b")
	fresh, clash := c.take(a, "host-1", "route-a")
	assert.Equal(t, []string{"host-1", "route-a"}, fresh)
	assert.Nil(t, clash)
	fresh, clash = c.take(a, "host-2", "route-a")
	assert.Equal(t, []string{"host-2"}, fresh, "what a service has itself is no obstacle")
	assert.Nil(t, clash)

	fresh, clash = c.take(b, "route-b", "host-1")
	assert.Empty(t, fresh)
	assert.Equal(t, &conflict{"host-1", a}, clash)
	fresh, _ = c.take(a, "route-b")
	assert.Equal(t, []string{"route-b"}, fresh, "all or none: b has not got its route either")
	c.release(fresh)
	c.keep(a.service, "host-2", "route-a")
	fresh, _ = c.take(b, "host-1", "route-b")
	assert.Equal(t, []string{"host-1", "route-b"}, fresh, "a has given up its first host and the route that it should not have")
	_, clash = c.take(b, "host-2")
	assert.NotNil(t, clash, "and not its second")
	c.keep(a.service)
	_, clash = c.take(b, "host-2")
	assert.Nil(t, clash)
	_, clash = c.take(a, "host-1")
	assert.NotNil(t, clash, "what others have stays theirs")
}

func TestOneOfManyGetsAHost(t *testing.T) {
	var c claims
	var group sync.WaitGroup
	var got atomic.Int32
	for i := range 50 {
		group.Go(func() {
			if _, clash := c.take(ownerOf(fmt.Sprint("service-", i)), "host"); clash == nil {
				got.Add(1)
			}
		})
	}
	group.Wait()
	assert.EqualValues(t, 1, got.Load())
}
