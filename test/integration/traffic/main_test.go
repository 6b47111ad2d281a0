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
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gateway "sigs.k8s.io/gateway-api/apis/v1"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

const (
	root = "../../.."
	// hubContext is the name of the kubeconfig context, which the commands show.
	hubContext = "hub"
	// omeNamespace is where OME would be installed.
	omeNamespace = "ome"
)

// testHub is a control plane that serves OME's and Gateway API's kinds.
type testHub struct {
	*controlplane.ControlPlane
	client client.Client
	folder string
	// kubeconfig is an administrator's, managerKubeconfig that of the user whom the shipped
	// roles were made for.
	kubeconfig, managerKubeconfig string
}

var hub *testHub

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cp, err := controlplane.Start(ctx, controlplane.Options{
		DisableControllerManager: true,
		APIServerArgs:            []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
	})
	if err != nil {
		return 1, err
	}
	hub = &testHub{ControlPlane: cp}
	if err := hub.prepare(ctx); err != nil {
		return 1, errors.Join(err, hub.stop())
	}
	code := m.Run()
	return code, hub.stop()
}

func (h *testHub) stop() error {
	return errors.Join(h.Stop(), os.RemoveAll(h.folder))
}

func (h *testHub) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	crds, err := filepath.Glob(filepath.Join(root, "manifests/dev/crds/ome.io_*.yaml"))
	if err != nil {
		return err
	}
	if err := h.InstallCRDs(ctx, append(crds, filepath.Join(root, "manifests/dev/crds-gateway-api"))...); err != nil {
		return err
	}
	if h.folder, err = os.MkdirTemp("", "evenkeel-traffic-test-"); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, ome.AddToScheme, gateway.Install} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	if h.client, err = client.New(h.Config(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	for _, name := range []string{"evenkeel-system", omeNamespace, "prod"} {
		if err := h.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	return errors.Join(h.addManagerUser(ctx), h.writeKubeconfig())
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
	h.kubeconfig = filepath.Join(h.folder, "hub.kubeconfig")
	return clientcmd.WriteToFile(*config, h.kubeconfig)
}

// addManagerUser grants the manager what the shipped manifests grant it, and nothing else.
func (h *testHub) addManagerUser(ctx context.Context) error {
	for _, file := range []string{"manager/rbac.yaml", "trafficmap/rbac.yaml"} {
		kubectl := exec.CommandContext(ctx, filepath.Join(h.BinDir(), "kubectl"), "--kubeconfig="+h.KubeconfigPath(),
			"apply", "-f", filepath.Join(root, "manifests/hub", file))
		if out, err := kubectl.CombinedOutput(); err != nil {
			return fmt.Errorf("apply %s: %w: %s", file, err, out)
		}
	}
	const user = "system:serviceaccount:evenkeel-system:hub-manager"
	config, err := h.AddUser(user, "system:serviceaccounts", "system:authenticated")
	if err != nil {
		return err
	}
	if err := h.AwaitRights(ctx, user); err != nil {
		return err
	}
	h.managerKubeconfig = filepath.Join(h.folder, "manager.kubeconfig")
	return controlplane.WriteKubeconfig(h.managerKubeconfig, config)
}
