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
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/controllers/modeldeployment"
)

// Options are the settings of the programs that a simulation stands for.
type Options struct {
	// Controller is how hub-manager keeps the replicas of deployments. What it serves is taken from the snapshot, and routes
	// are left out: a replica serves when it is ready.
	Controller modeldeployment.Options
	// Scheduler is the hub scheduler's configuration.
	Scheduler *config.KubeSchedulerConfiguration
	// Horizon is how far to look ahead.
	Horizon time.Duration
}

// defaultHorizon is how far to look ahead: less than finished placements are kept.
const defaultHorizon = 12 * time.Hour

// DefaultOptions are the settings that the programs have without configuration files.
func DefaultOptions() (Options, error) {
	manager, err := configapi.DecodeHubManagerConfiguration(nil)
	if err != nil {
		return Options{}, fmt.Errorf("default manager configuration: %w", err)
	}
	scheduler, err := DefaultScheduler()
	if err != nil {
		return Options{}, err
	}
	return Options{
		Controller: modeldeployment.OptionsFrom(&manager.ModelDeployments),
		Scheduler:  scheduler,
		Horizon:    defaultHorizon,
	}, nil
}

const (
	// writeTime is how long a write takes: enough to tell which was first.
	writeTime = time.Millisecond
	// maxIdle is how many deadlines in a row may pass without anything done before a simulation is taken to be at rest.
	maxIdle = 100
	// maxSteps bounds a simulation that never comes to rest.
	maxSteps = 1_000_000
)

// simulation is a hub in memory with its programs.
type simulation struct {
	store     *store
	clock     *clocktesting.FakeClock
	decider   *modeldeployment.Decider
	scheduler *scheduling
	began     time.Time
	horizon   time.Time

	// due are the deployments to decide for.
	due map[types.NamespacedName]bool
	// deadlines are when to decide for deployments again although nothing changes.
	deadlines map[types.NamespacedName]time.Time
	// composing are replicas that have just been created or deleted.
	composing []types.NamespacedName
	// deeds counts what was done: replicas and placements made, assigned and deleted.
	deeds int

	record *record
}

// Run tells what a change of the fleet would lead to. An error is one of the change, such as a cluster that does not
// exist, or of the snapshot; that replicas have nowhere to go is not an error.
func Run(ctx context.Context, snapshot *Snapshot, change Change, options Options) (*Plan, error) {
	ctx, cancel := context.WithCancel(quiet(ctx))
	defer cancel()
	s, err := newSimulation(ctx, snapshot, options)
	if err != nil {
		return nil, err
	}
	s.began = s.clock.Now()
	s.record.begin(s)
	if err := change.apply(s); err != nil {
		return nil, err
	}
	unfinished, err := s.settle(ctx)
	if err != nil {
		return nil, fmt.Errorf("simulate %q: %w", change, err)
	}
	plan := s.record.plan(s)
	plan.Change, plan.Unfinished = change.String(), unfinished
	return plan, nil
}

func newSimulation(ctx context.Context, snapshot *Snapshot, options Options) (*simulation, error) {
	began := snapshot.Now
	s := &simulation{
		store:     newStore(),
		clock:     clocktesting.NewFakeClock(began),
		began:     began,
		horizon:   began.Add(options.Horizon),
		due:       map[types.NamespacedName]bool{},
		deadlines: map[types.NamespacedName]time.Time{},
		record:    newRecord(),
	}
	controller := options.Controller
	controller.Serves = modeldeployment.Serves{Caches: snapshot.ServesCaches}
	var err error
	if s.decider, err = modeldeployment.NewDecider(ctx, controller, s.store, s.clock, recorder(func(string) {})); err != nil {
		return nil, err
	}
	if s.scheduler, err = newScheduling(ctx, &api{store: s.store, clock: s.clock}, s.clock, options.Scheduler); err != nil {
		return nil, err
	}
	s.scheduler.tried = s.record.tried
	if err := s.store.indexReplicasByDeployment(); err != nil {
		return nil, err
	}
	if err := s.load(snapshot); err != nil {
		return nil, err
	}
	s.store.changed = func(before, now client.Object) error { return s.changed(ctx, before, now) }
	return s, nil
}

// settle lets the programs work until nothing moves any more even if time passes. It says why it stopped earlier.
func (s *simulation) settle(ctx context.Context) (unfinished string, err error) {
	idle, deeds := 0, s.deeds
	for range maxSteps {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		busy, err := s.step(ctx)
		if err != nil {
			return "", err
		}
		if busy {
			continue
		}
		if s.deeds != deeds {
			idle, deeds = 0, s.deeds
		}
		if idle++; idle > maxIdle {
			return "", nil
		}
		next, found := s.nextDeadline()
		if !found {
			return "", nil
		}
		if next.After(s.horizon) {
			return "", nil
		}
		s.clock.SetTime(next)
	}
	return fmt.Sprintf("it did not come to rest within %d steps", maxSteps), nil
}

// step lets each program do what it can do now: the composer, then the controller for one deployment after the other by
// namespace and name, then the scheduler. It tells whether there was anything to do.
func (s *simulation) step(ctx context.Context) (busy bool, err error) {
	if busy, err = s.compose(); err != nil {
		return false, err
	}
	for _, key := range s.takeDue() {
		busy = true
		if err := s.decide(ctx, key); err != nil {
			return false, fmt.Errorf("deployment %s: %w", key, err)
		}
	}
	for s.scheduler.waiting() {
		busy = true
		if err := s.scheduler.one(ctx); err != nil {
			return false, err
		}
	}
	return busy, nil
}

func (s *simulation) takeDue() []types.NamespacedName {
	now := s.clock.Now()
	for key, deadline := range s.deadlines {
		if !deadline.After(now) {
			delete(s.deadlines, key)
			s.due[key] = true
		}
	}
	keys := make([]types.NamespacedName, 0, len(s.due))
	for key := range s.due {
		keys = append(keys, key)
	}
	clear(s.due)
	slices.SortFunc(keys, compareKeys)
	return keys
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func (s *simulation) nextDeadline() (next time.Time, found bool) {
	for _, deadline := range s.deadlines {
		if !found || deadline.Before(next) {
			next, found = deadline, true
		}
	}
	return next, found
}

// decide lets the controller look at a deployment, and does what it wants.
func (s *simulation) decide(ctx context.Context, key types.NamespacedName) error {
	d := get[modelplane.ModelDeployment](s.store, key.Namespace, key.Name)
	delete(s.deadlines, key)
	if d == nil {
		return nil
	}
	decision, err := s.decider.Decide(ctx, d)
	if err != nil || decision == nil {
		return err
	}
	s.record.policies[key] = decision.Policy.Names
	for _, action := range decision.Actions {
		if err := s.do(d, action); err != nil {
			return fmt.Errorf("%s: %w", action, err)
		}
	}
	if !modeldeployment.SameStatus(d, decision.Status) {
		if err := s.setStatus(d, decision.Status); err != nil {
			return err
		}
	}
	if decision.RequeueAfter > 0 {
		s.deadlines[key] = s.clock.Now().Add(decision.RequeueAfter)
	}
	for _, woken := range s.decider.Woken() {
		s.due[woken] = true
	}
	return nil
}

// changed passes a change on to those who watch: the scheduler, the controller and the record.
func (s *simulation) changed(ctx context.Context, before, now client.Object) error {
	s.clock.Step(writeTime)
	o := now
	if o == nil {
		o = before
	}
	if err := s.tellScheduler(o, now == nil); err != nil {
		return err
	}
	if _, own := o.(*modelplane.ModelDeployment); !own {
		for _, key := range s.decider.Concerned(ctx, o) {
			s.due[key] = true
		}
	}
	s.record.changed(s, before, now)
	return nil
}

func (s *simulation) tellScheduler(o client.Object, gone bool) error {
	fleet := s.scheduler.fleet
	switch o := o.(type) {
	case *modelplane.InferenceCluster:
		return fleet.SetCluster(o)
	case *evenkeel.ReplicaPlacement:
		if gone {
			return fleet.RemovePlacement(o)
		}
		return fleet.SetPlacement(o)
	case *modelplane.ModelReplica:
		if gone {
			return fleet.RemoveReplica(o)
		}
		return fleet.SetReplica(o)
	}
	return nil
}
