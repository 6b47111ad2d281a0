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

// portable-crds writes the CRDs of Modelplane's kinds as a hub has them where
// nobody added Evenkeel's optional fields, for the test run that shows that
// Evenkeel's annotations do the same work there. It only removes fields: what it
// writes differs from what it reads in nothing else, and it fails when a field that
// it should remove is not there, so that a renamed field cannot pass unnoticed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	folderMode os.FileMode = 0o755
	fileMode   os.FileMode = 0o644
)

func main() {
	from := flag.String("from", "manifests/dev/crds", "folder of the CRDs to read")
	to := flag.String("to", "manifests/dev/crds-portable", "folder to write, which is emptied first")
	flag.Parse()
	if err := run(*from, *to, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "portable-crds:", err)
		os.Exit(1)
	}
}

// run derives every CRD file of one folder into another. The target is replaced, so
// that a CRD which is not made any more does not stay behind.
func run(from, to string, log io.Writer) error {
	sources, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		return fmt.Errorf("no CRDs (*.yaml) in %s: run \"make generate\"", from)
	}
	derived, err := deriveAll(sources)
	if err != nil {
		return err
	}
	if err := replaceFolder(to, derived); err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	_, err = fmt.Fprintf(log, "portable-crds: wrote %d CRDs to %s\n", len(derived), to)
	return err
}

// deriveAll returns the content by file name.
func deriveAll(sources []string) (map[string][]byte, error) {
	derived := map[string][]byte{}
	pending := extraFields()
	for _, source := range sources {
		content, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(content, &crd.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		if err := removeFields(crd, pending[crd.GetName()]); err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		delete(pending, crd.GetName())
		if content, err = yaml.Marshal(crd.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		derived[filepath.Base(source)] = append([]byte("---\n"), content...)
	}
	if len(pending) > 0 {
		return nil, fmt.Errorf("no CRD found for %v, of which fields should be removed", names(pending))
	}
	return derived, nil
}

func replaceFolder(dir string, files map[string][]byte) error {
	stale, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, fileMode); err != nil {
			return err
		}
	}
	return nil
}
