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

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

const root = "../../.."

// hub is the control plane that all tests of the package share; each has its own clusters on it, so they run one after
// another.
var hub struct {
	*controlplane.ControlPlane
	client client.Client
	// managerKubeconfig is that of the user whom the shipped role was made for, who may do nothing else.
	managerKubeconfig string
}

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
	if hub.ControlPlane, err = controlplane.Start(ctx, controlplane.Options{AuditPolicy: controlplane.WritesAuditPolicy()}); err != nil {
		return 1, err
	}
	defer func() {
		if stopErr := hub.Stop(); err == nil {
			err = stopErr
		}
	}()
	start, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	if err := hub.InstallCRDs(start, root+"/manifests/dev/crds", root+"/manifests/hub/crds"); err != nil {
		return 1, err
	}
	// The garbage collector learns of new kinds every half minute, or when it starts.
	if err := hub.Restart(start, controlplane.ControllerManager); err != nil {
		return 1, err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		coordinationv1.AddToScheme, corev1.AddToScheme, eventsv1.AddToScheme, schedulingv1.AddToScheme, modelplane.AddToScheme, evenkeel.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return 1, err
		}
	}
	if hub.client, err = client.New(hub.Config(), client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	folder, err := os.MkdirTemp("", "evenkeel-manager-test-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(folder)
	if err := addManagerUser(start, folder); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// addManagerUser grants the manager what the shipped manifests grant it, and nothing else.
func addManagerUser(ctx context.Context, folder string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel-system"}}
	if err := hub.client.Create(ctx, ns); err != nil {
		return err
	}
	kubectl := exec.CommandContext(ctx, filepath.Join(hub.BinDir(), "kubectl"), "--kubeconfig="+hub.KubeconfigPath(),
		"apply", "-f", root+"/manifests/hub/manager/rbac.yaml")
	if out, err := kubectl.CombinedOutput(); err != nil {
		return fmt.Errorf("apply the manager's role: %w: %s", err, out)
	}
	config, err := hub.AddUser("system:serviceaccount:evenkeel-system:hub-manager", "system:serviceaccounts", "system:authenticated")
	if err != nil {
		return err
	}
	hub.managerKubeconfig = filepath.Join(folder, "manager.kubeconfig")
	return controlplane.WriteKubeconfig(hub.managerKubeconfig, config)
}
