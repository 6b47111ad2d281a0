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

package traffic

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/golden"
	"github.com/evenkeel-io/evenkeel/internal/cli/table"
)

var collectedAt = regexp.MustCompile(`(collectedAt"?: "?)[^",\n]+`)

func TestResults(t *testing.T) {
	drain := []string{"drain", "chat", "--workload-cluster=worker-a", "--id=maintenance-a", "--reason=planned maintenance", "--yes"}
	for name, args := range map[string][]string{
		"drain-table":  drain,
		"drain-wide":   append(drain, "-o=wide"),
		"drain-json":   append(drain, "-o=json"),
		"drain-yaml":   append(drain, "-o=yaml"),
		"drain-client": append(drain, "--dry-run=client"),
		"drain-server": append(drain, "--dry-run=server"),
	} {
		t.Run(name, func(t *testing.T) {
			o := newServer(t, chat()).execute(t, args...)
			require.Zero(t, o.code, o.stderr)
			golden.Equal(t, name, collectedAt.ReplaceAllString(o.stdout, "${1}NOW"))
			assert.NotContains(t, o.stdout, "planned maintenance", "the reason is not in the result")
		})
	}
}

func TestPreviews(t *testing.T) {
	long := strings.Repeat("維持", 40)
	s := newServer(t, chat(drained(`{"maintenance-a":{"cluster":"`+strings.Repeat("a", 120)+`","reason":"`+long+`"}}`)))
	o := s.execute(t, "undrain", "chat", "--id=maintenance-a", "--yes")
	require.Zero(t, o.code, o.stderr)
	golden.Equal(t, "undrain-preview", o.stderr)
	for _, line := range strings.Split(o.stderr, "\n") {
		assert.LessOrEqual(t, table.Cells(line), 80, line)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestNothingCanBeWritten(t *testing.T) {
	s := newServer(t, chat())
	args := []string{"drain", "chat", "--workload-cluster=worker-a", "--id=a", "--reason=r", "--yes"}
	var stderr strings.Builder
	err := s.command(t, cli.OME, genericiooptions.IOStreams{Out: brokenWriter{}, ErrOut: &stderr}, args...).ExecuteContext(t.Context())
	assert.Equal(t, 1, cli.Report(&stderr, err))
	assert.Contains(t, stderr.String(), "error: write traffic action result failed; check traffic status\ncause: disk full\n")

	s = newServer(t, chat())
	err = s.command(t, cli.OME, genericiooptions.IOStreams{Out: &stderr, ErrOut: brokenWriter{}}, args...).ExecuteContext(t.Context())
	assert.ErrorContains(t, err, "write traffic action preview failed")
	assert.Empty(t, s.patches, "what could not be previewed is not done")
}
