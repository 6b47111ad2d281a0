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

package workloadcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubectl/pkg/drain"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A real maintenance takes minutes; this one keeps the order and shortens the pauses.
const (
	evictionRetry = 500 * time.Millisecond
	// downTime is how long a node is off.
	downTime = 3 * time.Second
)

// Maintenance is what a cloud does to the system nodes: it cordons all, and then drains, stops, starts and uncordons
// one after the other.
type Maintenance struct {
	// Nodes in their order.
	Nodes []string
	// DrainTimeout is how long a drain waits for budgets; Patience when zero.
	DrainTimeout time.Duration
	// Force deletes what a drain has not evicted in time, budgets or not.
	Force bool
	// Tell is called at each step.
	Tell func(what string)
	// After is called after a drain of a node, before it is stopped; it may be nil.
	After func(ctx context.Context, node string) error
}

// Maintain plays a maintenance to its end.
func (c *Cluster) Maintain(ctx context.Context, m Maintenance) error {
	for _, node := range m.Nodes {
		if err := c.Cordon(ctx, node, true); err != nil {
			return err
		}
		m.Tell("cordoned " + node)
	}
	for _, node := range m.Nodes {
		if err := c.maintainOne(ctx, &m, node); err != nil {
			return fmt.Errorf("maintain node %s: %w", node, err)
		}
	}
	return nil
}

func (c *Cluster) maintainOne(ctx context.Context, m *Maintenance, node string) error {
	m.Tell("draining " + node)
	timeout := m.DrainTimeout
	if timeout == 0 {
		timeout = Patience
	}
	if err := c.Drain(ctx, node, timeout, false); err != nil {
		if !m.Force {
			return err
		}
		m.Tell("deleting what is left on " + node)
		if err := c.Drain(ctx, node, Patience, true); err != nil {
			return err
		}
	}
	m.Tell("drained " + node)
	if m.After != nil {
		if err := m.After(ctx, node); err != nil {
			return err
		}
	}
	if err := c.StopNode(ctx, node); err != nil {
		return err
	}
	m.Tell("stopped " + node)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(downTime):
	}
	if err := c.StartNode(ctx, node); err != nil {
		return err
	}
	m.Tell("started " + node)
	if err := c.Cordon(ctx, node, false); err != nil {
		return err
	}
	m.Tell("uncordoned " + node)
	return nil
}

// Cordon cordons a node or takes that back, as kubectl does.
func (c *Cluster) Cordon(ctx context.Context, name string, cordoned bool) error {
	node := &corev1.Node{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return err
	}
	return drain.RunCordonOrUncordon(c.drainer(ctx, Patience, false), node, cordoned)
}

// Drain evicts a node's pods, or deletes them without asking their budgets, as kubectl does. It returns when they are
// gone or the timeout is over.
func (c *Cluster) Drain(ctx context.Context, node string, timeout time.Duration, withoutBudgets bool) error {
	drainer := c.drainer(ctx, timeout, withoutBudgets)
	list, errs := drainer.GetPodsForDeletion(node)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return drainer.DeleteOrEvictPods(list.Pods())
}

func (c *Cluster) drainer(ctx context.Context, timeout time.Duration, withoutBudgets bool) *drain.Helper {
	return &drain.Helper{
		Ctx:                  ctx,
		Client:               c.Kube,
		Force:                true,
		IgnoreAllDaemonSets:  true,
		DeleteEmptyDirData:   true,
		GracePeriodSeconds:   -1,
		Timeout:              timeout,
		DisableEviction:      withoutBudgets,
		EvictErrorRetryDelay: evictionRetry,
		Out:                  io.Discard,
		ErrOut:               io.Discard,
	}
}
