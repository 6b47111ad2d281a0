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

package hubtest

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-io/evenkeel/internal/standin"
)

// ManagerSettings is a configuration of hub-manager. settings are lines of the file; what they leave out is what suits
// tests: one instance that waits for nobody's lease and listens on no port.
func ManagerSettings(settings string) string {
	text := "apiVersion: config.evenkeel.io/v1alpha1\nkind: HubManagerConfiguration\n"
	for _, setting := range []string{
		"leaderElection: {leaderElect: false}", `healthBindAddress: "0"`, `metricsBindAddress: "0"`, `webhooks: {bindAddress: "0"}`,
	} {
		field, _, _ := strings.Cut(setting, " ")
		if !strings.Contains("\n"+settings, "\n"+field) {
			text += setting + "\n"
		}
	}
	return text + settings
}

// NewManager is hub-manager as the user of a kubeconfig, with settings as ManagerSettings takes them.
func (h *Hub) NewManager(kubeconfig, settings string) (*Program, error) {
	config, err := os.CreateTemp(h.Folder, "manager-*.yaml")
	if err != nil {
		return nil, err
	}
	_, err = config.WriteString(ManagerSettings(settings))
	if err := errors.Join(err, config.Close()); err != nil {
		return nil, err
	}
	p, err := NewProgram("hub-manager", "--kubeconfig="+kubeconfig, "--config="+config.Name(), "-v=1")
	if err == nil {
		p.AtWork = `"Starting workers" controller="modeldeployment"`
	}
	return p, err
}

// RunManager runs NewManager's until the test ends.
func (h *Hub) RunManager(t *testing.T, kubeconfig, settings string) *Program {
	t.Helper()
	p, err := h.NewManager(kubeconfig, settings)
	require.NoError(t, err)
	p.Run(t)
	return p
}

// NewScheduler is hub-scheduler without an election and with an administrator's rights.
func (h *Hub) NewScheduler() (*Program, error) {
	p, err := NewProgram("hub-scheduler", "--kubeconfig="+h.KubeconfigPath(), "--leader-elect=false", "--secure-port=0",
		"--authentication-skip-lookup=true", "--v=3")
	if err == nil {
		p.AtWork = "Handlers synced"
	}
	return p, err
}

// RunScheduler runs NewScheduler's until the test ends.
func (h *Hub) RunScheduler(t *testing.T) *Program {
	t.Helper()
	p, err := h.NewScheduler()
	require.NoError(t, err)
	p.Run(t)
	return p
}

// StartStandIn starts what makes replicas ready in place of Modelplane. stop ends it.
func (h *Hub) StartStandIn(options standin.Options) (stop func() error, err error) {
	s, err := standin.New(h.Config(), options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}, nil
}

// RunStandIn runs StartStandIn's until the test ends.
func (h *Hub) RunStandIn(t *testing.T, options standin.Options) {
	t.Helper()
	stop, err := h.StartStandIn(options)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, stop()) })
}
