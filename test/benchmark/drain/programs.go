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
	"fmt"
	"os"
	"path/filepath"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/standin"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

// managerConfig has no election, which would only add writes of its lease, and no limit on what moves at a time.
const managerConfig = `apiVersion: config.evenkeel.io/v1alpha1
kind: HubManagerConfiguration
leaderElection: {leaderElect: false}
healthBindAddress: "0"
metricsBindAddress: "0"
webhooks: {bindAddress: "0"}
modelDeployments: {maxParallelMoves: 0, maxLoadingPerCluster: 0}
`

// programs are Evenkeel's, each with the rights of its service account.
type programs struct {
	manager, scheduler *harness.Child
}

func startPrograms(ctx context.Context, environment *harness.Environment, cp *controlplane.ControlPlane, folder string) (*programs, error) {
	config := filepath.Join(folder, "manager.yaml")
	if err := os.WriteFile(config, []byte(managerConfig), 0o600); err != nil {
		return nil, err
	}
	manager, err := environment.StartProgram(cp, folder, "hub-manager", managerUser, "--config="+config)
	if err != nil {
		return nil, err
	}
	scheduler, err := environment.StartProgram(cp, folder, "hub-scheduler", schedulerUser, "--leader-elect=false", "--secure-port=0",
		"--authentication-skip-lookup=true", "--kube-api-qps=5000", "--kube-api-burst=10000")
	if err != nil {
		manager.Stop(ctx)
		return nil, err
	}
	return &programs{manager: manager, scheduler: scheduler}, nil
}

func (p *programs) check() error {
	if err := p.manager.Check(); err != nil {
		return err
	}
	return p.scheduler.Check()
}

func (p *programs) stop(ctx context.Context) {
	p.scheduler.Stop(ctx)
	p.manager.Stop(ctx)
}

// startStandIn has replicas ready as soon as they are made. The clusters' status is the benchmark's.
func startStandIn(ctx context.Context, cp *controlplane.ControlPlane) (stop func() error, err error) {
	s, err := standin.New(cp.Config(), standin.Options{KeepClusterStatus: true, Workers: 16})
	if err != nil {
		return nil, fmt.Errorf("start the stand-in: %w", err)
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	return func() error {
		cancel()
		return <-ended
	}, nil
}
