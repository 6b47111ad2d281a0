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

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

const (
	// folderPattern is kept short: macOS allows a Unix socket's path 104 bytes,
	// of which its temporary folder takes half.
	folderPattern = "evenkeel-cp-*"

	ownerOnly       os.FileMode = 0o600
	ownerOnlyFolder os.FileMode = 0o700
)

// files names everything in a control plane's folder.
type files struct{ dir string }

func (f files) lock() string              { return filepath.Join(f.dir, "lock") }
func (f files) etcdData() string          { return filepath.Join(f.dir, "etcd") }
func (f files) etcdSocket() string        { return filepath.Join(f.dir, "etcd.sock") }
func (f files) etcdHTTPSocket() string    { return filepath.Join(f.dir, "http.sock") }
func (f files) pki() string               { return filepath.Join(f.dir, "pki") }
func (f files) authority() string         { return filepath.Join(f.pki(), "ca.crt") }
func (f files) authorityKey() string      { return filepath.Join(f.pki(), "ca.key") }
func (f files) serving() string           { return filepath.Join(f.pki(), "serving.crt") }
func (f files) servingKey() string        { return filepath.Join(f.pki(), "serving.key") }
func (f files) proxyAuthority() string    { return filepath.Join(f.pki(), "front-proxy-ca.crt") }
func (f files) proxyClient() string       { return filepath.Join(f.pki(), "front-proxy.crt") }
func (f files) proxyClientKey() string    { return filepath.Join(f.pki(), "front-proxy.key") }
func (f files) serviceAccountKey() string { return filepath.Join(f.pki(), "service-account.key") }
func (f files) adminKubeconfig() string   { return filepath.Join(f.dir, "kubeconfig") }
func (f files) auditPolicy() string       { return filepath.Join(f.dir, "audit-policy.json") }
func (f files) auditLog() string          { return filepath.Join(f.logs(), "audit.log") }
func (f files) logs() string              { return filepath.Join(f.dir, "logs") }

func (f files) kubeconfig(component Component) string {
	return filepath.Join(f.pki(), string(component)+".kubeconfig")
}

func (f files) log(component Component) string {
	return filepath.Join(f.logs(), string(component)+".log")
}

// folder is a control plane's folder, locked for as long as it is in use.
type folder struct {
	files
	locked *fileutil.LockedFile
}

// createFolder makes a folder that no other process sweeps away.
func createFolder() (*folder, error) {
	dir, err := os.MkdirTemp("", folderPattern)
	if err != nil {
		return nil, err
	}
	f := &folder{files: files{dir: dir}}
	if err := f.lockAndFill(); err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

func (f *folder) lockAndFill() error {
	// The file gets its name only once it is locked: a sweeper that finds it
	// unlocked may therefore conclude that its owner is dead.
	unnamed := f.lock() + ".new"
	locked, err := fileutil.TryLockFile(unnamed, os.O_WRONLY|os.O_CREATE, ownerOnly)
	if err != nil {
		return fmt.Errorf("lock %s: %w", unnamed, err)
	}
	f.locked = locked
	if err := os.Rename(unnamed, f.lock()); err != nil {
		return err
	}
	for _, sub := range []string{f.pki(), f.logs(), f.etcdData()} {
		if err := os.Mkdir(sub, ownerOnlyFolder); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the folder and then gives up its lock.
func (f *folder) remove() error {
	err := os.RemoveAll(f.dir)
	if f.locked != nil {
		err = errors.Join(err, f.locked.Close())
	}
	return err
}

// sweepStaleFolders removes the folders of control planes whose process was
// killed before it could. It reports nothing: a folder that cannot be removed now
// (another user's, or one whose components are just ending) is left to the next
// sweep, and starting does not depend on it.
func sweepStaleFolders() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), folderPattern))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		f := &folder{files: files{dir: dir}}
		f.locked, err = fileutil.TryLockFile(f.lock(), os.O_WRONLY, ownerOnly)
		if err == nil {
			_ = f.remove()
		}
	}
}
