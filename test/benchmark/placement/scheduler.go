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
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

const readyTimeout = time.Minute

// scheduler is the process of the side that is measured.
type scheduler struct {
	*harness.Child
	endpoint endpoint
}

// startScheduler starts the side's scheduler with its default profile. Both sides
// get the same arguments.
func startScheduler(ctx context.Context, a *attempt) (*scheduler, error) {
	kubeconfig, authority, err := writeCredentials(ctx, a)
	if err != nil {
		return nil, err
	}
	port, err := controlplane.FreePort()
	if err != nil {
		return nil, err
	}
	endpoint, err := schedulerEndpoint(a.cp, port)
	if err != nil {
		return nil, err
	}
	child, err := harness.StartChild(a.folder, a.side.name()+"-scheduler", a.m.environment.Binary(a.side.binary()),
		schedulerArgs(kubeconfig, authority, port)...)
	if err != nil {
		return nil, err
	}
	return &scheduler{Child: child, endpoint: endpoint}, nil
}

func schedulerArgs(kubeconfig, authority string, port int) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		// No client-side limit is reached: the API server paces both sides.
		"--kube-api-qps=5000",
		"--kube-api-burst=10000",
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		// The administrator may read profiles, without a question to the API server.
		"--client-ca-file=" + authority,
		"--authentication-skip-lookup=true",
	}
}

func writeCredentials(ctx context.Context, a *attempt) (kubeconfig, authority string, err error) {
	config, err := a.side.credentials(ctx, a.cp)
	if err != nil {
		return "", "", err
	}
	kubeconfig = filepath.Join(a.folder, "scheduler.kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, config); err != nil {
		return "", "", err
	}
	authority = filepath.Join(a.folder, "ca.crt")
	if err := os.WriteFile(authority, config.CAData, 0o600); err != nil {
		return "", "", err
	}
	return kubeconfig, authority, nil
}

func schedulerEndpoint(cp *controlplane.ControlPlane, port int) (endpoint, error) {
	config := cp.Config()
	// The scheduler serves with a certificate that it made up.
	config.CAData, config.Insecure = nil, true
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return endpoint{}, fmt.Errorf("create a client of the scheduler's port: %w", err)
	}
	return endpoint{client: client, url: "https://127.0.0.1:" + strconv.Itoa(port)}, nil
}

// waitReady returns when the scheduler has all objects in its caches.
func (s *scheduler) waitReady(ctx context.Context) error {
	var latest error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, readyTimeout, true, func(ctx context.Context) (bool, error) {
		if err := s.Check(); err != nil {
			return false, err
		}
		_, latest = s.endpoint.get(ctx, "/readyz")
		return latest == nil, nil
	})
	if err == nil {
		return nil
	}
	return fmt.Errorf("wait until the scheduler is ready: %w; latest answer: %w; the last lines of its log:\n%s", err, latest, s.LogTail())
}
