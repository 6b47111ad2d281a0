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

package webhooks

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

// testHub is a control plane with the shipped admission configuration, and hub-manager beside it.
type testHub struct {
	*hubtest.Hub
	// client is an administrator's, too, and keeps the warnings.
	client   client.Client
	warnings *recorder
	port     int
	// managerKubeconfig is that of the user whom the shipped role was made for, who may do nothing else.
	managerKubeconfig string
	manager           *hubtest.Program
}

var hub *testHub

func TestMain(m *testing.M) {
	hubtest.Main(m, func(ctx context.Context) (tearDown func() error, err error) {
		if hub, err = startHub(ctx, "dev/crds"); err != nil {
			return nil, err
		}
		if err := hub.startManager(ctx); err != nil {
			return nil, errors.Join(err, hub.stop())
		}
		return hub.stop, nil
	})
}

// startHub starts a control plane with kinds from a folder below manifests. Nothing here needs a controller manager.
func startHub(ctx context.Context, crds string) (*testHub, error) {
	started, err := hubtest.Start(ctx, controlplane.Options{
		DisableControllerManager: true,
		AuditPolicy:              controlplane.WritesAuditPolicy(),
	}, crds)
	if err != nil {
		return nil, err
	}
	h := &testHub{Hub: started, warnings: &recorder{}}
	if err := h.prepare(ctx); err != nil {
		return nil, errors.Join(err, h.stop())
	}
	return h, nil
}

func (h *testHub) stop() error {
	if h.manager != nil {
		h.manager.Kill()
	}
	return h.Stop()
}

func (h *testHub) prepare(ctx context.Context) (err error) {
	config := h.Config()
	config.WarningHandlerWithContext = h.warnings
	if h.client, err = client.New(config, client.Options{Scheme: h.Client.Scheme()}); err != nil {
		return err
	}
	if h.port, err = controlplane.FreePort(); err != nil {
		return err
	}
	if h.managerKubeconfig, err = h.Kubeconfig(ctx, hubtest.ManagerUser, "hub/manager/rbac.yaml"); err != nil {
		return err
	}
	if _, err = h.Kubeconfig(ctx, hubtest.SchedulerUser, "hub/scheduler/base/rbac.yaml"); err != nil {
		return err
	}
	return h.InstallWebhooks(ctx, h.port, webhookFile)
}
