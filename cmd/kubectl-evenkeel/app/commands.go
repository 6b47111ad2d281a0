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

package app

import (
	"github.com/spf13/cobra"

	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/cluster"
	"github.com/evenkeel-io/evenkeel/internal/cli/get"
	"github.com/evenkeel-io/evenkeel/internal/cli/plan"
	"github.com/evenkeel-io/evenkeel/internal/cli/systemnodes"
	"github.com/evenkeel-io/evenkeel/internal/cli/traffic"
)

// group makes the commands that share their first word.
type group func(*cli.Factory) *cobra.Command

// groups lists the commands of each name. A new group is one line here; a new kind for
// `get` is one line in internal/cli/get.
var groups = map[cli.Program][]group{
	cli.Evenkeel: {
		cluster.NewCordon, cluster.NewDrain, get.NewCommand, cluster.NewHistory, cluster.NewPause, plan.NewCommand,
		cluster.NewResume, systemnodes.NewCommand, traffic.NewCommand, cluster.NewUncordon, cluster.NewUndo, plan.NewWhy,
	},
	cli.OME: {get.NewOMECommand, traffic.NewOMECommand},
}
