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
	"github.com/spf13/cobra"

	"github.com/evenkeel-io/evenkeel/internal/cli"
)

// NewCommand makes `kubectl evenkeel traffic`: OME's commands, the same for all services at
// once, and the list of all drains.
func NewCommand(f *cli.Factory) *cobra.Command {
	return newGroup(f, newFleetDrain, newFleetUndrain, newDrains, newStatus, newExplain)
}

// NewOMECommand makes `kubectl ome traffic`, which has what OME's own has.
func NewOMECommand(f *cli.Factory) *cobra.Command {
	return newGroup(f, newDrain, newUndrain, newStatus, newExplain)
}

func newGroup(f *cli.Factory, commands ...func(*cli.Factory) *cobra.Command) *cobra.Command {
	group := &cobra.Command{
		Use:   "traffic",
		Short: "Take workload clusters out of a service's traffic, and see who serves",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, c := range commands {
		group.AddCommand(c(f))
	}
	return group
}
