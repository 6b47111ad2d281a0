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

// Package profile holds the hub scheduler's default configuration: the plugins of its profiles and what is asked of the
// API server. The scheduler and everything that has to decide as it does take it from here. It must not read any file.
package profile

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	upstreamv1 "k8s.io/kubernetes/pkg/scheduler/apis/config/v1"
	upstreamnames "k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/plugins/names"
)

const (
	// LeaseName is the lease that instances elect their leader by: never kube-scheduler's own.
	LeaseName = "evenkeel-hub-scheduler"
	// defaultQPS and defaultBurst do not hold a busy scheduler back, as kube-scheduler's 50 and 100 would: each
	// placement takes a status write and an event.
	defaultQPS   = 1000
	defaultBurst = 2000
	// every disables all plugins at an extension point.
	every = "*"
)

// RegisterDefaults makes a scheme fill in the hub scheduler's defaults before kube-scheduler's, so that every
// configuration, of a file or of none, has them.
func RegisterDefaults(scheme *runtime.Scheme) {
	scheme.AddTypeDefaultingFunc(&configv1.KubeSchedulerConfiguration{}, func(obj any) {
		configuration := obj.(*configv1.KubeSchedulerConfiguration)
		setDefaults(configuration)
		upstreamv1.SetObjectDefaults_KubeSchedulerConfiguration(configuration)
	})
}

func setDefaults(configuration *configv1.KubeSchedulerConfiguration) {
	if len(configuration.Profiles) == 0 {
		configuration.Profiles = []configv1.KubeSchedulerProfile{{}}
	}
	if first := &configuration.Profiles[0]; len(configuration.Profiles) == 1 && first.SchedulerName == nil {
		first.SchedulerName = ptr.To(evenkeel.DefaultSchedulerName)
	}
	for i := range configuration.Profiles {
		configuration.Profiles[i].Plugins = withDefaultPlugins(configuration.Profiles[i].Plugins)
	}
	if configuration.PercentageOfNodesToScore == nil {
		// A sample of the clusters would make the choice depend on where the last search ended.
		configuration.PercentageOfNodesToScore = ptr.To[int32](100)
	}
	if configuration.LeaderElection.ResourceName == "" {
		configuration.LeaderElection.ResourceName = LeaseName
	}
	if configuration.ClientConnection.QPS == 0 {
		configuration.ClientConnection.QPS = defaultQPS
	}
	if configuration.ClientConnection.Burst == 0 {
		configuration.ClientConnection.Burst = defaultBurst
	}
}

// defaultPlugins stand at single extension points, so that in-tree plugins do not score: the cluster that Rank chooses
// must win. At Filter the cheap ones come first.
func defaultPlugins() *configv1.Plugins {
	return &configv1.Plugins{
		QueueSort:  enabled(upstreamnames.PrioritySort),
		PreFilter:  enabled(upstreamnames.NodeAffinity, names.PoolFit, names.Rank),
		Filter:     enabled(names.ClusterReady, upstreamnames.NodeName, upstreamnames.TaintToleration, upstreamnames.NodeAffinity, names.PoolFit),
		PostFilter: enabled(names.Preemption),
		PreScore:   enabled(names.Rank),
		Score:      enabled(names.Rank),
		Reserve:    enabled(names.PoolFit, names.PlacementBinder),
		Bind:       enabled(names.PlacementBinder),
		PostBind:   enabled(names.PlacementBinder),
	}
}

// withDefaultPlugins adds the default plugins to what a profile says, with kube-scheduler's rules: a profile disables a
// default plugin by its name or all of them by "*", at one extension point or at all (multiPoint), and gives one of its
// own arguments or weight by naming it. The plugins that kube-scheduler enables by default are never enabled.
func withDefaultPlugins(profile *configv1.Plugins) *configv1.Plugins {
	if profile == nil {
		profile = &configv1.Plugins{}
	}
	out := profile.DeepCopy()
	out.MultiPoint.Disabled = append(out.MultiPoint.Disabled, configv1.Plugin{Name: every})
	if has(profile.MultiPoint.Disabled, every) {
		out.MultiPoint.Disabled = profile.MultiPoint.Disabled
		return out
	}
	defaults := defaultPlugins()
	for _, point := range []struct{ own, defaults *configv1.PluginSet }{
		{&out.QueueSort, &defaults.QueueSort},
		{&out.PreFilter, &defaults.PreFilter},
		{&out.Filter, &defaults.Filter},
		{&out.PostFilter, &defaults.PostFilter},
		{&out.PreScore, &defaults.PreScore},
		{&out.Score, &defaults.Score},
		{&out.Reserve, &defaults.Reserve},
		{&out.Bind, &defaults.Bind},
		{&out.PostBind, &defaults.PostBind},
	} {
		point.own.Enabled = mergePlugins(point.defaults.Enabled, point.own, &profile.MultiPoint)
	}
	// Rank runs the filters, which read what every other plugin prepares at PreFilter.
	out.PreFilter.Enabled = last(out.PreFilter.Enabled, names.Rank)
	return out
}

// last moves a plugin behind all others.
func last(plugins []configv1.Plugin, name string) []configv1.Plugin {
	i := slices.IndexFunc(plugins, func(plugin configv1.Plugin) bool { return plugin.Name == name })
	if i < 0 {
		return plugins
	}
	moved := plugins[i]
	return append(slices.Delete(plugins, i, i+1), moved)
}

// mergePlugins puts the defaults that a profile neither disables nor names before the profile's own plugins.
func mergePlugins(defaults []configv1.Plugin, own, multiPoint *configv1.PluginSet) []configv1.Plugin {
	merged := slices.DeleteFunc(slices.Clone(defaults), func(plugin configv1.Plugin) bool {
		return has(own.Disabled, every) || has(own.Disabled, plugin.Name) || has(own.Enabled, plugin.Name) ||
			has(multiPoint.Disabled, plugin.Name) || has(multiPoint.Enabled, plugin.Name)
	})
	return append(merged, own.Enabled...)
}

func has(plugins []configv1.Plugin, name string) bool {
	return slices.ContainsFunc(plugins, func(plugin configv1.Plugin) bool { return plugin.Name == name })
}

func enabled(plugins ...string) configv1.PluginSet {
	set := configv1.PluginSet{}
	for _, name := range plugins {
		set.Enabled = append(set.Enabled, configv1.Plugin{Name: name})
	}
	return set
}
