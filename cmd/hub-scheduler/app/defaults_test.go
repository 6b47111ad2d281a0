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
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	frameworkplugins "k8s.io/kubernetes/pkg/scheduler/framework/plugins"

	evenkeelconfig "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/plugins"
	"github.com/evenkeel-io/evenkeel/plugins/names"
)

const manifests = "../../../manifests/hub/scheduler"

func load(t *testing.T, text string) *config.KubeSchedulerConfiguration {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+text), 0o600))
	return loadFile(t, path)
}

func loadFile(t *testing.T, path string) *config.KubeSchedulerConfiguration {
	t.Helper()
	configuration, err := options.LoadConfigFromFile(klog.Background(), path)
	require.NoError(t, err)
	require.NoError(t, validation.ValidateKubeSchedulerConfiguration(configuration))
	return configuration
}

// enabledPlugins are the names at each extension point that has any.
func enabledPlugins(plugins *config.Plugins) map[string][]string {
	out := map[string][]string{}
	for point, set := range map[string]config.PluginSet{
		"preEnqueue": plugins.PreEnqueue, "queueSort": plugins.QueueSort, "preFilter": plugins.PreFilter, "filter": plugins.Filter,
		"postFilter": plugins.PostFilter, "preScore": plugins.PreScore, "score": plugins.Score, "reserve": plugins.Reserve,
		"permit": plugins.Permit, "preBind": plugins.PreBind, "bind": plugins.Bind, "postBind": plugins.PostBind, "multiPoint": plugins.MultiPoint,
	} {
		for _, plugin := range set.Enabled {
			out[point] = append(out[point], plugin.Name)
		}
	}
	return out
}

func defaultNames() map[string][]string {
	return map[string][]string{
		"queueSort":  {"PrioritySort"},
		"preFilter":  {"NodeAffinity", "PoolFit", "Rank"},
		"filter":     {"ClusterReady", "NodeName", "TaintToleration", "NodeAffinity", "PoolFit"},
		"postFilter": {"Preemption"},
		"preScore":   {"Rank"},
		"score":      {"Rank"},
		"reserve":    {"PoolFit", "PlacementBinder"},
		"bind":       {"PlacementBinder"},
		"postBind":   {"PlacementBinder"},
	}
}

func TestDefaultConfiguration(t *testing.T) {
	configuration, err := latest.Default()
	require.NoError(t, err)
	require.NoError(t, validation.ValidateKubeSchedulerConfiguration(configuration))

	require.Len(t, configuration.Profiles, 1)
	assert.Equal(t, "evenkeel", configuration.Profiles[0].SchedulerName)
	assert.Equal(t, defaultNames(), enabledPlugins(configuration.Profiles[0].Plugins))
	assert.Equal(t, int32(100), *configuration.PercentageOfNodesToScore)
	assert.Equal(t, "evenkeel-hub-scheduler", configuration.LeaderElection.ResourceName)
	assert.True(t, configuration.LeaderElection.LeaderElect)
	assert.InDelta(t, 1000, configuration.ClientConnection.QPS, 0)
	assert.Equal(t, int32(2000), configuration.ClientConnection.Burst)
}

func TestConfigurationFile(t *testing.T) {
	without := func(change func(map[string][]string)) map[string][]string {
		want := defaultNames()
		change(want)
		return want
	}
	tests := map[string]struct {
		text string
		want map[string][]string
	}{
		"nothing said": {text: "", want: defaultNames()},
		"another profile name": {
			text: "profiles: [{schedulerName: evenkeel}]", want: defaultNames(),
		},
		"a default disabled at one point": {
			text: "profiles: [{plugins: {postFilter: {disabled: [{name: Preemption}]}}}]",
			want: without(func(want map[string][]string) { delete(want, "postFilter") }),
		},
		"all disabled at one point": {
			text: `profiles: [{plugins: {filter: {disabled: [{name: "*"}], enabled: [{name: PoolFit}]}}}]`,
			want: without(func(want map[string][]string) { want["filter"] = []string{"PoolFit"} }),
		},
		"a default disabled everywhere": {
			text: "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeAffinity}]}}}]",
			want: without(func(want map[string][]string) {
				want["preFilter"] = []string{"PoolFit", "Rank"}
				want["filter"] = []string{"ClusterReady", "NodeName", "TaintToleration", "PoolFit"}
			}),
		},
		"one added": {
			text: "profiles: [{plugins: {preFilter: {enabled: [{name: CapacityScheduling}]}}}]",
			want: without(func(want map[string][]string) {
				want["preFilter"] = []string{"NodeAffinity", "PoolFit", "CapacityScheduling", "Rank"}
			}),
		},
		"one added at many points": {
			text: "profiles: [{plugins: {multiPoint: {enabled: [{name: NodeUnschedulable}]}}}]",
			want: without(func(want map[string][]string) { want["multiPoint"] = []string{"NodeUnschedulable"} }),
		},
		"a default named at many points stands only there": {
			text: "profiles: [{plugins: {multiPoint: {enabled: [{name: Rank, weight: 5}]}}}]",
			want: without(func(want map[string][]string) {
				want["preFilter"] = []string{"NodeAffinity", "PoolFit"}
				delete(want, "preScore")
				delete(want, "score")
				want["multiPoint"] = []string{"Rank"}
			}),
		},
		"a default named again is not doubled": {
			text: "profiles: [{plugins: {score: {enabled: [{name: Rank, weight: 5}]}}}]", want: defaultNames(),
		},
		"everything disabled": {
			text: `profiles: [{plugins: {multiPoint: {disabled: [{name: "*"}]}, bind: {enabled: [{name: PlacementBinder}]}}}]`,
			want: map[string][]string{"bind": {"PlacementBinder"}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			configuration := load(t, tc.text)
			require.Len(t, configuration.Profiles, 1)
			assert.Equal(t, "evenkeel", configuration.Profiles[0].SchedulerName)
			assert.Equal(t, tc.want, enabledPlugins(configuration.Profiles[0].Plugins))
		})
	}
}

func TestConfigurationFileWins(t *testing.T) {
	configuration := load(t, `
percentageOfNodesToScore: 40
leaderElection: {resourceName: mine, leaderElect: false}
clientConnection: {qps: 7, burst: 8}
profiles: [{schedulerName: one}, {schedulerName: two}]
`)
	assert.Equal(t, int32(40), *configuration.PercentageOfNodesToScore)
	assert.Equal(t, "mine", configuration.LeaderElection.ResourceName)
	assert.False(t, configuration.LeaderElection.LeaderElect)
	assert.InDelta(t, 7, configuration.ClientConnection.QPS, 0)
	assert.Equal(t, int32(8), configuration.ClientConnection.Burst)
	require.Len(t, configuration.Profiles, 2)
	for i, name := range []string{"one", "two"} {
		assert.Equal(t, name, configuration.Profiles[i].SchedulerName)
		assert.Equal(t, defaultNames(), enabledPlugins(configuration.Profiles[i].Plugins))
	}
}

// The shipped default profile is what holds without a file, so that neither can drift from the other.
func TestShippedDefaultProfile(t *testing.T) {
	builtIn, err := latest.Default()
	require.NoError(t, err)
	shipped := loadFile(t, filepath.Join(manifests, "default", "config.yaml"))

	assert.Equal(t, "evenkeel-system", shipped.LeaderElection.ResourceNamespace)
	shipped.LeaderElection.ResourceNamespace = builtIn.LeaderElection.ResourceNamespace
	assert.Equal(t, enabledPlugins(builtIn.Profiles[0].Plugins), enabledPlugins(shipped.Profiles[0].Plugins))

	var args []config.PluginConfig
	for _, plugin := range shipped.Profiles[0].PluginConfig {
		if plugin.Name == names.Preemption {
			args = append(args, plugin)
			decoded, err := evenkeelconfig.DecodePreemptionArgs(plugin.Args)
			require.NoError(t, err)
			assert.Equal(t, evenkeelconfig.DefaultMaxNamedClusters, *decoded.MaxNamedClusters)
		}
	}
	assert.Len(t, args, 1)
	shipped.Profiles, builtIn.Profiles = nil, nil
	assert.Empty(t, cmp.Diff(builtIn, shipped))
}

func TestShippedProfilesNameRegisteredPlugins(t *testing.T) {
	registered := frameworkplugins.NewInTreeRegistry()
	require.NoError(t, registered.Merge(plugins.Registry(plugins.Dependencies{})))
	for _, folder := range []string{"default", "capacity", "preemption"} {
		configuration := loadFile(t, filepath.Join(manifests, folder, "config.yaml"))
		for _, profile := range configuration.Profiles {
			for point, enabled := range enabledPlugins(profile.Plugins) {
				for _, name := range enabled {
					assert.Contains(t, registered, name, "%s: %s of profile %s", folder, point, profile.SchedulerName)
				}
			}
		}
	}
	capacity := loadFile(t, filepath.Join(manifests, "capacity", "config.yaml"))
	want := defaultNames()
	want["preFilter"] = []string{"NodeAffinity", "PoolFit", "CapacityScheduling", "Rank"} // Rank runs the filters
	want["postFilter"] = append(want["postFilter"], "CapacityScheduling")                 // behind the one that explains
	want["reserve"] = append(want["reserve"], "CapacityScheduling")
	assert.Equal(t, want, enabledPlugins(capacity.Profiles[0].Plugins))
}

func TestUnknownFieldIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofile: []\n"), 0o600))
	_, err := options.LoadConfigFromFile(klog.Background(), path)
	assert.ErrorContains(t, err, `unknown field "profile"`)
}

func TestCommandHasUpstreamsFlags(t *testing.T) {
	cmd := NewCommand()
	for _, name := range []string{
		"config", "write-config-to", "kubeconfig", "leader-elect", "secure-port", "feature-gates", "v", "logging-format", "version", "tls-cert-file",
	} {
		assert.NotNil(t, cmd.Flags().Lookup(name), name)
	}
	assert.Equal(t, "evenkeel-hub-scheduler", cmd.Flags().Lookup("leader-elect-resource-name").DefValue)
	assert.Equal(t, "hub-scheduler", cmd.Name())
	assert.Error(t, cmd.Args(cmd, []string{"surplus"}))
}
