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

func TestSweepRemovesOnlyFoldersWithoutOwner(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)

	inUse, err := createFolder()
	require.NoError(t, err)
	stale, err := createFolder()
	require.NoError(t, err)
	require.NoError(t, stale.locked.Close(), "the kernel does this when the owner is killed")
	// A folder without the lock's final name is being made just now.
	beingMade := filepath.Join(tmp, "evenkeel-cp-1")
	require.NoError(t, os.Mkdir(beingMade, 0o700))
	foreign := filepath.Join(tmp, "somebody-elses")
	require.NoError(t, os.Mkdir(foreign, 0o700))

	sweepStaleFolders()

	assert.DirExists(t, inUse.pki())
	assert.NoDirExists(t, stale.dir)
	assert.DirExists(t, beingMade)
	assert.DirExists(t, foreign)

	require.NoError(t, inUse.remove())
	assert.NoDirExists(t, inUse.dir)
}

func TestFolderIsPrivate(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	f, err := createFolder()
	require.NoError(t, err)
	for _, path := range []string{f.dir, f.pki(), f.logs(), f.etcdData(), f.lock()} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Zero(t, info.Mode().Perm()&0o077, "others can use %s", path)
	}
}

func TestCreateFolderWithoutTemporaryFolder(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	_, err := createFolder()
	assert.ErrorIs(t, err, os.ErrNotExist)
}
