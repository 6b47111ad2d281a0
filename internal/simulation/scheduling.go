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

package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins"
)

// scheduling is the hub scheduler on the hub in memory. It works on one placement when it is told to, and is done with it
// when the call returns.
type scheduling struct {
	*scheduler.Scheduler
	fleet *virtual.Offline
	clock *clocktesting.FakeClock
	// bound gets one message for each binding that has ended, well or not.
	bound chan struct{}
	// tried is called with each placement that was tried, the state of its cycle, and why it did not fit, nil where it did.
	tried func(pod *v1.Pod, state fwk.CycleState, failed *framework.FitError)
	// failed is set by the scheduler's failure handler.
	failed error
	state  fwk.CycleState
	pod    *v1.Pod
}

func newScheduling(ctx context.Context, api *api, clock *clocktesting.FakeClock, cfg *config.KubeSchedulerConfiguration) (*scheduling, error) {
	hub, err := virtual.NewHub(api.config())
	if err != nil {
		return nil, err
	}
	s := &scheduling{fleet: virtual.NewOffline(), clock: clock, bound: make(chan struct{}, 1)}
	rest, err := kubernetes.NewForConfig(api.config())
	if err != nil {
		return nil, err
	}
	client := virtual.NewClient(rest, hub, s.fleet.Shared.Core().V1().Pods().Lister())
	s.Scheduler, err = scheduler.New(ctx, client, s.fleet.Shared, s.fleet.Dynamic,
		func(string) events.EventRecorder { return recorder(s.recorded) },
		scheduler.WithClock(clock),
		scheduler.WithComponentConfigVersion(configv1.SchemeGroupVersion.String()),
		scheduler.WithProfiles(cfg.Profiles...),
		scheduler.WithPercentageOfNodesToScore(cfg.PercentageOfNodesToScore),
		scheduler.WithParallelism(cfg.Parallelism),
		scheduler.WithPodInitialBackoffSeconds(cfg.PodInitialBackoffSeconds),
		scheduler.WithPodMaxBackoffSeconds(cfg.PodMaxBackoffSeconds),
		scheduler.WithFrameworkOutOfTreeRegistry(plugins.Registry(plugins.Dependencies{Replicas: s.fleet.Replicas, Writer: client.Writer()})),
	)
	if err != nil {
		return nil, fmt.Errorf("make the scheduler: %w", err)
	}
	s.observe()
	return s, nil
}

// observe keeps what the scheduler finds out about a placement and does not say.
func (s *scheduling) observe() {
	schedule, fail := s.SchedulePod, s.FailureHandler
	s.SchedulePod = func(ctx context.Context, f framework.Framework, state fwk.CycleState, pod *v1.Pod) (scheduler.ScheduleResult, error) {
		s.state, s.pod = state, pod
		return schedule(ctx, f, state, pod)
	}
	s.FailureHandler = func(ctx context.Context, f framework.Framework, podInfo *framework.QueuedPodInfo, status *fwk.Status, nominating *fwk.NominatingInfo, start time.Time) {
		fail(ctx, f, podInfo, status, nominating, start)
		s.failed = status.AsError()
		s.bound <- struct{}{}
	}
}

// recorded hears of what the scheduler would make events of. A binding is over once it is reported.
func (s *scheduling) recorded(reason string) {
	if reason == "Scheduled" {
		s.bound <- struct{}{}
	}
}

// waiting tells whether there is a placement to try.
func (s *scheduling) waiting() bool {
	return len(s.SchedulingQueue.PodsInActiveQ())+len(s.SchedulingQueue.PodsInBackoffQ()) > 0
}

// one tries the placement whose turn it is. It must be waiting.
func (s *scheduling) one(ctx context.Context) error {
	s.failed, s.pod, s.state = nil, nil, nil
	s.clock.Step(writeTime) // or the queue could not tell who was tried first
	s.ScheduleOne(ctx)
	if s.pod == nil {
		return nil // it was skipped: it is being deleted, or has a cluster already
	}
	<-s.bound
	if s.failed == nil {
		s.tried(s.pod, s.state, nil)
		return nil
	}
	failed := &framework.FitError{}
	switch {
	case errors.As(s.failed, &failed):
	case errors.Is(s.failed, scheduler.ErrNoNodesAvailable):
		failed = &framework.FitError{Pod: s.pod, Diagnosis: framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()}}
	default:
		return fmt.Errorf("placement %s/%s: %w", s.pod.Namespace, s.pod.Name, s.failed)
	}
	s.tried(s.pod, s.state, failed)
	return nil
}

// recorder takes the reasons of events and drops the rest.
type recorder func(reason string)

// Eventf implements events.EventRecorder.
func (r recorder) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) { r(reason) }

// quiet is a context in which the scheduler logs nothing.
func quiet(ctx context.Context) context.Context {
	return klog.NewContext(ctx, logr.Discard())
}
