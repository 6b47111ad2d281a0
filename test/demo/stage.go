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
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// patience bounds every wait; a step takes a few seconds on an idle machine.
	patience = 90 * time.Second
	// pause between two looks at the fleet.
	pause = 250 * time.Millisecond
	// requestTimeout bounds a request to the gateway.
	requestTimeout = 10 * time.Second
)

// stage is what a scenario acts on.
type stage struct {
	*hub
	out      *printer
	checks   *checks
	scenario string
}

// check records an assertion under the scenario's name.
func (s *stage) check(name string, holds bool, detail string, args ...any) {
	s.checks.that(name, holds, detail, args...)
}

// kubectl runs kubectl as a user would, in the repository, shows the command and its
// output, and returns the output. A command that fails is an error.
func (s *stage) kubectl(ctx context.Context, args ...string) (string, error) {
	output, err := s.kubectlQuietly(ctx, nil, args...)
	s.out.command("kubectl "+shellJoin(args), output)
	if err != nil {
		return output, fmt.Errorf("kubectl %s: %w", shellJoin(args), err)
	}
	return output, nil
}

// refused runs a command that must fail, shows it, and returns what it printed.
func (s *stage) refused(ctx context.Context, args ...string) (string, error) {
	output, err := s.kubectlQuietly(ctx, nil, args...)
	s.out.command("kubectl "+shellJoin(args), output)
	if err == nil {
		return output, fmt.Errorf("kubectl %s: was not refused", shellJoin(args))
	}
	return output, ctx.Err()
}

// kubectlQuietly runs kubectl without showing it.
func (h *hub) kubectlQuietly(ctx context.Context, input io.Reader, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, h.kubectlBinary(), args...)
	cmd.Dir = h.root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+h.kubeconfig(),
		// Neither the user's preferences nor a cache in the user's home.
		"KUBERC=off", "KUBECACHEDIR="+filepath.Join(h.folder, "cache"),
		// Where kubectl finds the plugins.
		"PATH="+filepath.Join(h.root, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stdin = input
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// await looks at the fleet until something holds, and shows the progress meanwhile.
// It returns the fleet as it was then.
func (s *stage) await(ctx context.Context, what string, holds func(*fleet) bool) (*fleet, error) {
	started := time.Now()
	var seen *fleet
	var shown string
	err := wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
		f, err := readFleet(ctx, s.client)
		if err != nil {
			return false, err
		}
		seen = f
		if summary := f.summary(); summary != shown || s.out.terminal {
			shown = summary
			s.out.report(fmt.Sprintf("%4.1fs  %s", time.Since(started).Seconds(), summary))
		}
		return holds(f), nil
	})
	s.out.endProgress()
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, fmt.Errorf("waited %s for %s; at the end: %s", patience, what, shown)
	}
	if err != nil {
		return nil, fmt.Errorf("waiting for %s: %w", what, err)
	}
	return seen, nil
}

// request asks the gateway for a path and shows the answer.
func (s *stage) request(ctx context.Context, path string) (code int, body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	url := s.standIn.GatewayURL() + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, "", err
	}
	s.out.printf("   GET %s\n%s", url, indent(fmt.Sprintf("%s  %s", response.Status, content)))
	return response.StatusCode, string(content), nil
}

// shellJoin renders arguments so that they can be pasted into a shell.
func shellJoin(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'`$&|;<>(){}[]*?!#~\\") {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
