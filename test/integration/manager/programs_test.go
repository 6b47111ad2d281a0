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
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/standin"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

// TestABadConfigurationEndsTheManager checks what a person sees who makes a mistake in the file.
func TestABadConfigurationEndsTheManager(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"unknown field":      {"modelDeployments: {settleTim: 1m}", "unknown field"},
		"value out of range": {"modelDeployments: {settleTime: -1m}", "modelDeployments.settleTime: Invalid value"},
		"another kind":       {"", "no kind"},
	} {
		t.Run(name, func(t *testing.T) {
			header := "apiVersion: config.evenkeel.io/v1alpha1\nkind: HubManagerConfiguration\n"
			if tc.text == "" {
				header = "apiVersion: config.evenkeel.io/v1alpha1\nkind: Other\n"
			}
			file := filepath.Join(t.TempDir(), "config.yaml")
			require.NoError(t, os.WriteFile(file, []byte(header+tc.text+"\n"), 0o600))
			p := hubtest.Run(t, "hub-manager", "--kubeconfig="+hub.managerKubeconfig, "--config="+file)
			assert.Error(t, p.Wait())
			assert.Contains(t, p.Output(), tc.want)
			assert.Contains(t, p.Output(), file)
		})
	}
}

// TestTwoManagers checks that one works, and that the other takes over at once when the first is told to stop.
func TestTwoManagers(t *testing.T) {
	w := newIdleWorld(t)
	w.startStandIn(standin.Options{})
	w.scheduler = hub.RunScheduler(t)
	const elected = "leaderElection: {leaderElect: true}"
	first := startManagerWith(t, elected, quick, "")
	holder := func() string {
		lease := &coordinationv1.Lease{}
		if err := hub.Client.Get(w.ctx, client.ObjectKey{Namespace: "evenkeel-system", Name: "evenkeel-hub-manager"}, lease); err != nil || lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	w.eventually(func() string {
		if holder() == "" {
			return "nobody leads"
		}
		return ""
	})
	leader := holder()
	startManagerWith(t, elected, quick, "")
	w.cluster("east", 4)
	w.deploy("chat", 1)
	w.stays("chat@east/0(h)")
	assert.Equal(t, leader, holder())
	first.Stop()
	w.eventually(func() string {
		if now := holder(); now == "" || now == leader {
			return "nobody has taken over"
		}
		return ""
	})
	w.scale("chat", 2)
	w.stays("chat@east/0(h)", "chat@east/1(h)")
}

// TestAHubWithoutModelplane checks that the manager runs on a hub that serves none of what it needs, and says so.
func TestAHubWithoutModelplane(t *testing.T) {
	cp, err := controlplane.Start(t.Context(), controlplane.Options{DisableControllerManager: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, cp.Stop()) }()
	config := filepath.Join(t.TempDir(), "manager.yaml")
	require.NoError(t, os.WriteFile(config, []byte(hubtest.ManagerSettings("")), 0o600))
	p := hubtest.Run(t, "hub-manager", "--kubeconfig="+cp.KubeconfigPath(), "--config="+config)
	w := &world{t: t, ctx: t.Context()}
	w.eventually(func() string {
		for _, part := range []string{"The hub does not serve all that ModelDeployments need", "inferenceclusters.modelplane.ai", "replicaplacements.evenkeel.io"} {
			if !strings.Contains(p.Output(), part) {
				return "the log does not say " + part
			}
		}
		return ""
	})
	assert.True(t, p.Running())
}
