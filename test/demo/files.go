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

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	// folderPattern of the temporary folder.
	folderPattern = "evenkeel-demo-*"
	// ownerFile in it has the process id of the demo that uses it.
	ownerFile = "pid"
)

// createFolder makes the demo's temporary folder, and removes those of demos that
// were killed before they could.
func createFolder() (string, error) {
	sweepFolders()
	folder, err := os.MkdirTemp("", folderPattern)
	if err != nil {
		return "", err
	}
	owner := filepath.Join(folder, ownerFile)
	if err := os.WriteFile(owner, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	return folder, nil
}

// sweepFolders reports nothing: what cannot be removed now is left to the next demo,
// and this one does not depend on it.
func sweepFolders() {
	owners, err := filepath.Glob(filepath.Join(os.TempDir(), folderPattern, ownerFile))
	if err != nil {
		return
	}
	for _, owner := range owners {
		content, err := os.ReadFile(owner)
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(string(content))
		if err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(filepath.Dir(owner))
		}
	}
}

func copyFile(target, source string) error {
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.Create(target)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
