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
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPlacementsNameTheCache checks that the scheduler learns whose weights a replica loads.
func TestPlacementsNameTheCache(t *testing.T) {
	named := func(lines ...string) []string {
		var names []string
		for _, action := range Decide(newScene(t, lines...).Observation).Actions {
			if a, ok := action.(CreatePlacement); ok {
				names = append(names, a.Placement.Spec.ModelCacheName)
			}
		}
		return names
	}
	assert.Equal(t, []string{"weights"}, named("wants 1 cache resolved", "east h:1"))
	assert.Equal(t, []string{""}, named("wants 1", "east h:1"))
}
