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
	"context"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/component-base/version"

	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/complete"
)

func init() {
	// Kinds are matched in any letter case, as OME's plugin does. It is a setting of the
	// library, so it is made once.
	cobra.EnableCaseInsensitive = true
}

// Run runs the command line, whose first element is the name that the program was called
// by, and returns the exit code.
func Run(args []string, streams genericiooptions.IOStreams) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := NewRoot(programOf(args[0]), streams)
	root.SetArgs(args[1:])
	return cli.Report(streams.ErrOut, root.ExecuteContext(ctx))
}

// programOf tells by the name of the file which plugin is wanted.
func programOf(path string) cli.Program {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	if name == "kubectl-ome" {
		return cli.OME
	}
	return cli.Evenkeel
}

// NewRoot makes the command with all groups of a program.
func NewRoot(program cli.Program, streams genericiooptions.IOStreams) *cobra.Command {
	f := cli.NewFactory(program, streams)
	root := &cobra.Command{
		Use:           strings.ReplaceAll(string(program), " ", "-"),
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: string(program)},
		Short:         shorts[program],
		Version:       version.Get().GitVersion,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cli.Subcommands,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	f.Flags.AddFlags(root.PersistentFlags())
	complete.Flag(root, "namespace", complete.Namespaces(f))
	for _, g := range groups[program] {
		root.AddCommand(g(f))
	}
	return root
}

var shorts = map[cli.Program]string{
	cli.Evenkeel: "See what a drain does before it does it, and drain",
	cli.OME:      "OME's traffic commands, served by Evenkeel",
}
