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
	"os"
	"path/filepath"
	"strings"
	"time"
)

// logFolder is where the logs of a failed run are kept, below the repository.
var logFolder = filepath.Join("bin", "demo-logs")

// demo is one run.
type demo struct {
	settings settings
	out      *printer
	checks   *checks
}

func newDemo(s settings, out io.Writer) *demo {
	p := newPrinter(out)
	return &demo{settings: s, out: p, checks: &checks{out: p}}
}

// outcome is how a run ended, apart from the checks.
type outcome struct {
	// err is what kept it from going on.
	err error
	// cleanUp is what kept it from leaving nothing behind.
	cleanUp error
	// logs is the folder of the logs, if they were kept.
	logs string
}

// run plays the chosen scenarios and returns the exit code.
func (d *demo) run(ctx context.Context) int {
	started := time.Now()
	result := d.play(ctx)
	if errors.Is(result.err, context.Canceled) && ctx.Err() != nil {
		result.err = errors.New("interrupted")
	}
	if errors.Join(result.err, result.cleanUp) != nil || len(d.checks.failed) > 0 {
		d.out.printf("\ndemo: FAIL %s\n", d.failure(&result))
		return 1
	}
	d.out.printf("\nAll of it took %s.\ndemo: PASS (%d checks)\n", time.Since(started).Round(time.Second), d.checks.count)
	return 0
}

// failure says on one line what went wrong and where to look.
func (d *demo) failure(result *outcome) string {
	var said []string
	if len(d.checks.failed) > 0 {
		said = append(said, fmt.Sprintf("(%d of %d checks: %s)",
			len(d.checks.failed), d.checks.count, strings.Join(d.checks.failed, "; ")))
	}
	if result.err != nil {
		said = append(said, result.err.Error())
	}
	if result.cleanUp != nil {
		said = append(said, fmt.Sprintf("clean up: %v", result.cleanUp))
	}
	if result.logs != "" {
		said = append(said, "logs: "+result.logs)
	}
	return strings.ReplaceAll(strings.Join(said, " - "), "\n", "; ")
}

// play brings up a hub, runs the scenarios on it and takes it down.
func (d *demo) play(ctx context.Context) (result outcome) {
	chosen, err := selectScenarios(d.settings.scenario)
	if err != nil {
		return outcome{err: err}
	}
	root, err := findRoot(d.settings.root)
	if err != nil {
		return outcome{err: err}
	}
	h, err := newHub(root, d.out)
	if err != nil {
		return outcome{err: err}
	}
	defer func() { result.cleanUp = errors.Join(result.cleanUp, h.stop()) }()

	result.err = d.playOn(ctx, h, chosen)
	if ctx.Err() == nil && (result.err != nil || len(d.checks.failed) > 0) {
		result.logs, result.cleanUp = h.keepLogs(filepath.Join(root, logFolder))
	}
	return result
}

func (d *demo) playOn(ctx context.Context, h *hub, chosen []scenario) error {
	lifetime, err := h.start(ctx)
	if err != nil {
		return err
	}
	err = d.playScenarios(lifetime, h, chosen)
	if d.settings.keep && lifetime.Err() == nil {
		err = errors.Join(err, d.waitForUser(lifetime, h, err))
	}
	return err
}

// playScenarios runs one after the other. One that cannot go on ends the run, since
// the next would wait for the same in vain.
func (d *demo) playScenarios(ctx context.Context, h *hub, chosen []scenario) error {
	for i, s := range chosen {
		d.out.title("%s: %s", s.name, s.summary)
		st := &stage{hub: h, out: d.out, checks: d.checks, scenario: s.name}
		if i > 0 {
			if err := st.clearFleet(ctx); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		if err := s.run(ctx, st); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// waitForUser leaves everything running until the user interrupts. It is an error if
// a part of the hub ends before.
func (d *demo) waitForUser(ctx context.Context, h *hub, err error) error {
	if err != nil {
		d.out.printf("\n%v\n", err)
	}
	d.out.printf(`
%d of %d checks passed. Everything is left running; in another terminal:

  export KUBECONFIG=%s
  export PATH=%s:%s:$PATH
  kubectl get inferenceclusters,modeldeployments,modelreplicas,replicaplacements -A
  kubectl evenkeel get clusters

The logs are in %s. Ctrl-C ends it.
`, d.checks.count-len(d.checks.failed), d.checks.count, h.kubeconfig(), h.plane.BinDir(), filepath.Dir(h.plane.BinDir()), h.logs())
	<-ctx.Done()
	return endOf(ctx)
}

// endOf returns why a hub's lifetime has ended, if not because the user ended it.
func endOf(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// findRoot returns the repository's folder: the nearest with a go.mod.
func findRoot(explicit string) (string, error) {
	if explicit != "" {
		return filepath.Abs(explicit)
	}
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod in %s or above it: run it in the repository, or say --root", start)
		}
	}
}
