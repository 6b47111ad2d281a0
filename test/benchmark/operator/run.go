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

package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/simulation"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

// viewer is who runs the plugin.
const viewer = "viewer"

// command is what is measured.
type command struct {
	name string
	args []string
	// check refuses a wrong outcome.
	check func(output []byte, s shape) error
}

var commands = []command{
	{name: "plan drain", args: []string{"plan", "drain", drainedCluster, "-o", "json"}, check: checkPlan},
	{name: "get clusters", args: []string{"get", "clusters"}, check: checkClusters},
}

func measureFleet(ctx context.Context, environment *harness.Environment, o options) (cases []*Case, err error) {
	folder, err := os.MkdirTemp("", "evenkeel-benchmark-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	cp, err := controlplane.Start(ctx, controlplane.Options{
		BinDir: environment.Binary("k8s"), AuditPolicy: readsOf(viewer), DisableControllerManager: true,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()
	if err := fill(ctx, environment, cp, o.shape, folder); err != nil {
		return nil, err
	}
	environment.Progressf("%d replicas serve on %d clusters", o.all(), o.clusters)
	config, err := cp.AddUser(viewer, "system:masters")
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(folder, viewer+".kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, config); err != nil {
		return nil, err
	}
	follower := harness.NewAuditFollower(cp.AuditLogPath())
	for _, c := range commands {
		result := &Case{Benchmark: name, Command: c.name, Clusters: o.clusters, Replicas: o.all(), Drained: o.drained, Machine: environment.Machine}
		for range o.runs {
			ran, err := harness.RunChild(ctx, folder, "plugin", environment.Binary("kubectl-evenkeel"), append(c.args, "--kubeconfig="+kubeconfig)...)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			if err := c.check(ran.Output, o.shape); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			requests, err := follower.Poll()
			if err != nil {
				return nil, err
			}
			result.Runs = append(result.Runs, runOf(ran, requests))
		}
		result.summarize()
		cases = append(cases, result)
	}
	return cases, nil
}

// readsOf records when the requests of one user are answered, and nothing else.
func readsOf(user string) *auditv1.Policy {
	return &auditv1.Policy{
		OmitStages: []auditv1.Stage{auditv1.StageRequestReceived},
		Rules:      []auditv1.PolicyRule{{Level: auditv1.LevelMetadata, Users: []string{user}}, {Level: auditv1.LevelNone}},
	}
}

// runOf tells apart the time until the last answer of the API server and the time after it.
func runOf(ran *harness.Ran, requests []harness.Request) Run {
	var read time.Time
	for _, r := range requests {
		if r.Done.After(read) {
			read = r.Done
		}
	}
	return Run{
		Seconds:      harness.Round(ran.Ended.Sub(ran.Started).Seconds()),
		AfterSeconds: harness.Round(ran.Ended.Sub(read).Seconds()),
		CPUSeconds:   harness.Round(ran.Usage.CPU.Seconds()),
		PeakRSSMiB:   harness.Mebibytes(ran.Usage.PeakRSSBytes),
		Requests:     len(requests),
	}
}

func checkPlan(output []byte, s shape) error {
	plan := &simulation.Plan{}
	if err := json.Unmarshal(output, plan); err != nil {
		return fmt.Errorf("it is no plan: %w: %.200s", err, output)
	}
	if n := plan.Count(simulation.OutcomeMoves); n != s.drained || len(plan.Replicas) != n {
		return fmt.Errorf("%d of %d replicas move, not %d", n, len(plan.Replicas), s.drained)
	}
	return nil
}

func checkClusters(output []byte, s shape) error {
	if lines := bytes.Count(output, []byte("\n")); lines != s.clusters+1 {
		return fmt.Errorf("it has %d lines, not a header and %d clusters", lines, s.clusters)
	}
	return nil
}
