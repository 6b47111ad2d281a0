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

package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// EnvBinDir names the environment variable that tells where the components'
// binaries are; controller-runtime's envtest reads the same one.
const EnvBinDir = "KUBEBUILDER_ASSETS"

// FindBinDir returns the absolute path of the folder with the components'
// binaries: explicit if it is not empty, else what KUBEBUILDER_ASSETS says, else
// bin/k8s next to the nearest go.mod, upwards from the working directory. It is an
// error, which says what to do, if a binary that a control plane may need is not
// there.
func FindBinDir(explicit string) (string, error) {
	dir, origin, err := locateBinDir(explicit)
	if err != nil {
		return "", err
	}
	for _, component := range allComponents {
		info, err := os.Stat(filepath.Join(dir, string(component)))
		if err != nil || info.IsDir() {
			return "", fmt.Errorf("no binary %s in %s (from %s): run \"make build\"", component, dir, origin)
		}
	}
	return dir, nil
}

// locateBinDir returns the folder and, for error messages, what named it.
func locateBinDir(explicit string) (dir, origin string, err error) {
	dir, origin = explicit, "Options.BinDir"
	if dir == "" {
		dir, origin = os.Getenv(EnvBinDir), "environment variable "+EnvBinDir
	}
	if dir == "" {
		root, err := moduleRoot()
		if err != nil {
			return "", "", err
		}
		dir, origin = filepath.Join(root, "bin", "k8s"), "the default"
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", "", fmt.Errorf("find the control plane's binaries in %s (from %s): %w", dir, origin, err)
	}
	return absolute, origin, nil
}

// moduleRoot returns the nearest folder with a go.mod, upwards from the working
// directory.
func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the control plane's binaries: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("find the control plane's binaries: %w", err)
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the control plane's binaries: no go.mod in %s or above it; run \"make build\" in the repository and set %s to its bin/k8s", start, EnvBinDir)
		}
	}
}
