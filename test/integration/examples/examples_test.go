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

package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

const (
	patience = 90 * time.Second
	interval = 200 * time.Millisecond
)

// root of the repository.
var root = filepath.Join("..", "..", "..")

// cluster is a control plane with kubectl.
type cluster struct {
	*controlplane.ControlPlane
}

func start(t *testing.T, crds string) *cluster {
	plane, err := controlplane.Start(t.Context(), controlplane.Options{DisableControllerManager: true})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, plane.Stop()) })
	require.NoError(t, plane.InstallCRDs(t.Context(), filepath.Join(root, "manifests", "dev", crds), filepath.Join(root, "manifests", "hub", "crds")))
	c := &cluster{ControlPlane: plane}
	// Kinds are served a moment before their schemas, by which kubectl validates.
	require.Eventually(t, func() bool {
		schemas, ok := c.kubectl(t, "get", "--raw", "/openapi/v3")
		return ok && strings.Contains(schemas, "apis/modelplane.ai/v1alpha1") && strings.Contains(schemas, "apis/evenkeel.io/v1alpha1")
	}, patience, interval, "the schemas are not published")
	return c
}

// kubectl returns what kubectl prints, and whether it succeeded.
func (c *cluster) kubectl(t *testing.T, args ...string) (string, bool) {
	cmd := exec.CommandContext(t.Context(), filepath.Join(c.BinDir(), "kubectl"), args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.KubeconfigPath(), "KUBERC=off", "KUBECACHEDIR="+t.TempDir())
	output, err := cmd.CombinedOutput()
	return string(output), err == nil
}

// apply is strict: a field that the schema does not know is an error, not a warning.
func (c *cluster) apply(t *testing.T, folder string) (string, bool) {
	return c.kubectl(t, "apply", "--server-side", "--validate=strict", "-k", folder)
}

func TestExamplesAreAccepted(t *testing.T) {
	c := start(t, "crds")
	output, ok := c.apply(t, "manifests/examples")
	require.True(t, ok, output)
	names, ok := c.kubectl(t, "get", "modeldeployments", "-A", "-o",
		`jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {.spec.template.spec.schedulerName} {end}`)
	require.True(t, ok, names)
	assert.Equal(t, "ml-team/chat evenkeel ml-team/embed evenkeel ml-team/reasoner evenkeel ", names)
}

func TestPortableObjectsAreAccepted(t *testing.T) {
	c := start(t, "crds-portable")
	output, ok := c.apply(t, "test/testdata/portable")
	require.True(t, ok, output)

	output, ok = c.apply(t, "manifests/examples")
	assert.False(t, ok, "this hub knows Evenkeel's extra fields")
	assert.Contains(t, output, "spec.template.spec.schedulerName")
}
