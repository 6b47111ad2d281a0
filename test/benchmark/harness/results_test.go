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
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestResultsIsWrittenAfterEachCase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench", "results.json")
	results := NewResults(path)
	for n := 1; n <= 2; n++ {
		require.NoError(t, results.Add(map[string]int{"case": n}))
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		var cases []map[string]int
		require.NoError(t, json.Unmarshal(content, &cases))
		require.Len(t, cases, n)
		assert.Equal(t, n, cases[n-1]["case"])
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing but the results may stay")
}

func TestResultsReplacesAnEarlierRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	require.NoError(t, os.WriteFile(path, []byte("a much longer file of an earlier run, of which nothing may stay"), 0o600))
	require.NoError(t, NewResults(path).Add(map[string]int{"case": 1}))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.JSONEq(t, `[{"case": 1}]`, string(content))
}

func TestResultsRefusesWhatJSONCannotHold(t *testing.T) {
	results := NewResults(filepath.Join(t.TempDir(), "results.json"))
	assert.ErrorContains(t, results.Add(map[string]float64{"ratio": math.Inf(1)}), "encode the results")
}
