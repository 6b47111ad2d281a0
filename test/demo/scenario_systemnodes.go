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
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/evenkeel-io/evenkeel/internal/workloadcluster"
)

// How long the played cloud waits for budgets before it deletes. Real ones wait for minutes: a machine that is busy is
// given more than a drain takes with Evenkeel, while one without never ends by itself.
const (
	shortDrainPatience = 30 * time.Second
	drainPatience      = 2 * time.Minute
)

func systemNodesScenario() scenario {
	return scenario{
		name:    "system-nodes",
		summary: "the cloud maintains every system node of a workload cluster",
		run:     playSystemNodes,
	}
}

func playSystemNodes(ctx context.Context, s *stage) (err error) {
	s.out.printf("Starting a workload cluster (a second control plane with the default scheduler; two system and two GPU nodes, played by kwok) ...\n")
	cluster, err := workloadcluster.Start(ctx, workloadcluster.Options{Root: s.root})
	if err != nil {
		return err
	}
	w := &workloadStage{stage: s, Cluster: cluster}
	defer func() { err = errors.Join(err, w.keepWorkloadLogs(), cluster.Stop()) }()

	s.out.step("The serving path as Modelplane installs it: one of each, all on one node")
	if err := cluster.Install(ctx); err != nil {
		return err
	}
	if _, err := w.kubectl(ctx, "get", "deployments", "-A"); err != nil {
		return err
	}
	code, err := w.check(ctx)
	if err != nil {
		return err
	}
	s.check("the check says that maintenance would interrupt serving", code == 1, "exit code %d", code)

	s.out.step("The cloud cordons both system nodes, then drains, restarts and uncordons one after the other")
	without, err := w.maintain(ctx, shortDrainPatience)
	if err != nil {
		return err
	}
	if err := cluster.AwaitAvailable(ctx); err != nil {
		return err
	}

	if err := w.install(ctx); err != nil {
		return err
	}
	s.out.step("The same maintenance again")
	with, err := w.maintain(ctx, drainPatience)
	if err != nil {
		return err
	}
	s.out.step("Side by side: Ready endpoints at the worst moment of each phase (a sample every %s)", workloadcluster.ProbeInterval)
	s.out.printf("%s", indent(sideBySide(without, with)))
	w.judge(without, with)
	return nil
}

// workloadStage acts on the workload cluster instead of the hub.
type workloadStage struct {
	*stage
	*workloadcluster.Cluster
}

// install brings Evenkeel to the cluster and waits until nothing is left for it to do.
func (w *workloadStage) install(ctx context.Context) error {
	w.out.step("Evenkeel's workload-manager, as its manifests install it")
	w.out.printf("   $ kubectl apply -k manifests/workload\n")
	if err := w.InstallEvenkeel(ctx, nil); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
		output, err := w.checkQuietly(ctx)
		var failed *exec.ExitError
		if errors.As(err, &failed) && failed.ExitCode() == 1 {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("%w: %s", err, output)
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the check to find nothing: %w", err)
	}
	if err := w.AwaitAvailable(ctx); err != nil {
		return err
	}
	if _, err := w.kubectl(ctx, "get", "deployments,poddisruptionbudgets", "-A"); err != nil {
		return err
	}
	code, err := w.check(ctx)
	if err != nil {
		return err
	}
	w.stage.check("the check says that no maintenance would interrupt serving", code == 0, "exit code %d", code)
	return nil
}

func (w *workloadStage) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.kubectlBinary(), args...)
	cmd.Dir = w.root
	bin := filepath.Join(w.root, "bin")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.KubeconfigPath(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"KUBERC=off", "KUBECACHEDIR="+filepath.Join(w.folder, "workload-cache"))
	return cmd
}

func (w *workloadStage) kubectl(ctx context.Context, args ...string) (string, error) {
	output, err := w.command(ctx, args...).CombinedOutput()
	w.out.command("kubectl "+shellJoin(args), string(output))
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w", shellJoin(args), err)
	}
	return string(output), nil
}

var checkCommand = []string{"evenkeel", "system-nodes", "check"}

// check runs the check as a user does and gives its exit code.
func (w *workloadStage) check(ctx context.Context) (int, error) {
	cmd := w.command(ctx, checkCommand...)
	output, err := cmd.CombinedOutput()
	w.out.command("kubectl "+shellJoin(checkCommand), string(output))
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

func (w *workloadStage) checkQuietly(ctx context.Context) (string, error) {
	output, err := w.command(ctx, checkCommand...).CombinedOutput()
	return string(output), err
}

// maintain plays the maintenance and records what it does to what serves.
func (w *workloadStage) maintain(ctx context.Context, drainTimeout time.Duration) (*record, error) {
	prober, err := w.Probe(ctx, workloadcluster.ServingServices()...)
	if err != nil {
		return nil, err
	}
	r := &record{}
	err = w.Maintain(ctx, workloadcluster.Maintenance{
		Nodes:        []string{workloadcluster.SystemA, workloadcluster.SystemB},
		DrainTimeout: drainTimeout,
		Force:        true,
		Tell: func(what string) {
			r.events = append(r.events, timed{what: what, at: time.Now()})
			w.out.printf("   .. %s\n", what)
		},
	})
	r.samples = prober.Stop()
	return r, err
}

func (w *workloadStage) judge(without, with *record) {
	for i, name := range servingNames {
		w.stage.check(fmt.Sprintf("without Evenkeel, %s had no Ready endpoint for a while", name), without.down(i) > 0, "it always had one")
	}
	for i, name := range servingNames {
		w.stage.check(fmt.Sprintf("with Evenkeel, %s always had a Ready endpoint", name), with.down(i) == 0, "none for %s", with.down(i))
	}
	w.stage.check("with Evenkeel, no drain had to delete past a budget", !with.has("deleting"), "%v", with.events)
}

// keepWorkloadLogs copies the logs to where the demo keeps those of a failed run.
func (w *workloadStage) keepWorkloadLogs() error {
	for _, log := range w.Logs() {
		if err := copyFile(filepath.Join(w.logs(), "workload-"+filepath.Base(log)), log); err != nil {
			return err
		}
	}
	return nil
}
