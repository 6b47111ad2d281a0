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
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ValidateTaintKey refuses a --taint-key that Kubernetes would not take for a key.
func ValidateTaintKey(key string) error {
	if key == "" {
		return fmt.Errorf("--taint-key must not be empty")
	}
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return fmt.Errorf("--taint-key %q is no key of a taint: %s", key, strings.Join(problems, "; "))
	}
	return nil
}

// Subcommands are the arguments of a command that only has others below it: none. One that is not known may be a
// misspelt one.
func Subcommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	said := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2 // letters that are wrong
	if meant := cmd.SuggestionsFor(args[0]); len(meant) > 0 {
		said += fmt.Sprintf(": is it %s?", strings.Join(meant, " or "))
	}
	return fmt.Errorf("%s; `%s --help` lists them", said, cmd.CommandPath())
}

// Answers makes a command that answers a question by ending with exit code 0 or 1 end with ExitUnknown where it fails before
// it knows the answer, whatever the reason, as `kubectl diff` does. The answer "no" is an Error whose Code is ExitError.
func Answers(cmd *cobra.Command) {
	run, args := cmd.RunE, cmd.Args
	cmd.RunE = func(cmd *cobra.Command, words []string) error { return unknown(run(cmd, words)) }
	cmd.Args = func(cmd *cobra.Command, words []string) error { return unknown(args(cmd, words)) }
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return unknown(err) })
}

func unknown(err error) error {
	if err == nil {
		return nil
	}
	said := *explain(err)
	if said.Code == 0 {
		said.Code = ExitUnknown
	}
	return &said
}
