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
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

const (
	root      = "../../.."
	namespace = "default"
)

// hub is the control plane that the tests share; each has its own cluster on it.
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
	folder, err := os.MkdirTemp("", "evenkeel-clusters-test-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	hub.ControlPlane, err = controlplane.Start(ctx, controlplane.Options{DisableControllerManager: true})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, hub.Stop()) }()
	if err := prepare(ctx, folder); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func prepare(ctx context.Context, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := hub.InstallCRDs(ctx, root+"/manifests/dev/crds", root+"/manifests/hub/crds"); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), eventsv1.AddToScheme(scheme), modelplane.AddToScheme(scheme), evenkeel.AddToScheme(scheme)); err != nil {
		return err
	}
	var err error
	if hub.client, err = client.New(hub.Config(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if err := hub.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel-system"}}); err != nil {
		return err
	}
	kubectl := exec.CommandContext(ctx, filepath.Join(hub.BinDir(), "kubectl"), "--kubeconfig="+hub.KubeconfigPath(),
		"apply", "-f", root+"/manifests/hub/manager/rbac.yaml")
	if out, err := kubectl.CombinedOutput(); err != nil {
		return fmt.Errorf("apply the manager's role: %w: %s", err, out)
	}
	const user = "system:serviceaccount:evenkeel-system:hub-manager"
	config, err := hub.AddUser(user, "system:serviceaccounts", "system:authenticated")
	if err != nil {
		return err
	}
	if err := hub.AwaitRights(ctx, user); err != nil {
		return err
	}
	hub.managerKubeconfig = filepath.Join(folder, "manager.kubeconfig")
	return controlplane.WriteKubeconfig(hub.managerKubeconfig, config)
}
