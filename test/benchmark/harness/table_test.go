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
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWriteTable(t *testing.T) {
	var out strings.Builder
	require.NoError(t, WriteTable(&out, []string{"mode", "rate"}, [][]string{{"live", "9"}, {"queued", "1000"}}))
	assert.Equal(t, ""+
		"    mode  rate\n"+
		"    live     9\n"+
		"  queued  1000\n", out.String())
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestWriteTableTellsOfABrokenWriter(t *testing.T) {
	assert.ErrorContains(t, WriteTable(brokenWriter{}, []string{"a"}, nil), "no space")
}
