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
	"time"

	"github.com/google/go-cmp/cmp"
)

// decision is a row of the tables of what is done next.
type decision struct {
	name  string
	given []string
	want  []string
}

func runDecisions(t *testing.T, rows []decision) {
	t.Helper()
	for _, tc := range rows {
		t.Run(tc.name, func(t *testing.T) {
			result := Decide(newScene(t, tc.given...).Observation)
			got := told(result.Actions)
			if tc.want == nil {
				tc.want = []string{}
				staysUntilWoken(t, tc.given, result.RequeueAfter)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// staysUntilWoken checks that what has nothing to do now has nothing to do until it asked to be looked at again. A time that
// runs out without anybody looking leaves a move standing until something else happens to the deployment.
func staysUntilWoken(t *testing.T, given []string, wakes time.Duration) {
	t.Helper()
	for _, later := range []time.Duration{
		time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 90 * time.Second, 2 * time.Minute,
		5 * time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour, 200 * time.Hour,
	} {
		if wakes > 0 && later >= wakes {
			return
		}
		s := newScene(t, given...)
		s.Now = now.Add(later)
		if got := told(Decide(s.Observation).Actions); len(got) > 0 {
			t.Errorf("nobody looks until %s, and there is something to do after %s: %q", wakes, later, got)
			return
		}
	}
}
