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
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// realPath resolves links, which the working directory that the system reports has
// resolved too.
func realPath(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	require.NoError(t, err)
	return path
}

func fakeBinaries(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, component := range allComponents {
		require.NoError(t, os.WriteFile(filepath.Join(dir, string(component)), nil, 0o755))
	}
}

func TestFindBinDir(t *testing.T) {
	root := realPath(t, t.TempDir())
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), nil, 0o644))
	deep := filepath.Join(root, "internal", "deep")
	require.NoError(t, os.MkdirAll(deep, 0o755))
	inModule := filepath.Join(root, "bin", "k8s")
	named := filepath.Join(root, "named")
	fromEnv := filepath.Join(root, "env")
	for _, dir := range []string{inModule, named, fromEnv} {
		fakeBinaries(t, dir)
	}
	t.Chdir(deep)

	tests := map[string]struct{ explicit, env, want string }{
		"option wins":      {named, fromEnv, named},
		"then environment": {"", fromEnv, fromEnv},
		"then the module":  {"", "", inModule},
		"relative option":  {filepath.Join("..", "..", "named"), "", named},
		"relative env":     {"", filepath.Join("..", "..", "env"), fromEnv},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv(EnvBinDir, test.env)
			got, err := FindBinDir(test.explicit)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestFindBinDirErrors(t *testing.T) {
	outside := realPath(t, t.TempDir())
	incomplete := filepath.Join(outside, "incomplete")
	fakeBinaries(t, incomplete)
	require.NoError(t, os.Remove(filepath.Join(incomplete, string(Scheduler))))
	folderAsBinary := filepath.Join(outside, "folder")
	fakeBinaries(t, folderAsBinary)
	require.NoError(t, os.Remove(filepath.Join(folderAsBinary, string(Etcd))))
	require.NoError(t, os.Mkdir(filepath.Join(folderAsBinary, string(Etcd)), 0o755))
	t.Chdir(outside)

	tests := map[string]struct {
		explicit, env string
		want          []string
	}{
		"missing folder": {filepath.Join(outside, "none"), "", []string{"no binary etcd", "Options.BinDir", `run "make build"`}},
		"one missing":    {"", incomplete, []string{"no binary kube-scheduler", EnvBinDir, `run "make build"`}},
		"a folder":       {folderAsBinary, "", []string{"no binary etcd", `run "make build"`}},
		"no module":      {"", "", []string{"no go.mod", `run "make build"`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv(EnvBinDir, test.env)
			_, err := FindBinDir(test.explicit)
			for _, want := range test.want {
				assert.ErrorContains(t, err, want)
			}
			cp, err := Start(t.Context(), Options{BinDir: test.explicit})
			assert.Nil(t, cp)
			assert.ErrorContains(t, err, `run "make build"`)
		})
	}
}
