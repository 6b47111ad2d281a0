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

package app

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	schedulerconfig "k8s.io/kubernetes/cmd/kube-scheduler/app/config"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins"
)

// setup makes a scheduler and what upstream's Run needs besides, out of options whose flags have been parsed.
func setup(ctx context.Context, opts *options.Options) (*schedulerconfig.CompletedConfig, *scheduler.Scheduler, error) {
	configuration, err := latest.Default()
	if err != nil {
		return nil, nil, fmt.Errorf("default configuration: %w", err)
	}
	opts.ComponentConfig = configuration
	if errs := opts.Validate(); len(errs) > 0 {
		return nil, nil, utilerrors.NewAggregate(errs)
	}
	cfg, err := opts.Config(ctx)
	if err != nil {
		return nil, nil, err
	}
	if cfg.LeaderElection != nil {
		cfg.LeaderElection.Name = commandName
	}
	dependencies, err := virtualize(cfg)
	if err != nil {
		return nil, nil, err
	}
	completed := cfg.Complete()
	sched, profiles, err := newScheduler(ctx, &completed, dependencies)
	if err != nil {
		return nil, nil, err
	}
	// This ends the process after writing when the flag --write-config-to asks for it.
	if err := options.LogOrWriteConfig(klog.FromContext(ctx), opts.WriteConfigTo, &completed.ComponentConfig, profiles); err != nil {
		return nil, nil, err
	}
	return &completed, sched, nil
}

// virtualize swaps the client and the informers for ones that show clusters as nodes and placements as pods.
func virtualize(cfg *schedulerconfig.Config) (plugins.Dependencies, error) {
	hub, err := virtual.NewHub(rest.AddUserAgent(cfg.KubeConfig, commandName))
	if err != nil {
		return plugins.Dependencies{}, err
	}
	informers, err := virtual.NewInformers(hub, cfg.Client, cfg.DynInformerFactory)
	if err != nil {
		return plugins.Dependencies{}, err
	}
	pods := informers.Shared.Core().V1().Pods().Lister()
	client := virtual.NewClient(cfg.Client, hub, pods)
	cfg.Client = client
	cfg.InformerFactory = informers.Shared
	cfg.DynInformerFactory = informers.Dynamic
	return plugins.Dependencies{
		Replicas: informers.Replicas,
		Writer:   client.Writer(),
		Budgets: func() policylisters.PodDisruptionBudgetLister {
			return virtual.NewBudgets(pods, informers.Dynamic)
		},
	}, nil
}

// newScheduler also returns the profiles as the framework has completed them.
func newScheduler(ctx context.Context, cc *schedulerconfig.CompletedConfig, dependencies plugins.Dependencies) (*scheduler.Scheduler, []config.KubeSchedulerProfile, error) {
	var profiles []config.KubeSchedulerProfile
	sched, err := scheduler.New(ctx, cc.Client, cc.InformerFactory, cc.DynInformerFactory, recorderFactory(cc),
		scheduler.WithComponentConfigVersion(cc.ComponentConfig.APIVersion),
		scheduler.WithKubeConfig(customResourceConfig(cc.KubeConfig)),
		scheduler.WithProfiles(cc.ComponentConfig.Profiles...),
		scheduler.WithPercentageOfNodesToScore(cc.ComponentConfig.PercentageOfNodesToScore),
		scheduler.WithFrameworkOutOfTreeRegistry(plugins.Registry(dependencies)),
		scheduler.WithPodMaxBackoffSeconds(cc.ComponentConfig.PodMaxBackoffSeconds),
		scheduler.WithPodInitialBackoffSeconds(cc.ComponentConfig.PodInitialBackoffSeconds),
		scheduler.WithPodMaxInUnschedulablePodsDuration(cc.PodMaxInUnschedulablePodsDuration),
		scheduler.WithExtenders(cc.ComponentConfig.Extenders...),
		scheduler.WithParallelism(cc.ComponentConfig.Parallelism),
		scheduler.WithBuildFrameworkCapturer(func(profile config.KubeSchedulerProfile) {
			profiles = append(profiles, profile)
		}),
	)
	if err != nil {
		return nil, nil, fmt.Errorf("make the scheduler: %w", err)
	}
	return sched, profiles, nil
}

func recorderFactory(cc *schedulerconfig.CompletedConfig) profile.RecorderFactory {
	return func(name string) events.EventRecorder {
		return virtual.NewRecorder(cc.EventBroadcaster.NewRecorder(name))
	}
}

// customResourceConfig is what plugins make clients of custom resources from, which the API server does not encode in
// protobuf.
func customResourceConfig(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeJSON
	config.AcceptContentTypes = runtime.ContentTypeJSON
	return config
}
