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

// Package plugins registers the hub scheduler's plugins: its own, one folder each, and the one of scheduler-plugins that
// suits placements. The plugins of kube-scheduler itself come with the scheduler. Which of them run, a profile decides;
// this package must not.
package plugins

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	// Registers the arguments of scheduler-plugins' plugins, so that a profile's pluginConfig for them is decoded.
	_ "sigs.k8s.io/scheduler-plugins/apis/config/scheme"
	"sigs.k8s.io/scheduler-plugins/pkg/capacityscheduling"

	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/capacity"
	"github.com/evenkeel-io/evenkeel/plugins/clusterready"
	"github.com/evenkeel-io/evenkeel/plugins/placementbinder"
	"github.com/evenkeel-io/evenkeel/plugins/poolfit"
	"github.com/evenkeel-io/evenkeel/plugins/preemption"
	"github.com/evenkeel-io/evenkeel/plugins/rank"
)

// Dependencies are what the plugins need besides the scheduler's handle.
type Dependencies struct {
	// Replicas is the informer of *modelplane.ModelReplica of all namespaces. Whoever runs the scheduler starts it and
	// waits for it. An informer serves one registry.
	Replicas cache.SharedIndexInformer
	// Writer records decisions.
	Writer virtual.PlacementWriter
	// Budgets gives what DisruptionPolicies allow, for a profile that preempts, by priority or by quota.
	Budgets preemption.Budgets
}

// Registry gives the factories of all plugins. They share one ledger of nodes, whatever profile enables them. Nothing is
// global: a process can run several schedulers, each with a registry of its own.
func Registry(d Dependencies) frameworkruntime.Registry {
	return frameworkruntime.Registry{
		clusterready.Name:       withoutArgs(clusterready.Name, clusterready.New),
		poolfit.Name:            withoutArgs(poolfit.Name, newPoolFit(d.Replicas)),
		rank.Name:               withoutArgs(rank.Name, rank.New),
		preemption.Name:         preemption.New(d.Budgets),
		placementbinder.Name:    withoutArgs(placementbinder.Name, placementbinder.New(d.Writer)),
		capacityscheduling.Name: withoutArgs(capacityscheduling.Name, capacity.New(capacity.Budgets(d.Budgets))),
	}
}

func newPoolFit(replicas cache.SharedIndexInformer) frameworkruntime.PluginFactory {
	ledger := sync.OnceValues(func() (*poolfit.Ledger, error) {
		return poolfit.NewLedger(replicas, placement.NewMatcher())
	})
	return func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		l, err := ledger()
		if err != nil {
			return nil, err
		}
		return poolfit.New(l)(ctx, args, handle)
	}
}

// withoutArgs refuses arguments for a plugin that has none, which would otherwise be ignored without a word.
func withoutArgs(name string, factory frameworkruntime.PluginFactory) frameworkruntime.PluginFactory {
	return func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		if args != nil {
			return nil, fmt.Errorf("plugin %s takes no arguments, remove its entry from pluginConfig", name)
		}
		return factory(ctx, args, handle)
	}
}
