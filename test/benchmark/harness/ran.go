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

package harness

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

// Ran is what a program has taken that has ended.
type Ran struct {
	Started, Ended time.Time
	// Usage as it was shortly before the end.
	Usage controlplane.Usage
	// Output is what it wrote.
	Output []byte
}

// lookInterval is how often a program that runs is looked at: what it takes after the last look is not seen.
const lookInterval = 5 * time.Millisecond

// RunChild runs a program to its end. It is an error if that is not a good one.
func RunChild(ctx context.Context, folder, name, program string, args ...string) (*Ran, error) {
	ran := &Ran{Started: time.Now()}
	child, err := StartChild(folder, name, program, args...)
	if err != nil {
		return nil, err
	}
	defer child.Stop(ctx)
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-look.C:
			if usage, err := child.Usage(); err == nil && usage.PeakRSSBytes > 0 { // it may just have ended
				ran.Usage = usage
			}
		case <-child.exited:
			if child.exitErr != nil {
				return nil, child.Check()
			}
			ran.Ended = child.exitedAt
			if ran.Output, err = os.ReadFile(child.logPath); err != nil {
				return nil, fmt.Errorf("read what %s wrote: %w", name, err)
			}
			return ran, nil
		}
	}
}
