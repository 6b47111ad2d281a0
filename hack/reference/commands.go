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
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	plugin "github.com/evenkeel-io/evenkeel/cmd/kubectl-evenkeel/app"
	"github.com/evenkeel-io/evenkeel/internal/cli"
)

// commands writes the plugin's commands. The flags that kubectl has too are not repeated.
func commands(p *page) {
	root := plugin.NewRoot(cli.Evenkeel, genericiooptions.IOStreams{})
	p.WriteString("## kubectl evenkeel\n\n" +
		"Every command also takes kubectl's flags about the connection, such as `--context`, `--kubeconfig`, `--as` and `-n`.\n\n" +
		"| Exit code | Means | Of `plan` and `system-nodes check` |\n| --- | --- | --- |\n" +
		fmt.Sprintf("| %d | done | all is well |\n| %d | an error, or refused | what was looked for was found: with `--fail-on`, or maintenance that interrupts |\n"+
			"| %d | begun, and not finished | it could not find out |\n| %d | somebody else changed the object meanwhile; nothing was written | |\n\n",
			cli.ExitOK, cli.ExitError, cli.ExitUnfinished, cli.ExitConflict))
	describe(p, root)
}

func describe(p *page, c *cobra.Command) {
	for _, sub := range c.Commands() {
		if sub.Hidden || sub.Name() == "help" || sub.Name() == "completion" {
			continue
		}
		if !sub.HasSubCommands() {
			describeOne(p, sub)
		}
		describe(p, sub)
	}
}

func describeOne(p *page, c *cobra.Command) {
	path := strings.Replace(c.CommandPath(), "kubectl-evenkeel", string(cli.Evenkeel), 1)
	use := strings.TrimPrefix(c.Use, c.Name())
	fmt.Fprintf(p, "### %s\n\n", path)
	if use != "" {
		fmt.Fprintf(p, "`%s%s`\n\n", path, use)
	}
	fmt.Fprintf(p, "%s.\n\n", strings.TrimSuffix(c.Short, "."))
	var rows [][]string
	add := func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		rows = append(rows, []string{code(name), code(f.DefValue), prose(f.Usage)})
	}
	c.LocalNonPersistentFlags().VisitAll(add)
	for parent := c.Parent(); parent != nil && parent.HasParent(); parent = parent.Parent() { // the root's are kubectl's
		parent.PersistentFlags().VisitAll(add)
	}
	p.table([]string{"Flag", "Default", meaningColumn}, rows)
}
