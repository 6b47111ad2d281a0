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

package controlplane_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/controlplane/lifeline"
)

// The binary is tested from here because a test in package main of cmd/devhub
// would link all of Kubernetes once more.
func TestDevhub(t *testing.T) {
	binDir, err := controlplane.FindBinDir("")
	require.NoError(t, err)
	devhub := filepath.Join(t.TempDir(), "devhub")
	require.NoError(t, os.Symlink(filepath.Join(binDir, "kubectl"), devhub))

	tests := map[string]struct {
		binary   string
		args     []string
		exitCode int
		want     string
	}{
		"by name":                  {filepath.Join(binDir, "kube-apiserver"), []string{"--version"}, 0, "Kubernetes v1.35."},
		"by name, another":         {filepath.Join(binDir, "etcd"), []string{"--version"}, 0, "etcd Version: 3.6."},
		"by argument":              {devhub, []string{"kube-scheduler", "--version"}, 0, "Kubernetes v1.35."},
		"by argument, flags":       {devhub, []string{"kube-controller-manager", "--version"}, 0, "Kubernetes v1.35."},
		"by argument, kubectl":     {devhub, []string{"kubectl", "version", "--client"}, 0, "Client Version: v1.35."},
		"kubectl fails":            {devhub, []string{"kubectl", "no-such-command"}, 1, `unknown command "no-such-command"`},
		"no component":             {devhub, nil, 2, "kube-controller-manager  "},
		"unknown component":        {devhub, []string{"kubelet"}, 2, `no component is called "kubelet"`},
		"a flag instead":           {devhub, []string{"--help"}, 2, "devhub COMPONENT [flags]"},
		"component is no argument": {devhub, []string{"--x", "etcd"}, 2, "devhub COMPONENT [flags]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			output, err := exec.CommandContext(t.Context(), test.binary, test.args...).CombinedOutput()
			exitCode := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				exitCode = exit.ExitCode()
			} else {
				require.NoError(t, err)
			}
			assert.Equal(t, test.exitCode, exitCode)
			assert.Contains(t, string(output), test.want)
		})
	}

	t.Run("bad lifeline", func(t *testing.T) {
		command := exec.CommandContext(t.Context(), devhub, "etcd", "--version")
		command.Env = append(os.Environ(), lifeline.EnvFD+"=x")
		output, err := command.CombinedOutput()
		assert.Error(t, err)
		assert.Contains(t, string(output), "etcd: environment variable "+lifeline.EnvFD)
	})
}

// controller-runtime's own test environment accepts the same binaries.
func TestEnvtest(t *testing.T) {
	binDir, err := controlplane.FindBinDir("")
	require.NoError(t, err)
	environment := &envtest.Environment{
		BinaryAssetsDirectory:    binDir,
		ControlPlaneStartTimeout: patience,
		ControlPlaneStopTimeout:  patience,
	}
	config, err := environment.Start()
	require.NoError(t, err)
	defer func() { assert.NoError(t, environment.Stop()) }()
	create(t, client(t, config), "a")
}
