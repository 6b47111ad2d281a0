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
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/standin"
)

const root = "../../.."

// hub is the control plane of the package's tests.
var hub struct {
	*controlplane.ControlPlane
	client client.Client
	folder string
	// viewerKubeconfig is that of a user who has the shipped role for people who look, and no other.
	viewerKubeconfig string
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
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if hub.ControlPlane, err = controlplane.Start(ctx, controlplane.Options{}); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, hub.Stop(), os.RemoveAll(hub.folder)) }()
	if err := prepare(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func prepare(ctx context.Context) error {
	if err := hub.InstallCRDs(ctx, root+"/manifests/dev/crds", root+"/manifests/hub/crds"); err != nil {
		return err
	}
	// The garbage collector, which ends what is deleted, learns of new kinds every half minute, or when it starts.
	if err := hub.Restart(ctx, controlplane.ControllerManager); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, rbacv1.AddToScheme, modelplane.AddToScheme, evenkeel.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	var err error
	if hub.client, err = client.New(hub.Config(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if hub.folder, err = os.MkdirTemp("", "evenkeel-plan-test-"); err != nil {
		return err
	}
	return addViewer(ctx)
}

// addViewer grants a user what the shipped role for people who look grants.
func addViewer(ctx context.Context) error {
	kubectl := exec.CommandContext(ctx, filepath.Join(hub.BinDir(), "kubectl"), "--kubeconfig="+hub.KubeconfigPath(),
		"apply", "-f", root+"/manifests/hub/rbac/viewer.yaml")
	if out, err := kubectl.CombinedOutput(); err != nil {
		return fmt.Errorf("apply the viewer's role: %w: %s", err, out)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "viewer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "evenkeel-viewer"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "viewer"}},
	}
	if err := hub.client.Create(ctx, binding); err != nil {
		return err
	}
	config, err := hub.AddUser("viewer", "system:authenticated")
	if err != nil {
		return err
	}
	if err := hub.AwaitRights(ctx, "viewer"); err != nil {
		return err
	}
	hub.viewerKubeconfig = filepath.Join(hub.folder, "viewer.kubeconfig")
	return controlplane.WriteKubeconfig(hub.viewerKubeconfig, config)
}

// startPrograms runs hub-manager, with one move at a time, hub-scheduler and a stand-in for what makes replicas ready. It
// returns hub-manager's configuration file.
func startPrograms(t *testing.T) string {
	t.Helper()
	stand, err := standin.New(hub.Config(), standin.Options{KeepClusterStatus: true})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- stand.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done)
	})
	config := filepath.Join(t.TempDir(), "manager.yaml")
	require.NoError(t, os.WriteFile(config, []byte(`apiVersion: config.evenkeel.io/v1alpha1
kind: HubManagerConfiguration
healthBindAddress: "0"
metricsBindAddress: "0"
webhooks: {bindAddress: "0"}
leaderElection: {leaderElect: false}
modelDeployments: {maxParallelMoves: 1}
`), 0o600))
	start(t, "hub-scheduler", "--kubeconfig="+hub.KubeconfigPath(), "--leader-elect=false", "--secure-port=0", "--authentication-skip-lookup=true")
	start(t, "hub-manager", "--kubeconfig="+hub.KubeconfigPath(), "--config="+config)
	return config
}

func binary(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "bin", name))
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run make build first", err)
	}
	return path
}

// start runs one of the project's binaries until the test ends.
func start(t *testing.T, name string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), name+".log"))
	require.NoError(t, err)
	cmd := exec.Command(binary(t, name), args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if said, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("%s:\n%s", name, said[max(0, len(said)-6000):])
		}
		assert.NoError(t, log.Close())
	})
}
