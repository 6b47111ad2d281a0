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
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

// startManager runs hub-manager and waits until it is ready, which it is when its webhooks can answer, and until the API
// server trusts them.
func (h *testHub) startManager(ctx context.Context) error {
	health, err := controlplane.FreePort()
	if err != nil {
		return err
	}
	h.manager, err = h.NewManager(h.managerKubeconfig, fmt.Sprintf(
		"healthBindAddress: \"127.0.0.1:%d\"\nwebhooks: {bindAddress: \"127.0.0.1:%d\"}\n", health, h.port))
	if err != nil {
		return err
	}
	if err := h.manager.Start(); err != nil {
		return err
	}
	ready := fmt.Sprintf("http://127.0.0.1:%d/readyz", health)
	err = wait.PollUntilContextTimeout(ctx, hubtest.Interval, hubtest.Patience, true, func(context.Context) (bool, error) {
		response, err := http.Get(ready)
		if err != nil {
			return false, nil
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("hub-manager does not get ready: %w:\n%s", err, h.manager.Tail())
	}
	return h.awaitTrust(ctx)
}

// awaitTrust waits until both kinds of webhooks are called and understood.
func (h *testHub) awaitTrust(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, hubtest.Interval, hubtest.Patience, true, func(ctx context.Context) (bool, error) {
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
		return fmt.Errorf("the API server does not call the webhooks: %w:\n%s", err, h.manager.Tail())
	}
	h.warnings.take()
	return nil
}
