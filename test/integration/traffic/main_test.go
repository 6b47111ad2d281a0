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

package traffic

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

const (
	// hubContext is the name of the kubeconfig context, which the commands show.
	hubContext = "hub"
	// omeNamespace is where OME would be installed.
	omeNamespace = "ome"
)

// testHub is a control plane that serves OME's and Gateway API's kinds.
type testHub struct {
	*hubtest.Hub
	// kubeconfig is an administrator's, managerKubeconfig that of the user whom the shipped
	// roles were made for.
	kubeconfig, managerKubeconfig string
}

var hub *testHub

func TestMain(m *testing.M) {
	hubtest.Main(m, func(ctx context.Context) (tearDown func() error, err error) {
		started, err := hubtest.Start(ctx, controlplane.Options{
			DisableControllerManager: true,
			APIServerArgs:            []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
		}, "dev/crds/ome.io_inferenceservices.yaml", "dev/crds/ome.io_trafficmaps.yaml", "dev/crds/ome.io_workloadclusters.yaml", "dev/crds-gateway-api")
		if err != nil {
			return nil, err
		}
		hub = &testHub{Hub: started}
		if err := hub.prepare(ctx); err != nil {
			return nil, errors.Join(err, hub.Stop())
		}
		return hub.Stop, nil
	})
}

func (h *testHub) prepare(ctx context.Context) (err error) {
	for _, name := range []string{omeNamespace, "prod"} {
		if err := h.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	if h.managerKubeconfig, err = h.Kubeconfig(ctx, hubtest.ManagerUser, "hub/manager/rbac.yaml", "hub/trafficmap/rbac.yaml"); err != nil {
		return err
	}
	return h.writeKubeconfig()
}

// writeKubeconfig names the administrator's context as the page does that the tests follow.
func (h *testHub) writeKubeconfig() error {
	config, err := clientcmd.LoadFromFile(h.KubeconfigPath())
	if err != nil {
		return err
	}
	config.Contexts[hubContext] = config.Contexts[config.CurrentContext]
	delete(config.Contexts, config.CurrentContext)
	config.CurrentContext = hubContext
	h.kubeconfig = filepath.Join(h.Folder, "hub.kubeconfig")
	return clientcmd.WriteToFile(*config, h.kubeconfig)
}
