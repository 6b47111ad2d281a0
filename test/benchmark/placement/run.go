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

package placement

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

const (
	// pollInterval is how often the audit log is looked at.
	pollInterval = 100 * time.Millisecond
	// verifyInterval is how often the outcome is listed where a first list came too
	// early.
	verifyInterval = time.Second
	// stallTimeout ends a run in which nothing is bound for that long.
	stallTimeout = time.Minute
	// quietPeriod without a write of the scheduler means that its events are out
	// too; quietTimeout bounds the wait for it.
	quietPeriod  = 2 * time.Second
	quietTimeout = 30 * time.Second
)

// attempt is one run of one scheduler on a control plane of its own.
type attempt struct {
	m        *measurement
	side     side
	shape    shape
	number   int
	folder   string
	cp       *controlplane.ControlPlane
	client   client.Client
	follower *harness.AuditFollower
	log      *log
}

func (m *measurement) measureRun(ctx context.Context, s shape, which side, number int) (result *Run, err error) {
	folder, err := os.MkdirTemp("", "evenkeel-benchmark-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	cp, err := controlplane.Start(ctx, controlplane.Options{
		BinDir:                   m.environment.Binary("k8s"),
		DisableControllerManager: true,
		AuditPolicy:              controlplane.WritesAuditPolicy(),
		// Nodes get a not-ready taint from this plugin when they are created, and
		// without a controller manager nothing takes it away.
		APIServerArgs: []string{"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()
	a := &attempt{m: m, side: which, shape: s, number: number, folder: folder, cp: cp}
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}
	return a.run(ctx)
}

// prepare does everything that comes before the measurement, in both modes.
func (a *attempt) prepare(ctx context.Context) error {
	var err error
	if a.client, err = client.New(a.cp.Config(), client.Options{Scheme: scheme()}); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	if err := a.side.prepare(ctx, a.m.environment, a.cp, a.client); err != nil {
		return err
	}
	if err := a.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return fmt.Errorf("create namespace %s: %w", namespace, err)
	}
	err = harness.InParallel(ctx, a.shape.clusters, func(ctx context.Context, i int) error {
		return a.side.createTarget(ctx, a.client, i)
	})
	if err != nil {
		return fmt.Errorf("create the fleet: %w", err)
	}
	a.follower = harness.NewAuditFollower(a.cp.AuditLogPath())
	a.log = newLog(a.side, a.side.user())
	return nil
}

func (a *attempt) run(ctx context.Context) (*Run, error) {
	if a.shape.mode == ModeQueued {
		if err := a.createReplicas(ctx); err != nil {
			return nil, err
		}
	}
	if _, err := a.follow(); err != nil {
		return nil, err
	}
	before, err := a.costs()
	if err != nil {
		return nil, err
	}
	scheduler, err := startScheduler(ctx, a)
	if err != nil {
		return nil, err
	}
	defer scheduler.Stop(ctx)
	if a.shape.mode == ModeLive {
		if err := scheduler.waitReady(ctx); err != nil {
			return nil, err
		}
	}
	finishProfile := a.startProfile(ctx, scheduler)
	if err := a.placeAll(ctx, scheduler); err != nil {
		return nil, fmt.Errorf("%w\nthe last lines of the scheduler's log:\n%s", err, scheduler.LogTail())
	}
	if err := finishProfile(); err != nil {
		return nil, err
	}
	return a.result(scheduler, before)
}

// placeAll returns when everything is placed, verified, and the scheduler has gone
// quiet. In live mode it also creates what is to be placed.
func (a *attempt) placeAll(ctx context.Context, scheduler *scheduler) error {
	group, groupCtx := errgroup.WithContext(ctx)
	if a.shape.mode == ModeLive {
		group.Go(func() error { return a.createReplicas(groupCtx) })
	}
	group.Go(func() error { return a.waitPlaced(groupCtx, scheduler) })
	if err := group.Wait(); err != nil {
		return err
	}
	return a.waitQuiet(ctx)
}

func (a *attempt) createReplicas(ctx context.Context) error {
	err := harness.InParallel(ctx, a.shape.placements, func(ctx context.Context, i int) error {
		return a.side.createReplica(ctx, a.client, replicaAt(i))
	})
	if err != nil {
		return fmt.Errorf("create what is to be placed: %w", err)
	}
	return nil
}

// follow brings the log up to date and returns how much the scheduler has written.
func (a *attempt) follow() (int, error) {
	requests, err := a.follower.Poll()
	if err != nil {
		return 0, err
	}
	return a.log.add(requests), nil
}

// waitPlaced watches the audit log until each object has a successful write that may
// be its bind, and asks the API server only then whether all is well.
func (a *attempt) waitPlaced(ctx context.Context, scheduler *scheduler) error {
	progress, progressAt := -1, time.Now()
	var verdict error
	var verifiedAt time.Time
	return wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		if err := scheduler.Check(); err != nil {
			return false, err
		}
		if _, err := a.follow(); err != nil {
			return false, err
		}
		if bound := len(a.log.bound); bound != progress {
			progress, progressAt = bound, time.Now()
		}
		if progress >= a.shape.placements && time.Since(verifiedAt) > verifyInterval {
			verdict, verifiedAt = a.side.verify(ctx, a.client, a.shape), time.Now()
			if !errors.Is(verdict, errUnplaced) {
				return verdict == nil, verdict
			}
		}
		if time.Since(progressAt) > stallTimeout {
			stalled := fmt.Errorf("nothing was bound for %s: %d of %d are", stallTimeout, progress, a.shape.placements)
			return false, errors.Join(stalled, verdict)
		}
		return false, nil
	})
}

// waitQuiet waits for the rest of the scheduler's writes: events come late.
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
		return fmt.Errorf("wait until the scheduler writes nothing more: %w", err)
	}
	return nil
}

func (a *attempt) result(scheduler *scheduler, before costs) (*Run, error) {
	after, err := a.costs()
	if err != nil {
		return nil, err
	}
	usage, err := scheduler.Usage()
	if err != nil {
		return nil, err
	}
	span, count, err := a.log.duration(a.shape.mode)
	if err != nil {
		return nil, err
	}
	return &Run{
		Side:                a.side.name(),
		Number:              a.number,
		Rate:                harness.Round(float64(count) / span.Seconds()),
		Seconds:             harness.Round(span.Seconds()),
		Writes:              a.log.writes,
		RefusedWrites:       a.log.refused,
		WritesPerPlacement:  harness.Round(float64(a.log.totalWrites()) / float64(a.shape.placements)),
		SchedulerCPUSeconds: harness.Round(usage.CPU.Seconds()),
		SchedulerPeakRSSMiB: harness.Mebibytes(usage.PeakRSSBytes),
		APIServerCPUSeconds: harness.Round((after.apiServer - before.apiServer).Seconds()),
		EtcdCPUSeconds:      harness.Round((after.etcd - before.etcd).Seconds()),
		BenchmarkCPUSeconds: harness.Round((after.benchmark - before.benchmark).Seconds()),
	}, nil
}

// costs is the CPU time that the scheduler's surroundings have taken so far.
type costs struct {
	apiServer, etcd, benchmark time.Duration
}

func (a *attempt) costs() (costs, error) {
	usage, err := a.cp.Usage()
	if err != nil {
		return costs{}, err
	}
	own, err := controlplane.ProcessUsage(os.Getpid())
	if err != nil {
		return costs{}, err
	}
	return costs{
		apiServer: usage[controlplane.APIServer].CPU,
		etcd:      usage[controlplane.Etcd].CPU,
		benchmark: own.CPU,
	}, nil
}
