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

package rank

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/internal/testhub"
)

// judge is a filter that accepts some clusters and remembers which it was asked about.
type judge struct {
	verdicts map[string]fwk.Code
	asked    []string
}

func (j *judge) Name() string { return "Judge" }

func (j *judge) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	name := nodeInfo.Node().Name
	j.asked = append(j.asked, name)
	return fwk.NewStatus(j.verdicts[name])
}

// nobody is a nominator that knows of no nominated Pods.
type nobody struct{ fwk.PodNominator }

func (nobody) NominatedPodsForNode(string) []fwk.PodInfo { return nil }

type extender struct{ fwk.Extender }

func profile(t *testing.T, j *judge, nodes []*v1.Node, pods []*v1.Pod, options ...frameworkruntime.Option) framework.Framework {
	t.Helper()
	metrics.Register() // or a framework cannot be made
	enabled := func(names ...string) (set config.PluginSet) {
		for _, name := range names {
			set.Enabled = append(set.Enabled, config.Plugin{Name: name, Weight: 1})
		}
		return set
	}
	registry := frameworkruntime.Registry{
		Name:    New,
		"Judge": func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return j, nil },
		"Any":   func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return anything{}, nil },
	}
	f, err := frameworkruntime.NewFramework(t.Context(), registry, &config.KubeSchedulerProfile{Plugins: &config.Plugins{
		QueueSort: enabled("Any"), Bind: enabled("Any"),
		PreFilter: enabled(Name), Filter: enabled("Judge"), PreScore: enabled(Name), Score: enabled(Name),
	}}, append(options, frameworkruntime.WithSnapshotSharedLister(schedulercache.NewSnapshot(pods, nodes)), frameworkruntime.WithPodNominator(nobody{}))...)
	require.NoError(t, err)
	return f
}

// anything stands where a profile must have a plugin.
type anything struct{}

func (anything) Name() string                                                      { return "Any" }
func (anything) Less(_, _ fwk.QueuedPodInfo) bool                                  { return false }
func (anything) Bind(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status { return nil }

func TestBestFirst(t *testing.T) {
	const refused, broken = fwk.Unschedulable, fwk.Error
	extended := frameworkruntime.WithExtenders([]fwk.Extender{extender{}})
	tests := map[string]struct {
		placements []*evenkeel.ReplicaPlacement
		verdicts   map[string]fwk.Code
		options    []frameworkruntime.Option
		// want is the cluster that the cycle is narrowed to, empty for none.
		want  string
		asked []string
	}{
		"the best fits":                       {want: "east", asked: []string{"east"}},
		"the best by load fits":               {placements: []*evenkeel.ReplicaPlacement{on("east", 0)}, want: "north", asked: []string{"north"}},
		"the best refuses":                    {verdicts: map[string]fwk.Code{"east": refused}, want: "north", asked: []string{"east", "north"}},
		"all but the worst refuse":            {placements: []*evenkeel.ReplicaPlacement{on("east", 0), on("east", 1)}, verdicts: map[string]fwk.Code{"north": refused, "west": refused}, want: "east", asked: []string{"north", "west", "east"}},
		"all refuse: the scheduler asks":      {verdicts: map[string]fwk.Code{"east": refused, "north": refused, "west": refused}, asked: []string{"east", "north", "west"}},
		"a filter fails: the scheduler asks":  {verdicts: map[string]fwk.Code{"east": broken}, asked: []string{"east"}},
		"an extender has a say: nobody asked": {options: []frameworkruntime.Option{extended}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			nodes := testhub.Nodes(testhub.Cluster("west"), testhub.Cluster("east"), testhub.Cluster("north"))
			j := &judge{verdicts: tc.verdicts}
			f := profile(t, j, nodes, testhub.Pods(tc.placements...), tc.options...)

			result, status, _ := f.RunPreFilterPlugins(t.Context(), framework.NewCycleState(), virtual.PodFor(testhub.Placement("chat", 9)))

			require.True(t, status.IsSuccess(), status.Message())
			assert.Equal(t, tc.asked, j.asked)
			if tc.want == "" {
				assert.True(t, result.AllNodes())
				return
			}
			assert.Equal(t, sets.New(tc.want), result.NodeNames)
		})
	}
}

// Most of a large fleet being full, the scheduler asks the rest of it side by side.
func TestBestFirstGivesUp(t *testing.T) {
	var nodes []*v1.Node
	j := &judge{verdicts: map[string]fwk.Code{}}
	for i := range 2 * maxTries {
		name := fmt.Sprintf("cluster-%04d", i)
		nodes = append(nodes, virtual.NodeFor(testhub.Cluster(name)))
		if i < maxTries {
			j.verdicts[name] = fwk.Unschedulable
		}
	}
	f := profile(t, j, nodes, nil)
	result, status, _ := f.RunPreFilterPlugins(t.Context(), framework.NewCycleState(), virtual.PodFor(testhub.Placement("chat", 9)))
	require.True(t, status.IsSuccess(), status.Message())
	assert.True(t, result.AllNodes())
	assert.Len(t, j.asked, maxTries)
}
