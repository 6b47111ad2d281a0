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
	"github.com/stretchr/testify/require"
)

// TestADeletionMakesSureOfTheReplacement has a deletion name what an uncached read must find, where the policy promises
// that there is somewhere to go, or that another replica serves.
func TestADeletionMakesSureOfTheReplacement(t *testing.T) {
	for _, tc := range []struct {
		name            string
		given           []string
		target, serving bool
		noEndpoint      bool
	}{
		{
			name:   "MakeBeforeBreak",
			given:  []string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 ready"},
			target: true, serving: true,
		},
		{
			name:   "Hold",
			given:  []string{"wants 1 hold", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated"},
			target: true,
		},
		{
			name:  "neither",
			given: []string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated"},
		},
		{
			name:       "traffic, and no endpoint is seen",
			given:      []string{"service modelplane.ai/deployment=chat", "wants 1", "east h:2", "west h:2", "0-1 on east/0 ready", "1-1 on west/0 ready leaving ScaleDown"},
			noEndpoint: true,
		},
		{
			name:  "traffic that does not reach it yet",
			given: []string{"service modelplane.ai/deployment=chat", "wants 1", "east h:2", "west h:2", "0-1 on east/0 ready", "1-1 on west/0 loading leaving ScaleDown"},
		},
		{
			name:  "fewer are wanted",
			given: []string{"wants 1 surge", "east h:2", "west h:2", "0-1 on east/0 ready", "1-1 on west/0 ready leaving ScaleDown"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var deletions []DeleteReplica
			for _, a := range Decide(newScene(t, tc.given...).Observation).Actions {
				if d, ok := a.(DeleteReplica); ok {
					deletions = append(deletions, d)
				}
			}
			require.Len(t, deletions, 1)
			assert.Equal(t, tc.target, deletions[0].Target != nil)
			assert.Equal(t, tc.serving, deletions[0].Serving != nil)
			assert.Equal(t, tc.noEndpoint, deletions[0].AbsentEndpoint != "", deletions[0].AbsentEndpoint)
		})
	}
}
