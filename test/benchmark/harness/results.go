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

package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Results is the file that collects one JSON object a case. It is written anew
// after each case, so that a later failure does not lose what was measured, and
// holds only cases of this run.
type Results struct {
	path  string
	cases []any
}

// NewResults returns an empty collection that will be written to path.
func NewResults(path string) *Results {
	return &Results{path: path}
}

// Path returns the file.
func (r *Results) Path() string {
	return r.path
}

// Add appends a case and writes the file. The case must be a value that encodes to
// a JSON object.
func (r *Results) Add(result any) error {
	r.cases = append(r.cases, result)
	content, err := json.MarshalIndent(r.cases, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o755); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	// Written aside and renamed: who reads while a benchmark runs sees whole cases.
	temporary := r.path + ".tmp"
	if err := os.WriteFile(temporary, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	if err := os.Rename(temporary, r.path); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}
