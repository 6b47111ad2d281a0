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

package drain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
	"github.com/evenkeel-io/evenkeel/test/benchmark/programs"
)

const (
	// pollInterval is how often the audit log is looked at, and lookInterval how often at most the replicas are listed.
	pollInterval = 100 * time.Millisecond
	lookInterval = time.Second
	// stallTimeout ends a run in which Evenkeel writes nothing for that long before all is done.
	stallTimeout = time.Minute
	// quietPeriod without a write means that the events are out too; quietTimeout bounds the wait for it.
	quietPeriod  = 3 * time.Second
	quietTimeout = time.Minute
)

// attempt is one run on a control plane of its own.
type attempt struct {
	environment *harness.Environment
	shape       shape
	cp          *controlplane.ControlPlane
	client      client.Client
	follower    *harness.AuditFollower
	programs    *programs.Programs
	// drained are the clusters that the replicas must leave.
	drained []string
	log     *log
}

func measureRun(ctx context.Context, environment *harness.Environment, s shape, number int) (result *Run, err error) {
	folder, err := os.MkdirTemp("", "evenkeel-benchmark-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	cp, err := controlplane.Start(ctx, controlplane.Options{
		BinDir:      environment.Binary("k8s"),
		AuditPolicy: controlplane.WritesAuditPolicy(),
		// Replicas are deleted in the foreground, which the garbage collector ends: it must not be what is waited for.
		// Its other controllers have nothing to do here; that for service accounts is what tells that it is up.
		ControllerManagerArgs: []string{
			"--kube-api-qps=5000", "--kube-api-burst=10000", "--controllers=garbage-collector-controller,serviceaccount-controller",
		},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()
	a := &attempt{environment: environment, shape: s, cp: cp, follower: harness.NewAuditFollower(cp.AuditLogPath()), log: newLog()}
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}
	return a.run(ctx, folder, number)
}

// prepare makes everything but the deployments.
func (a *attempt) prepare(ctx context.Context) error {
	if err := a.cp.InstallCRDs(ctx, a.environment.Manifest("hub", "crds"), a.environment.Manifest("dev", "crds")); err != nil {
		return err
	}
	// The garbage collector learns of new kinds every half minute, or when it starts.
	if err := a.cp.Restart(ctx, controlplane.ControllerManager); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), evenkeel.AddToScheme(scheme), modelplane.AddToScheme(scheme)); err != nil {
		return err
	}
	var err error
	if a.client, err = client.New(a.cp.Config(), client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	if err := a.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return fmt.Errorf("create namespace %s: %w", namespace, err)
	}
	if err := programs.Grant(ctx, a.environment, a.client); err != nil {
		return err
	}
	err = harness.InParallel(ctx, a.shape.clusters, func(ctx context.Context, i int) error {
		return programs.CreateCluster(ctx, a.client, i, room)
	})
	if err != nil {
		return fmt.Errorf("create the fleet: %w", err)
	}
	return nil
}

func (a *attempt) run(ctx context.Context, folder string, number int) (result *Run, err error) {
	administrator, err := programs.Administrator(ctx, a.cp, a.client)
	if err != nil {
		return nil, err
	}
	stopStandIn, err := programs.StartStandIn(ctx, administrator)
	if err != nil {
		return nil, err
	}
	if a.programs, err = programs.Start(ctx, a.environment, a.cp, folder); err != nil {
		return nil, errors.Join(err, stopStandIn())
	}
	result, err = a.drain(ctx, number)
	if err != nil {
		err = fmt.Errorf("%w\nthe last lines of the manager's log:\n%s", err, a.programs.Manager.LogTail())
	}
	// What follows is measured without them.
	a.programs.Stop(ctx)
	if err := errors.Join(err, stopStandIn()); err != nil {
		return nil, err
	}
	writer, err := client.New(administrator, client.Options{Scheme: a.client.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("create a client for bare writes: %w", err)
	}
	bare, err := writeBare(ctx, writer, a.log.all)
	if err != nil {
		return nil, err
	}
	result.BareSeconds = harness.Round(bare.Seconds())
	result.Ratio = harness.Round(harness.Ratio(result.DrainSeconds, bare.Seconds()))
	return result, nil
}

// drain places the replicas, taints the clusters that they are on, and measures until they serve elsewhere.
func (a *attempt) drain(ctx context.Context, number int) (*Run, error) {
	err := harness.InParallel(ctx, a.shape.deployments, func(ctx context.Context, i int) error {
		return programs.CreateDeployment(ctx, a.client, i, a.shape.replicas)
	})
	if err != nil {
		return nil, fmt.Errorf("create the deployments: %w", err)
	}
	if err := a.await(ctx, "every replica serves", func(s fleetState) bool { return s.ready == a.shape.moves() }); err != nil {
		return nil, err
	}
	replicas, err := listReplicas(ctx, a.client)
	if err != nil {
		return nil, err
	}
	a.drained = occupied(replicas)
	a.environment.Progressf("%d replicas serve on %d of %d clusters; draining these", len(replicas), len(a.drained), a.shape.clusters)
	a.log = newLog()
	before, err := a.costs()
	if err != nil {
		return nil, err
	}
	started := time.Now()
	err = harness.InParallel(ctx, len(a.drained), func(ctx context.Context, i int) error {
		taint := []byte(`{"spec":{"taints":[{"key":"modelplane.ai/maintenance","effect":"NoExecute"}]}}`)
		cluster := &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{Name: a.drained[i]}}
		return a.client.Patch(ctx, cluster, client.RawPatch("application/merge-patch+json", taint))
	})
	if err != nil {
		return nil, fmt.Errorf("drain the clusters: %w", err)
	}
	if err := a.await(ctx, "every replica serves elsewhere", func(s fleetState) bool { return s.away == a.shape.moves() }); err != nil {
		return nil, err
	}
	if err := a.log.checkDeletes(a.shape); err != nil {
		return nil, err
	}
	return a.result(number, started, before)
}

// await returns when something holds of the replicas, no deployment has too many or too few, and Evenkeel has gone
// quiet.
func (a *attempt) await(ctx context.Context, what string, holds func(fleetState) bool) error {
	progressAt, lookedAt := time.Now(), time.Time{}
	var state fleetState
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		if err := a.programs.Check(); err != nil {
			return false, err
		}
		own, err := a.follow()
		if err != nil {
			return false, err
		}
		if own > 0 {
			progressAt = time.Now()
		}
		if time.Since(progressAt) > stallTimeout {
			return false, fmt.Errorf("nothing was written for %s: %+v", stallTimeout, state)
		}
		// While Evenkeel writes it is not over, and a list of all replicas would cost the API server what is measured.
		if own > 0 || time.Since(lookedAt) < lookInterval {
			return false, nil
		}
		lookedAt = time.Now()
		replicas, err := listReplicas(ctx, a.client)
		state = judge(replicas, a.shape, a.drained)
		return err == nil && state.wrong == "" && holds(state), err
	})
	if err != nil {
		return fmt.Errorf("wait until %s: %w", what, err)
	}
	return a.waitQuiet(ctx)
}

// follow brings the log up to date and tells how much Evenkeel has written.
func (a *attempt) follow() (int, error) {
	requests, err := a.follower.Poll()
	if err != nil {
		return 0, err
	}
	return a.log.add(requests), nil
}

func (a *attempt) waitQuiet(ctx context.Context) error {
	quietSince := time.Now()
	err := wait.PollUntilContextTimeout(ctx, pollInterval, quietTimeout, true, func(context.Context) (bool, error) {
		own, err := a.follow()
		if own > 0 {
			quietSince = time.Now()
		}
		return time.Since(quietSince) > quietPeriod, err
	})
	if err != nil {
		return fmt.Errorf("wait until Evenkeel writes nothing more: %w", err)
	}
	return nil
}

// costs is the CPU time that each part has taken so far.
type costs struct {
	apiServer, etcd, manager, scheduler time.Duration
}

func (a *attempt) costs() (costs, error) {
	usage, err := a.cp.Usage()
	if err != nil {
		return costs{}, err
	}
	manager, err := a.programs.Manager.Usage()
	if err != nil {
		return costs{}, err
	}
	scheduler, err := a.programs.Scheduler.Usage()
	if err != nil {
		return costs{}, err
	}
	return costs{
		apiServer: usage[controlplane.APIServer].CPU,
		etcd:      usage[controlplane.Etcd].CPU,
		manager:   manager.CPU,
		scheduler: scheduler.CPU,
	}, nil
}

func (a *attempt) result(number int, started time.Time, before costs) (*Run, error) {
	after, err := a.costs()
	if err != nil {
		return nil, err
	}
	manager, err := a.programs.Manager.Usage()
	if err != nil {
		return nil, err
	}
	return &Run{
		Number:              number,
		DrainedClusters:     len(a.drained),
		DrainSeconds:        harness.Round(a.log.last.Sub(started).Seconds()),
		Writes:              a.log.own,
		RefusedWrites:       a.log.refused,
		WritesPerMove:       harness.Round(float64(a.log.ownWrites()) / float64(a.shape.moves())),
		AllWrites:           a.log.all.total(),
		ManagerPeakRSSMiB:   harness.Mebibytes(manager.PeakRSSBytes),
		ManagerCPUSeconds:   harness.Round((after.manager - before.manager).Seconds()),
		SchedulerCPUSeconds: harness.Round((after.scheduler - before.scheduler).Seconds()),
		APIServerCPUSeconds: harness.Round((after.apiServer - before.apiServer).Seconds()),
		EtcdCPUSeconds:      harness.Round((after.etcd - before.etcd).Seconds()),
	}, nil
}
