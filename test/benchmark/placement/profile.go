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

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// profileSeconds is how long the CPU profile of a run takes.
const profileSeconds = 8

// startProfile begins a CPU profile of the scheduler if profiles were asked for. The
// function that it returns waits for its end, takes a heap profile too and writes
// both.
func (a *attempt) startProfile(ctx context.Context, s *scheduler) (finish func() error) {
	if a.m.profiles == "" {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() { done <- a.profileCPU(ctx, s) }()
	return func() error {
		if err := <-done; err != nil {
			return fmt.Errorf("profile the scheduler: %w", err)
		}
		if err := a.saveProfile(ctx, s, "heap", "/debug/pprof/heap"); err != nil {
			return fmt.Errorf("profile the scheduler: %w", err)
		}
		return nil
	}
}

func (a *attempt) profileCPU(ctx context.Context, s *scheduler) error {
	// Where the objects were queued, nobody has waited for the port yet.
	if err := s.waitReady(ctx); err != nil {
		return err
	}
	return a.saveProfile(ctx, s, "cpu", "/debug/pprof/profile?seconds="+strconv.Itoa(profileSeconds))
}

func (a *attempt) saveProfile(ctx context.Context, s *scheduler, what, path string) error {
	content, err := s.get(ctx, path)
	if err != nil {
		return err
	}
	file := fmt.Sprintf("%s-%s-%d-%s-run%d.%s.prof", name, a.shape.mode, a.shape.clusters, a.side.name(), a.number, what)
	return os.WriteFile(filepath.Join(a.m.profiles, file), content, 0o600)
}
