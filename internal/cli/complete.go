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
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
)

// completionLimit bounds the requests that a shell waits for.
const completionLimit = 3 * time.Second

// Candidates reads what may come next on a command line that has the arguments so far. After a tab, a candidate may have
// a description, which shells show beside it.
type Candidates func(ctx context.Context, client dynamic.Interface, args []string) ([]string, error)

// Complete completes with the candidates that begin as the user has begun.
func (f *Factory) Complete(candidates Candidates) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionLimit)
		defer cancel()
		client, err := f.Client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		all, err := candidates(ctx, client, args)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var fitting []string
		for _, c := range all {
			if strings.HasPrefix(c, prefix) {
				fitting = append(fitting, c)
			}
		}
		return fitting, cobra.ShellCompDirectiveNoFileComp
	}
}
