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
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

const (
	root            = "../../.."
	systemNamespace = "evenkeel-system"
)

// testHub is a control plane with the shipped admission configuration, and hub-manager beside it.
type testHub struct {
	*controlplane.ControlPlane
	client   client.Client
	scheme   *runtime.Scheme
	folder   string
	port     int
	manager  *manager
	warnings *recorder
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

func runTests(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	hub, err = startHub(ctx, "crds")
	if err != nil {
		return 1, err
	}
	if err := hub.startManager(ctx); err != nil {
		return 1, errors.Join(err, hub.stop())
	}
	code = m.Run()
	return code, hub.stop()
}

// startHub starts a control plane with kinds from a folder below manifests/dev. Nothing here needs a controller manager.
func startHub(ctx context.Context, crds string) (*testHub, error) {
	cp, err := controlplane.Start(ctx, controlplane.Options{
		DisableControllerManager: true,
		AuditPolicy:              controlplane.WritesAuditPolicy(),
	})
	if err != nil {
		return nil, err
	}
	h := &testHub{ControlPlane: cp, warnings: &recorder{}}
	if err := h.prepare(ctx, crds); err != nil {
		return nil, errors.Join(err, h.stop())
	}
	return h, nil
}

func (h *testHub) stop() error {
	if h.manager != nil {
		h.manager.kill()
	}
	return errors.Join(h.Stop(), os.RemoveAll(h.folder))
}

func (h *testHub) prepare(ctx context.Context, crds string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := h.InstallCRDs(ctx, filepath.Join(root, "manifests/dev", crds), root+"/manifests/hub/crds"); err != nil {
		return err
	}
	var err error
	if h.folder, err = os.MkdirTemp("", "evenkeel-webhooks-test-"); err != nil {
		return err
	}
	h.scheme = runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, modelplane.AddToScheme, evenkeel.AddToScheme, ome.AddToScheme,
	} {
		utilruntime.Must(add(h.scheme))
	}
	config := h.Config()
	config.WarningHandlerWithContext = h.warnings
	if h.client, err = client.New(config, client.Options{Scheme: h.scheme}); err != nil {
		return err
	}
	if err := h.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}}); err != nil {
		return err
	}
	if h.port, err = freePort(); err != nil {
		return err
	}
	for _, file := range []string{"manager/rbac.yaml", "scheduler/base/rbac.yaml"} {
		if err := h.kubectl(ctx, "apply", "-f", filepath.Join(root, "manifests/hub", file)); err != nil {
			return err
		}
	}
	for _, program := range []string{"hub-manager", "hub-scheduler"} {
		if err := h.AwaitRights(ctx, "system:serviceaccount:"+systemNamespace+":"+program); err != nil {
			return err
		}
	}
	return h.InstallWebhooks(ctx, h.port, webhookFile)
}

func (h *testHub) kubectl(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, filepath.Join(h.BinDir(), "kubectl"), append([]string{"--kubeconfig=" + h.KubeconfigPath()}, args...)...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %v: %w: %s", args, err, out)
	}
	return nil
}

// freePort picks a port below those that the system gives to outgoing connections, so that it is still free when the
// manager is started a second time.
func freePort() (int, error) {
	const first, ports, tries = 20000, 10000, 100
	var err error
	for range tries {
		port := first + rand.IntN(ports)
		var listener net.Listener
		if listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, listener.Close()
		}
	}
	return 0, err
}
