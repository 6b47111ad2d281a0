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
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

const (
	patience = 90 * time.Second
	interval = 50 * time.Millisecond
)

// manager is hub-manager as a child process.
type manager struct {
	mu  sync.Mutex
	log bytes.Buffer
	cmd *exec.Cmd
}

func (m *manager) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.Write(b)
}

func (m *manager) output() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.String()
}

// kill ends it without giving it a chance to clean up.
func (m *manager) kill() {
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
}

// managerKubeconfig is that of the user whom the shipped role was made for, who may do nothing else.
func (h *testHub) managerKubeconfig() (string, error) {
	config, err := h.AddUser("system:serviceaccount:evenkeel-system:hub-manager", "system:serviceaccounts", "system:authenticated")
	if err != nil {
		return "", err
	}
	path := filepath.Join(h.folder, "manager.kubeconfig")
	return path, controlplane.WriteKubeconfig(path, config)
}

// startManager runs hub-manager and waits until it is ready, which it is when its webhooks can answer, and until the API
// server trusts them.
func (h *testHub) startManager(ctx context.Context) error {
	kubeconfig, err := h.managerKubeconfig()
	if err != nil {
		return err
	}
	health, err := freePort()
	if err != nil {
		return err
	}
	config := filepath.Join(h.folder, "manager.yaml")
	text := fmt.Sprintf(`apiVersion: config.evenkeel.io/v1alpha1
kind: HubManagerConfiguration
healthBindAddress: "127.0.0.1:%d"
metricsBindAddress: "0"
leaderElection: {leaderElect: false}
webhooks: {bindAddress: "127.0.0.1:%d"}
`, health, h.port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	binary, err := filepath.Abs(root + "/bin/hub-manager")
	if err != nil {
		return err
	}
	m := &manager{cmd: exec.Command(binary, "--kubeconfig="+kubeconfig, "--config="+config, "-v=1")}
	m.cmd.Stdout, m.cmd.Stderr = m, m
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.cmd.Start(); err != nil {
		return fmt.Errorf("start hub-manager (run make build first): %w", err)
	}
	h.manager = m
	ready := fmt.Sprintf("http://127.0.0.1:%d/readyz", health)
	err = wait.PollUntilContextTimeout(ctx, interval, patience, true, func(context.Context) (bool, error) {
		response, err := http.Get(ready)
		if err != nil {
			return false, nil
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("hub-manager does not get ready: %w:\n%s", err, m.output())
	}
	return h.awaitTrust(ctx)
}

// awaitTrust waits until both kinds of webhooks are called and understood.
func (h *testHub) awaitTrust(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		cluster := clusterFor(maintenance(""))
		if err := h.client.Create(ctx, cluster, client.DryRunAll); err != nil {
			return false, nil
		}
		service := &ome.InferenceService{ObjectMeta: annotated(key, "no JSON")}
		service.Namespace, service.GenerateName = "default", "probe-"
		err := h.client.Create(ctx, service, client.DryRunAll)
		_, stamped := sinceOf(cluster)
		return stamped && err != nil && strings.HasPrefix(err.Error(), denied), nil
	})
	if err != nil {
		return fmt.Errorf("the API server does not call the webhooks: %w:\n%s", err, h.manager.output())
	}
	h.warnings.take()
	return nil
}
