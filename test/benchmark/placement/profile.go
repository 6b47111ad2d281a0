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

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

// profiles says whether and how to profile.
type profiles struct {
	// folder to write to; empty for no profiles.
	folder string
	// seconds that CPU profiles take.
	seconds int
}

// startProfile begins CPU profiles of the scheduler and the API server if profiles
// were asked for. The function that it returns waits for their end, takes the
// scheduler's heap profile too, and tells whether all were written.
func (a *attempt) startProfile(ctx context.Context, s *scheduler) (finish func() error) {
	if a.m.profiles.folder == "" {
		return func() error { return nil }
	}
	cpuProfile := "/debug/pprof/profile?seconds=" + strconv.Itoa(a.m.profiles.seconds)
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		// Where the objects were queued, nobody has waited for the port yet.
		if err := s.waitReady(groupCtx); err != nil {
			return err
		}
		return a.saveProfile(groupCtx, s.endpoint, cpuProfile, a.side.name()+".cpu")
	})
	group.Go(func() error {
		apiServer, err := apiServerEndpoint(a.cp)
		if err != nil {
			return err
		}
		return a.saveProfile(groupCtx, apiServer, cpuProfile, a.side.name()+".apiserver-cpu")
	})
	return func() error {
		if err := group.Wait(); err != nil {
			return fmt.Errorf("take a profile: %w", err)
		}
		if err := a.saveProfile(ctx, s.endpoint, "/debug/pprof/heap", a.side.name()+".heap"); err != nil {
			return fmt.Errorf("take a profile: %w", err)
		}
		return nil
	}
}

func (a *attempt) saveProfile(ctx context.Context, from endpoint, path, what string) error {
	content, err := from.get(ctx, path)
	if err != nil {
		return err
	}
	file := fmt.Sprintf("%s-%s-%d-run%d-%s.prof", name, a.shape.mode, a.shape.clusters, a.number, what)
	return os.WriteFile(filepath.Join(a.m.profiles.folder, file), content, 0o600)
}

func apiServerEndpoint(cp *controlplane.ControlPlane) (endpoint, error) {
	config := cp.Config()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return endpoint{}, fmt.Errorf("create a client of the API server: %w", err)
	}
	return endpoint{client: client, url: config.Host}, nil
}
