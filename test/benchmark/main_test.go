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
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

func TestRun(t *testing.T) {
	t.Setenv(controlplane.EnvBinDir, t.TempDir()) // without a control plane nothing is measured
	for name, tc := range map[string]struct {
		benchmark string
		args      []string
		code      int
		says      string
	}{
		"help":                 {args: []string{"--help"}, code: 0, says: "the hub scheduler next to kube-scheduler"},
		"an unknown flag":      {args: []string{"--fast"}, code: exitUsage, says: "-fast"},
		"an argument":          {args: []string{"placement"}, code: exitUsage, says: `unexpected argument "placement"`},
		"an unknown benchmark": {benchmark: "nothing", code: exitUsage, says: `no benchmark is called "nothing"`},
		"the flag goes first":  {benchmark: "nothing", args: []string{"--bench=placement"}, code: exitFailed, says: "make build"},
		"no binaries":          {code: exitFailed, says: "FAIL: no binary etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(envBenchmark, tc.benchmark)
			var out, errOut strings.Builder
			assert.Equal(t, tc.code, run(t.Context(), tc.args, &out, &errOut))
			assert.Contains(t, errOut.String(), tc.says)
		})
	}
}

func TestBenchmarksHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range benchmarks() {
		assert.NotEmpty(t, b.Summary, b.Name)
		assert.False(t, seen[b.Name], b.Name)
		seen[b.Name] = true
	}
}
