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

package cli

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
)

func TestValidateTaintKey(t *testing.T) {
	for _, key := range []string{"modelplane.ai/maintenance", "other"} {
		assert.NoError(t, ValidateTaintKey(key))
	}
	for key, said := range map[string]string{"": "must not be empty", "a/b/c": "no key of a taint: a valid label key", "-": "no key of a taint", "x:NoExecute": "no key of a taint"} {
		assert.ErrorContains(t, ValidateTaintKey(key), said)
	}
}

func TestSubcommands(t *testing.T) {
	root := &cobra.Command{Use: "evenkeel"}
	for _, name := range []string{"drain", "cordon"} {
		root.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	assert.NoError(t, Subcommands(root, nil))
	assert.EqualError(t, Subcommands(root, []string{"drian"}), "unknown command \"drian\" for \"evenkeel\": is it drain?; `evenkeel --help` lists them")
	assert.EqualError(t, Subcommands(root, []string{"sleep"}), "unknown command \"sleep\" for \"evenkeel\"; `evenkeel --help` lists them")
}
