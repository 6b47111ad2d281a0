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

package trafficmap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
	"github.com/evenkeel-io/evenkeel/test/benchmark/programs"
)

const (
	// pollInterval is how often the audit log is looked at.
	pollInterval = 100 * time.Millisecond
	// stallTimeout ends a run in which the manager writes nothing for that long before all maps are written.
	stallTimeout = time.Minute
	quietPeriod  = 3 * time.Second
)

// managerConfig has no election, which would only add writes of its lease, and nothing that other benchmarks measure.
const managerConfig = `apiVersion: config.evenkeel.io/v1alpha1
kind: HubManagerConfiguration
leaderElection: {leaderElect: false}
healthBindAddress: "0"
metricsBindAddress: "0"
webhooks: {bindAddress: "0"}
trafficMap: {enabled: true}
`

// attempt is one run on a control plane of its own.
type attempt struct {
	environment *harness.Environment
	shape       shape
	folder      string
	cp          *controlplane.ControlPlane
	client      client.Client
	follower    *harness.AuditFollower
	manager     *harness.Child
	log         *log
}

func measureRun(ctx context.Context, environment *harness.Environment, s shape, number int) (result *Run, err error) {
	folder, err := os.MkdirTemp("", "evenkeel-benchmark-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	cp, err := controlplane.Start(ctx, controlplane.Options{
		BinDir:                   environment.Binary("k8s"),
		DisableControllerManager: true,
		AuditPolicy:              controlplane.WritesAuditPolicy(),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()
	a := &attempt{environment: environment, shape: s, folder: folder, cp: cp, follower: harness.NewAuditFollower(cp.AuditLogPath()), log: newLog()}
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}
	return a.run(ctx, number)
}

func (a *attempt) prepare(ctx context.Context) error {
	crds, err := filepath.Glob(a.environment.Manifest("dev", "crds", "ome.io_*.yaml"))
	if err != nil {
		return err
	}
	if err := a.cp.InstallCRDs(ctx, crds...); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), ome.AddToScheme(scheme)); err != nil {
		return err
	}
	if a.client, err = client.New(a.cp.Config(), client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	if err := a.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: programs.Namespace}}); err != nil {
		return fmt.Errorf("create namespace %s: %w", programs.Namespace, err)
	}
	for _, folder := range []string{"manager", "trafficmap"} {
		if err := harness.CreateAll(ctx, a.client, a.environment.Manifest("hub", folder, "rbac.yaml")); err != nil {
			return err
		}
	}
	if err := createClusters(ctx, a.client, a.shape); err != nil {
		return fmt.Errorf("create the clusters: %w", err)
	}
	if err := createServices(ctx, a.client, a.shape); err != nil {
		return fmt.Errorf("create the services: %w", err)
	}
	return nil
}

// run measures the drain and the bare patches, in an order that alternates, so that neither always finds the control
// plane fresher.
func (a *attempt) run(ctx context.Context, number int) (*Run, error) {
	result := &Run{Number: number, BareFirst: number%2 == 0}
	parts := []func(context.Context, *Run) error{a.drain, a.bare}
	if result.BareFirst {
		parts[0], parts[1] = parts[1], parts[0]
	}
	for _, part := range parts {
		if err := part(ctx, result); err != nil {
			return nil, err
		}
		// Not measured: the next part finds the services as this one did.
		if _, err := drainAll(ctx, a.client, a.shape, ""); err != nil {
			return nil, err
		}
	}
	result.Ratio = harness.Round(harness.Ratio(result.DrainSeconds, result.BareSeconds))
	return result, nil
}

// bare measures the patches while the manager does not run, so that nobody watches.
func (a *attempt) bare(ctx context.Context, result *Run) error {
	took, err := drainAll(ctx, a.client, a.shape, bareID)
	result.BareSeconds = harness.Round(took.Seconds())
	return err
}

// drain has the manager make the maps, drains the cluster, and measures until all maps are written anew.
func (a *attempt) drain(ctx context.Context, result *Run) error {
	config := filepath.Join(a.folder, "manager.yaml")
	if err := os.WriteFile(config, []byte(managerConfig), 0o600); err != nil {
		return err
	}
	var err error
	if a.manager, err = a.environment.StartProgram(ctx, a.cp, a.folder, "hub-manager", programs.ManagerUser, "--config="+config); err != nil {
		return err
	}
	defer a.manager.Stop(ctx)
	if err := a.measureDrain(ctx, result); err != nil {
		return fmt.Errorf("%w\nthe last lines of the manager's log:\n%s", err, a.manager.LogTail())
	}
	return nil
}

func (a *attempt) measureDrain(ctx context.Context, result *Run) error {
	if err := a.await(ctx, false); err != nil {
		return fmt.Errorf("wait for the first maps: %w", err)
	}
	a.log = newLog()
	before, err := a.costs()
	if err != nil {
		return err
	}
	started := time.Now()
	patches, err := drainAll(ctx, a.client, a.shape, drainID)
	if err != nil {
		return err
	}
	if err := a.await(ctx, true); err != nil {
		return fmt.Errorf("wait until the maps show the drain: %w", err)
	}
	after, err := a.costs()
	if err != nil {
		return err
	}
	result.DrainSeconds = harness.Round(a.log.last.Sub(started).Seconds())
	result.WeightsSeconds = harness.Round(a.log.lastWeights.Sub(started).Seconds())
	result.PatchSeconds = harness.Round(patches.Seconds())
	result.Writes, result.RefusedWrites = a.log.own, a.log.refused
	result.WritesPerService = harness.Round(float64(a.log.writes()) / float64(a.shape.services))
	result.ManagerPeakRSSMiB = harness.Mebibytes(after.peakRSS)
	result.ManagerCPUSeconds = harness.Round((after.manager - before.manager).Seconds())
	result.APIServerCPUSeconds = harness.Round((after.apiServer - before.apiServer).Seconds())
	result.EtcdCPUSeconds = harness.Round((after.etcd - before.etcd).Seconds())
	return nil
}

// await returns when every map has been written, the manager has gone quiet, and the maps say what they should.
func (a *attempt) await(ctx context.Context, drained bool) error {
	progressAt := time.Now()
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(context.Context) (bool, error) {
		if err := a.manager.Check(); err != nil {
			return false, err
		}
		requests, err := a.follower.Poll()
		if err != nil {
			return false, err
		}
		if a.log.add(requests) > 0 {
			progressAt = time.Now()
		}
		idle := time.Since(progressAt)
		if idle > stallTimeout {
			return false, fmt.Errorf("nothing was written for %s: of %d maps %d have weights and %d conditions",
				stallTimeout, a.shape.services, len(a.log.weights), len(a.log.conditions))
		}
		return a.log.covers(a.shape.services) && idle > quietPeriod, nil
	})
	if err != nil {
		return err
	}
	return verify(ctx, a.client, a.shape, drained)
}

// costs is what each part has taken so far: CPU time, and the manager's highest resident memory in bytes.
type costs struct {
	apiServer, etcd, manager time.Duration
	peakRSS                  uint64
}

func (a *attempt) costs() (costs, error) {
	usage, err := a.cp.Usage()
	if err != nil {
		return costs{}, err
	}
	manager, err := a.manager.Usage()
	if err != nil {
		return costs{}, err
	}
	return costs{
		apiServer: usage[controlplane.APIServer].CPU,
		etcd:      usage[controlplane.Etcd].CPU,
		manager:   manager.CPU,
		peakRSS:   manager.PeakRSSBytes,
	}, nil
}
