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

package manager

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

// testHub is a control plane that serves the project's kinds.
type testHub struct {
	*hubtest.Hub
	// managerKubeconfig is that of the user whom the shipped role was made for, who may do nothing else.
	managerKubeconfig string
}

// hub is the one that the tests of the package share; each has its own clusters on it, so they run one after another.
var hub *testHub

func TestMain(m *testing.M) {
	hubtest.Main(m, func(ctx context.Context) (tearDown func() error, err error) {
		if hub, err = startHub(ctx, "dev/crds"); err != nil {
			return nil, err
		}
		return hub.Stop, nil
	})
}

// startHub starts a control plane with the kinds from folders below manifests.
func startHub(ctx context.Context, crds ...string) (*testHub, error) {
	started, err := hubtest.Start(ctx, controlplane.Options{AuditPolicy: controlplane.WritesAuditPolicy()}, crds...)
	if err != nil {
		return nil, err
	}
	h := &testHub{Hub: started}
	if h.managerKubeconfig, err = h.Kubeconfig(ctx, hubtest.ManagerUser, "hub/manager/rbac.yaml"); err != nil {
		return nil, errors.Join(err, h.Stop())
	}
	return h, nil
}

const (
	// alone is the setting of a hub-manager that waits for nobody's lease.
	alone = "leaderElection: {leaderElect: false}"
	// quick is that of one that does not wait until a fault has lasted.
	quick = "settleTime: 1s"
)

// startManager runs hub-manager with a configuration that suits tests: no waiting where a test does not test the wait.
func startManager(t *testing.T, extra string) *hubtest.Program {
	t.Helper()
	return startManagerWith(t, alone, quick, extra)
}

func startManagerWith(t *testing.T, election, settle, extra string) *hubtest.Program {
	t.Helper()
	return hub.RunManager(t, hub.managerKubeconfig, fmt.Sprintf("%s\nmodelDeployments:\n  %s\n%s", election, settle, extra))
}
