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

package hubtest

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// Patience bounds every wait. It is long because only a test that fails ever uses it up, also on a machine that has
	// much else to do.
	Patience = 3 * time.Minute
	// Interval between two looks.
	Interval = 50 * time.Millisecond
)

// Eventually waits until problem finds none, and fails the test with the last one if that takes too long.
func Eventually(t *testing.T, problem func() string) {
	t.Helper()
	last := ""
	err := wait.PollUntilContextTimeout(t.Context(), Interval, Patience, true, func(context.Context) (bool, error) {
		last = problem()
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("waited for %s in vain: %s", Patience, last)
	}
}
