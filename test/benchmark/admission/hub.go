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

package admission

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
	"github.com/evenkeel-io/evenkeel/test/benchmark/programs"
)

const (
	// bareGroup has a kind like OME's that no webhook is about.
	bareGroup = "bare.evenkeel.io"

	startTimeout = 2 * time.Minute
	pollInterval = 50 * time.Millisecond
)

// hub is a control plane with both kinds.
type hub struct {
	environment *harness.Environment
	folder      string
	cp          *controlplane.ControlPlane
	client      client.Client
	manager     *harness.Child
	// versions are the services' resource versions.
	versions map[kind]string
}

func startHub(ctx context.Context, environment *harness.Environment, folder string) (*hub, error) {
	cp, err := controlplane.Start(ctx, controlplane.Options{
		BinDir:                   environment.Binary("k8s"),
		DisableControllerManager: true,
		AuditPolicy:              controlplane.WritesAuditPolicy(),
	})
	if err != nil {
		return nil, err
	}
	h := &hub{environment: environment, folder: folder, cp: cp, versions: map[kind]string{}}
	if err := h.prepare(ctx); err != nil {
		return nil, errors.Join(err, h.stop(ctx))
	}
	return h, nil
}

func (h *hub) stop(ctx context.Context) error {
	if h.manager != nil {
		h.manager.Stop(ctx)
	}
	return h.cp.Stop()
}

func (h *hub) prepare(ctx context.Context) error {
	bare, err := h.bareKind()
	if err != nil {
		return err
	}
	if err := h.cp.InstallCRDs(ctx, h.environment.Manifest("hub", "crds"), h.environment.Manifest("dev", "crds"), bare); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, ome.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	if h.client, err = client.New(h.cp.Config(), client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	if err := h.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: programs.Namespace}}); err != nil {
		return fmt.Errorf("create namespace %s: %w", programs.Namespace, err)
	}
	return h.createServices(ctx)
}

// bareKind writes the CRD of InferenceServices once more, for another group.
func (h *hub) bareKind() (string, error) {
	text, err := os.ReadFile(h.environment.Manifest("dev", "crds", "ome.io_inferenceservices.yaml"))
	if err != nil {
		return "", fmt.Errorf("read the kind to copy: %w", err)
	}
	copied := strings.NewReplacer(
		"name: inferenceservices.ome.io", "name: inferenceservices."+bareGroup,
		"group: ome.io", "group: "+bareGroup,
	).Replace(string(text))
	path := filepath.Join(h.folder, "bare.yaml")
	return path, os.WriteFile(path, []byte(copied), 0o600)
}

// installGuard applies the shipped configuration, runs hub-manager and waits until it judges drains.
func (h *hub) installGuard(ctx context.Context) error {
	port, err := controlplane.FreePort()
	if err != nil {
		return err
	}
	kubectl := exec.CommandContext(ctx, h.environment.Binary("k8s/kubectl"), "--kubeconfig="+h.cp.KubeconfigPath(),
		"apply", "-f", h.environment.Manifest("hub", "manager", "rbac.yaml"))
	if out, err := kubectl.CombinedOutput(); err != nil {
		return fmt.Errorf("apply the manager's role: %w: %s", err, out)
	}
	if err := h.cp.InstallWebhooks(ctx, port, h.environment.Manifest("hub", "manager", "webhooks.yaml")); err != nil {
		return err
	}
	if err := h.startManager(ctx, port); err != nil {
		return err
	}
	return h.awaitGuard(ctx)
}

func (h *hub) startManager(ctx context.Context, port int) error {
	file := filepath.Join(h.folder, "manager.yaml")
	text := fmt.Sprintf(`apiVersion: config.evenkeel.io/v1alpha1
kind: HubManagerConfiguration
healthBindAddress: "0"
metricsBindAddress: "0"
leaderElection: {leaderElect: false}
webhooks: {bindAddress: "127.0.0.1:%d"}
`, port)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the manager's configuration: %w", err)
	}
	var err error
	h.manager, err = h.environment.StartProgram(ctx, h.cp, h.folder, "hub-manager", programs.ManagerUser, "--config="+file)
	return err
}

// awaitGuard tries a drain of an unknown cluster, which is refused as soon as the guard answers and has seen the map.
func (h *hub) awaitGuard(ctx context.Context) error {
	probe := guarded.object(0, ofSpec)
	probe.SetAnnotations(map[string]string{ome.TrafficDrainAnnotation: `{"probe":{"cluster":"nowhere-near","reason":"r"}}`})
	err := wait.PollUntilContextTimeout(ctx, pollInterval, startTimeout, true, func(ctx context.Context) (bool, error) {
		if err := h.manager.Check(); err != nil {
			return false, err
		}
		err := h.update(ctx, probe.DeepCopy(), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "unknown cluster"), nil
	})
	if err != nil {
		return fmt.Errorf("wait for the guard: %w; the last lines of its log:\n%s", err, h.manager.LogTail())
	}
	return nil
}
