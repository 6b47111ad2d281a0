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
	"context"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Benchmark is one entry of the list that "make bench" runs.
type Benchmark struct {
	// Name selects the benchmark: BENCH=name.
	Name string
	// Summary is one line for the usage text.
	Summary string
	// AddFlags registers the benchmark's own flags, each prefixed with its name.
	// It may be nil.
	AddFlags func(*flag.FlagSet)
	// Run measures and records its cases. It returns an error only if a run or a
	// check of correctness failed, never because of a number.
	Run func(context.Context, *Environment) error
}

// Environment is what a benchmark runs in.
type Environment struct {
	// BinDir holds the project's binaries; the control plane's are in BinDir/k8s.
	BinDir string
	// Root is the repository: manifests are read from there.
	Root string
	// Machine is what the numbers depend on, to be put into every case.
	Machine Machine
	// Out gets progress and tables.
	Out io.Writer
	// Results collects the cases.
	Results *Results
}

// Progressf prints one line of progress.
func (e *Environment) Progressf(format string, args ...any) {
	// A terminal that went away is no reason to lose a measurement.
	_, _ = fmt.Fprintf(e.Out, format+"\n", args...)
}

// Binary returns the path of one of the project's binaries, or of a control plane's
// ("k8s/kube-scheduler").
func (e *Environment) Binary(name string) string {
	return filepath.Join(e.BinDir, filepath.FromSlash(name))
}

// Manifest returns the path of a file or folder under the repository's root.
func (e *Environment) Manifest(elements ...string) string {
	return filepath.Join(append([]string{e.Root, "manifests"}, elements...)...)
}

// Select returns the benchmark that name asks for, or all of them if it is empty.
func Select(all []Benchmark, name string) ([]Benchmark, error) {
	if name == "" {
		return all, nil
	}
	names := make([]string, 0, len(all))
	for _, b := range all {
		if b.Name == name {
			return []Benchmark{b}, nil
		}
		names = append(names, b.Name)
	}
	return nil, fmt.Errorf("no benchmark is called %q: set BENCH to one of %s, or to nothing for all of them", name, strings.Join(names, ", "))
}
