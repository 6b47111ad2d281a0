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

package clusters

import (
	"context"
	"errors"
	"testing"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

const namespace = "default"

var (
	// hub is the control plane that the tests share; each has its own cluster on it.
	hub *hubtest.Hub
	// managerKubeconfig is that of the user whom the shipped role was made for, who may do nothing else.
	managerKubeconfig string
)

func TestMain(m *testing.M) {
	hubtest.Main(m, func(ctx context.Context) (tearDown func() error, err error) {
		if hub, err = hubtest.Start(ctx, controlplane.Options{DisableControllerManager: true}, "dev/crds"); err != nil {
			return nil, err
		}
		if managerKubeconfig, err = hub.Kubeconfig(ctx, hubtest.ManagerUser, "hub/manager/rbac.yaml"); err != nil {
			return nil, errors.Join(err, hub.Stop())
		}
		return hub.Stop, nil
	})
}
