//go:build integration

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

package plan

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/standin"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

var (
	// hub is the control plane of the package's tests.
	hub *hubtest.Hub
	// viewerKubeconfig is that of a user who has the shipped role for people who look, and no other.
	viewerKubeconfig string
)

func TestMain(m *testing.M) {
	hubtest.Main(m, func(ctx context.Context) (tearDown func() error, err error) {
		if hub, err = hubtest.Start(ctx, controlplane.Options{}, "dev/crds"); err != nil {
			return nil, err
		}
		if err := addViewer(ctx); err != nil {
			return nil, errors.Join(err, hub.Stop())
		}
		return hub.Stop, nil
	})
}

// addViewer grants a user what the shipped role for people who look grants.
func addViewer(ctx context.Context) (err error) {
	const role = "evenkeel-viewer"
	err = errors.Join(hub.Kubectl(ctx, "apply", "-f", hubtest.Manifest("hub", "rbac", "viewer.yaml")),
		hub.Kubectl(ctx, "create", "clusterrolebinding", role, "--clusterrole="+role, "--user=viewer"))
	if err != nil {
		return err
	}
	viewerKubeconfig, err = hub.Kubeconfig(ctx, "viewer")
	return err
}

// startPrograms runs hub-manager, with one move at a time, hub-scheduler and a stand-in for what makes replicas ready. It
// returns hub-manager's configuration file.
func startPrograms(t *testing.T) string {
	t.Helper()
	hub.RunStandIn(t, standin.Options{KeepClusterStatus: true})
	const oneMove = "modelDeployments: {maxParallelMoves: 1}\n"
	hub.RunScheduler(t)
	hub.RunManager(t, hub.KubeconfigPath(), oneMove)
	config := filepath.Join(t.TempDir(), "manager.yaml")
	require.NoError(t, os.WriteFile(config, []byte(hubtest.ManagerSettings(oneMove)), 0o600))
	return config
}
