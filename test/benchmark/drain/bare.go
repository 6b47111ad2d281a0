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

package drain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

// writeBare makes as many creates, changes and deletes as the drain took, and nothing else, with many writers, and
// returns how long that takes.
func writeBare(ctx context.Context, c client.Client, m mix) (time.Duration, error) {
	m = feasible(m)
	started := time.Now()
	err := harness.InParallel(ctx, m.creates, func(ctx context.Context, i int) error {
		return writeOne(ctx, c, i, share(m.changes, m.creates, i), i < m.deletes)
	})
	if err != nil {
		return 0, fmt.Errorf("make bare writes: %w", err)
	}
	return time.Since(started), nil
}

// feasible keeps the number of writes where more objects were deleted, or changed, than created: only what was created
// can be either.
func feasible(m mix) mix {
	if m.creates == 0 && m.total() > 0 {
		m.creates++
		if m.changes > 0 {
			m.changes--
		} else {
			m.deletes--
		}
	}
	if surplus := m.deletes - m.creates; surplus > 0 {
		m.deletes -= surplus
		m.changes += surplus
	}
	return m
}

// share divides a total evenly over a number of parts.
func share(total, parts, part int) int {
	n := total / parts
	if part < total%parts {
		n++
	}
	return n
}

// writeOne creates an object, changes its status some times, and deletes it or not.
func writeOne(ctx context.Context, c client.Client, i, changes int, deletes bool) error {
	object := barePlacement(i)
	if err := c.Create(ctx, object); err != nil {
		return err
	}
	for change := range changes {
		if err := c.Status().Patch(ctx, object, client.RawPatch("application/merge-patch+json", bareChange(change))); err != nil {
			return err
		}
	}
	if !deletes {
		return nil
	}
	return c.Delete(ctx, object)
}

// bareChange differs from the one before, or the API server would not write it.
func bareChange(number int) []byte {
	patch, _ := json.Marshal(map[string]any{"status": map[string]any{ // strings and numbers cannot fail
		"conditions": []map[string]any{{
			"type": "Ready", "status": "False", "reason": "ReplicaNotReady", "lastTransitionTime": "2026-01-01T00:00:00Z",
			"message": fmt.Sprintf("change %d of a condition of about the size that the steps of a move have", number),
		}},
		"move": map[string]any{"from": "cluster-0001", "to": "cluster-0002", "cause": "UntoleratedTaint", "step": "Loading"},
	}})
	return patch
}
