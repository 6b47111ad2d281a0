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

package get

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel-io/evenkeel/internal/cli"
)

// kind makes the subcommand of one kind.
type kind func(*cli.Factory) *cobra.Command

// NewCommand makes `kubectl evenkeel get`.
func NewCommand(f *cli.Factory) *cobra.Command {
	return newCommand(f, newClusters, newTrafficMaps)
}

// NewOMECommand makes `kubectl ome get`.
func NewOMECommand(f *cli.Factory) *cobra.Command {
	return newCommand(f, newTrafficMaps)
}

func newCommand(f *cli.Factory, kinds ...kind) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get",
		Short: "List objects with what matters about them",
		Args:  cli.Subcommands,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, k := range kinds {
		cmd.AddCommand(k(f))
	}
	return cmd
}
