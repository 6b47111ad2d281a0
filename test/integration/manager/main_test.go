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
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

const root = "../../.."

// testHub is a control plane that serves the project's kinds.
type testHub struct {
	*controlplane.ControlPlane
	client client.Client
	folder string
	// managerKubeconfig is that of the user whom the shipped role was made for, who may do nothing else.
	managerKubeconfig string
}

// hub is the one that the tests of the package share; each has its own clusters on it, so they run one after another.
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

func runTests(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if hub, err = startHub(ctx, "crds"); err != nil {
		return 1, err
	}
	code = m.Run()
	return code, hub.stop()
}

// startHub starts a control plane with the kinds from folders under manifests/dev.
func startHub(ctx context.Context, crds ...string) (*testHub, error) {
	cp, err := controlplane.Start(ctx, controlplane.Options{AuditPolicy: controlplane.WritesAuditPolicy()})
	if err != nil {
		return nil, err
	}
	h := &testHub{ControlPlane: cp}
	if err := h.prepare(ctx, crds...); err != nil {
		return nil, errors.Join(err, h.stop())
	}
	return h, nil
}

func (h *testHub) stop() error {
	return errors.Join(h.Stop(), os.RemoveAll(h.folder))
}

func (h *testHub) prepare(ctx context.Context, crds ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	folders := []string{root + "/manifests/hub/crds"}
	for _, folder := range crds {
		folders = append(folders, filepath.Join(root, "manifests/dev", folder))
	}
	if err := h.InstallCRDs(ctx, folders...); err != nil {
		return err
	}
	// The garbage collector learns of new kinds every half minute, or when it starts.
	if err := h.Restart(ctx, controlplane.ControllerManager); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		coordinationv1.AddToScheme, corev1.AddToScheme, eventsv1.AddToScheme, schedulingv1.AddToScheme,
		modelplane.AddToScheme, evenkeel.AddToScheme, gatewayv1.Install,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	var err error
	if h.client, err = client.New(h.Config(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if h.folder, err = os.MkdirTemp("", "evenkeel-manager-test-"); err != nil {
		return err
	}
	return h.addManagerUser(ctx)
}

// addManagerUser grants the manager what the shipped manifests grant it, and nothing else.
func (h *testHub) addManagerUser(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel-system"}}
	if err := h.client.Create(ctx, ns); err != nil {
		return err
	}
	kubectl := exec.CommandContext(ctx, filepath.Join(h.BinDir(), "kubectl"), "--kubeconfig="+h.KubeconfigPath(),
		"apply", "-f", root+"/manifests/hub/manager/rbac.yaml")
	if out, err := kubectl.CombinedOutput(); err != nil {
		return fmt.Errorf("apply the manager's role: %w: %s", err, out)
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
