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

package systemnodes

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	configlatest "k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// usedPlugins are those of the default scheduler's that decide about pods without volumes and claims.
var usedPlugins = []string{
	names.PrioritySort, names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity,
	names.NodeResourcesFit, names.PodTopologySpread, names.InterPodAffinity, names.DefaultBinder,
}

// scheduler finds places by the default scheduler's plugins, weights and defaults.
type scheduler struct {
	framework framework.Framework
	current   *view
}

// view is the lister that the plugins keep; what it shows is replaced for each pod.
type view struct{ *cache.Snapshot }

func newScheduler(ctx context.Context) (*scheduler, error) {
	metrics.Register() // the framework counts, though nobody serves the numbers
	defaults, err := configlatest.Default()
	if err != nil {
		return nil, err
	}
	profile := defaults.Profiles[0]
	weights := map[string]int32{}
	for _, p := range profile.Plugins.MultiPoint.Enabled {
		weights[p.Name] = p.Weight
	}
	profile.Plugins = &config.Plugins{}
	for _, name := range usedPlugins {
		profile.Plugins.MultiPoint.Enabled = append(profile.Plugins.MultiPoint.Enabled, config.Plugin{Name: name, Weight: weights[name]})
	}
	profile.PluginConfig = argsOf(profile.PluginConfig)
	s := &scheduler{current: &view{Snapshot: cache.NewEmptySnapshot()}}
	// The plugins ask listers of Services and the like for defaults; those of an empty cluster say "none".
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	s.framework, err = frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), &profile,
		frameworkruntime.WithSnapshotSharedLister(s.current), frameworkruntime.WithInformerFactory(factory))
	if err != nil {
		return nil, fmt.Errorf("set up the scheduler's plugins: %w", err)
	}
	return s, nil
}

func argsOf(all []config.PluginConfig) []config.PluginConfig {
	var used []config.PluginConfig
	for _, c := range all {
		for _, name := range usedPlugins {
			if c.Name == name {
				used = append(used, c)
			}
		}
	}
	return used
}

// place gives the node that a pod would go to; "" if none takes it. Where the scheduler would choose at random among the
// best, it is the first by name.
func (s *scheduler) place(ctx context.Context, pod *corev1.Pod, pods []*corev1.Pod, nodes []*corev1.Node) (string, error) {
	s.current.Snapshot = cache.NewSnapshot(pods, nodes)
	state := framework.NewCycleState()
	result, status, _ := s.framework.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		return "", statusError(status)
	}
	all, err := s.current.NodeInfos().List()
	if err != nil {
		return "", err
	}
	var feasible []fwk.NodeInfo
	for _, node := range all {
		if result != nil && !result.AllNodes() && !result.NodeNames.Has(node.Node().Name) {
			continue
		}
		status := s.framework.RunFilterPlugins(ctx, state, pod, node)
		if status.IsSuccess() {
			feasible = append(feasible, node)
		} else if err := statusError(status); err != nil {
			return "", err
		}
	}
	if len(feasible) == 0 {
		return "", nil
	}
	return s.best(ctx, state, pod, feasible)
}

func (s *scheduler) best(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, feasible []fwk.NodeInfo) (string, error) {
	if status := s.framework.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		return "", status.AsError()
	}
	scores, status := s.framework.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		return "", status.AsError()
	}
	best, most := "", int64(-1)
	for _, score := range scores {
		if score.TotalScore > most || score.TotalScore == most && score.Name < best {
			best, most = score.Name, score.TotalScore
		}
	}
	return best, nil
}

// statusError tells an error from "does not fit".
func statusError(status *fwk.Status) error {
	if status.Code() == fwk.Error {
		return status.AsError()
	}
	return nil
}
