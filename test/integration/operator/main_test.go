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

package operator

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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/standin"
)

const root = "../../.."

// People who use the plugin, and the shipped roles that they have.
var people = map[string][]string{
	"viewer":   {"evenkeel-viewer"},
	"operator": {"evenkeel-viewer", "evenkeel-operator"},
	"pauser":   {"evenkeel-viewer", "evenkeel-pauser"},
	"nobody":   nil,
}

// hub is the control plane that the tests share, with all of Evenkeel's programs at work.
var hub struct {
	*controlplane.ControlPlane
	client  client.Client
	dynamic dynamic.Interface
	folder  string
	// processes that end with the tests.
	processes []*exec.Cmd
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
	if hub.folder, err = os.MkdirTemp("", "evenkeel-operator-test-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(hub.folder)) }()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	hub.ControlPlane, err = controlplane.Start(ctx, controlplane.Options{})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, hub.Stop()) }()
	if err := prepare(ctx); err != nil {
		return 1, err
	}
	ended := make(chan error, 1)
	stand, stop := context.WithCancel(ctx)
	modelplaneStandIn, err := standin.New(hub.Config(), standin.Options{LoadTime: 500 * time.Millisecond, HoldTime: 200 * time.Millisecond})
	if err != nil {
		stop()
		return 1, err
	}
	go func() { ended <- modelplaneStandIn.Run(stand) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	defer endProcesses()
	if err := startPrograms(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := hub.InstallCRDs(ctx, root+"/manifests/dev/crds", root+"/manifests/hub/crds"); err != nil {
		return err
	}
	// The garbage collector, which ends what is deleted in the foreground, learns of new kinds when it starts.
	if err := hub.Restart(ctx, controlplane.ControllerManager); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), modelplane.AddToScheme(scheme), evenkeel.AddToScheme(scheme)); err != nil {
		return err
	}
	var err error
	if hub.client, err = client.New(hub.Config(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if hub.dynamic, err = dynamic.NewForConfig(hub.Config()); err != nil {
		return err
	}
	if err := hub.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel-system"}}); err != nil {
		return err
	}
	for _, args := range [][]string{{"-f", root + "/manifests/hub/manager/rbac.yaml"}, {"-k", root + "/manifests/hub/rbac"}} {
		if err := administrate(ctx, append([]string{"apply"}, args...)...); err != nil {
			return err
		}
	}
	return addPeople(ctx)
}

// administrate runs kubectl with all rights.
func administrate(ctx context.Context, args ...string) error {
	kubectl := exec.CommandContext(ctx, filepath.Join(hub.BinDir(), "kubectl"), append([]string{"--kubeconfig=" + hub.KubeconfigPath()}, args...)...)
	if out, err := kubectl.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %v: %w: %s", args, err, out)
	}
	return nil
}

// addPeople gives each person a kubeconfig and the shipped roles, and nothing else.
func addPeople(ctx context.Context) error {
	users := map[string]string{"system:serviceaccount:evenkeel-system:hub-manager": "hub-manager"}
	for name, roles := range people {
		users[name] = name
		for _, role := range roles {
			if err := administrate(ctx, "create", "clusterrolebinding", name+"-"+role, "--clusterrole="+role, "--user="+name); err != nil {
				return err
			}
		}
	}
	for user, file := range users {
		config, err := hub.AddUser(user, "system:authenticated")
		if err != nil {
			return err
		}
		if err := errors.Join(controlplane.WriteKubeconfig(kubeconfig(file), config), hub.AwaitRights(ctx, user)); err != nil {
			return err
		}
	}
	return nil
}

func kubeconfig(name string) string { return filepath.Join(hub.folder, name+".kubeconfig") }

func startPrograms() error {
	config := filepath.Join(hub.folder, "manager.yaml")
	if err := os.WriteFile(config, []byte(`apiVersion: config.evenkeel.io/v1alpha1
kind: HubManagerConfiguration
healthBindAddress: "0"
metricsBindAddress: "0"
webhooks: {bindAddress: "0"}
leaderElection: {leaderElect: false}
`), 0o600); err != nil {
		return err
	}
	return errors.Join(
		startProgram("hub-manager", "--kubeconfig="+kubeconfig("hub-manager"), "--config="+config),
		startProgram("hub-scheduler", "--kubeconfig="+hub.KubeconfigPath(), "--leader-elect=false", "--secure-port=0", "--authentication-skip-lookup=true"),
	)
}

func startProgram(name string, args ...string) error {
	log, err := os.Create(filepath.Join(hub.folder, name+".log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own copy
	cmd := exec.Command(filepath.Join(root, "bin", name), args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w: run make build first", err)
	}
	hub.processes = append(hub.processes, cmd)
	return nil
}

func endProcesses() {
	for _, cmd := range hub.processes {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}
