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

package plugins

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	inTree "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	spconfig "sigs.k8s.io/scheduler-plugins/apis/config"
	"sigs.k8s.io/scheduler-plugins/pkg/capacityscheduling"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
	"github.com/evenkeel-io/evenkeel/plugins/internal/testhub"
	"github.com/evenkeel-io/evenkeel/plugins/names"
)

type writer struct{ assignments []evenkeel.Assignment }

func (w *writer) Assign(_ context.Context, _ *v1.Pod, assignment evenkeel.Assignment) error {
	w.assignments = append(w.assignments, assignment)
	return nil
}

// profile is a scheduler's configuration as a user writes it, with Evenkeel's plugins and some settings for them.
func profile(pluginConfig string) string {
	return `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: evenkeel
  plugins:
    multiPoint:
      disabled:
      - name: "*"
      enabled:
      - name: PrioritySort
      - name: ClusterReady
      - name: PoolFit
      - name: Rank
      - name: PlacementBinder
      - name: Preemption
    preFilter:
      enabled:
      - name: NodeAffinity
    filter:
      enabled:
      - name: NodeName
      - name: TaintToleration
      - name: NodeAffinity
` + pluginConfig
}

func taint(key string) modelplane.Taint {
	return modelplane.Taint{Key: key, Effect: modelplane.TaintEffectNoSchedule}
}

func decode(t *testing.T, text string) schedulerconfig.KubeSchedulerProfile {
	t.Helper()
	object, _, err := configscheme.Codecs.UniversalDecoder().Decode([]byte(text), nil, nil)
	require.NoError(t, err)
	return object.(*schedulerconfig.KubeSchedulerConfiguration).Profiles[0]
}

type hub struct {
	snapshot *schedulercache.Snapshot
	writer   *writer
	registry frameworkruntime.Registry
}

func newHub(t *testing.T, pods []*v1.Pod, nodes []*v1.Node) *hub {
	t.Helper()
	metrics.Register()
	replicas, err := testhub.ReplicaInformer()
	require.NoError(t, err)
	h := &hub{snapshot: schedulercache.NewSnapshot(pods, nodes), writer: &writer{}}
	h.registry = Registry(Dependencies{Replicas: replicas, Writer: h.writer})
	require.NoError(t, h.registry.Merge(inTree.NewInTreeRegistry()))
	return h
}

func (h *hub) framework(t *testing.T, p schedulerconfig.KubeSchedulerProfile) (framework.Framework, error) {
	t.Helper()
	return frameworkruntime.NewFramework(t.Context(), h.registry, &p,
		frameworkruntime.WithSnapshotSharedLister(h.snapshot),
		frameworkruntime.WithClientSet(fake.NewClientset()),
		frameworkruntime.WithPodNominator(noNominations{}),
		frameworkruntime.WithInformerFactory(informers.NewSharedInformerFactory(fake.NewClientset(), 0)))
}

type noNominations struct{ fwk.PodNominator }

func (noNominations) NominatedPodsForNode(string) []fwk.PodInfo { return nil }

// One placement through every extension point of a profile, as the scheduler calls them.
func TestProfileRuns(t *testing.T) {
	tainted := testhub.Cluster("a-tainted", testhub.Pool("h100", 4))
	tainted.Spec.Taints = append(tainted.Spec.Taints, taint("maintenance"))
	unready := testhub.Cluster("b-unready", testhub.Pool("h100", 4))
	unready.Status.Conditions = nil
	nodes := testhub.Nodes(tainted, unready, testhub.Cluster("c-used", testhub.Pool("h100", 4)),
		testhub.Cluster("d-small", testhub.Pool("h100", 1)), testhub.Cluster("e-empty", testhub.Pool("h100", 4)))
	used := testhub.Pods(testhub.Placement("chat", 0, testhub.On("c-used", 0, "h100")))

	h := newHub(t, used, nodes)
	f, err := h.framework(t, decode(t, profile("")))
	require.NoError(t, err)

	pod := virtual.PodFor(testhub.Placement("chat", 1, testhub.Engines(testhub.Engine("main", 2, "h100"))))
	state := framework.NewCycleState()
	_, status, _ := f.RunPreFilterPlugins(t.Context(), state, pod)
	require.True(t, status.IsSuccess(), status.Message())

	all, err := h.snapshot.List()
	require.NoError(t, err)
	var feasible []fwk.NodeInfo
	refused := map[string]string{}
	for _, nodeInfo := range all {
		status := f.RunFilterPluginsWithNominatedPods(t.Context(), state, pod, nodeInfo)
		if status.IsSuccess() {
			feasible = append(feasible, nodeInfo)
			continue
		}
		refused[nodeInfo.Node().Name] = status.Plugin()
	}
	assert.Equal(t, map[string]string{"a-tainted": "TaintToleration", "b-unready": names.ClusterReady, "d-small": names.PoolFit}, refused)

	_, status = f.RunPostFilterPlugins(t.Context(), state, pod, framework.NewDefaultNodeToStatus())
	assert.Equal(t, "Best: d-small/h100 needs 2 nodes, has 1 in all (engine main).", status.Message())

	require.True(t, f.RunPreScorePlugins(t.Context(), state, pod, feasible).IsSuccess())
	scores, status := f.RunScorePlugins(t.Context(), state, pod, feasible)
	require.True(t, status.IsSuccess(), status.Message())
	totals := map[string]int64{}
	for _, score := range scores {
		totals[score.Name] = score.TotalScore
	}
	assert.Equal(t, map[string]int64{"c-used": 0, "e-empty": fwk.MaxNodeScore}, totals)

	require.True(t, f.RunReservePluginsReserve(t.Context(), state, pod, "e-empty").IsSuccess())
	require.True(t, f.RunBindPlugins(t.Context(), state, pod, "e-empty").IsSuccess())
	require.Len(t, h.writer.assignments, 1)
	assert.Equal(t, "e-empty", h.writer.assignments[0].ClusterName)
}

// Two profiles of one scheduler place on the same nodes.
func TestProfilesShareTheLedger(t *testing.T) {
	h := newHub(t, nil, testhub.Nodes(testhub.Cluster("east", testhub.Pool("h100", 1))))
	p := decode(t, profile(""))
	first, err := h.framework(t, p)
	require.NoError(t, err)
	p.SchedulerName = "other"
	second, err := h.framework(t, p)
	require.NoError(t, err)

	pod := virtual.PodFor(testhub.Placement("chat", 0))
	state := framework.NewCycleState()
	_, status, _ := first.RunPreFilterPlugins(t.Context(), state, pod)
	require.True(t, status.IsSuccess(), status.Message())
	require.True(t, first.RunReservePluginsReserve(t.Context(), state, pod, "east").IsSuccess())

	pod.Spec.NodeName = "east"
	info, err := framework.NewPodInfo(pod)
	require.NoError(t, err)
	node, err := h.snapshot.Get("east")
	require.NoError(t, err)
	node.AddPodInfo(info)
	state = framework.NewCycleState()
	waiting := virtual.PodFor(testhub.Placement("chat", 1))
	_, status, _ = second.RunPreFilterPlugins(t.Context(), state, waiting)
	require.True(t, status.IsSuccess(), status.Message())
	assert.Equal(t, names.PoolFit, second.RunFilterPlugins(t.Context(), state, waiting, node).Plugin())
}

func TestTwoRegistriesInOneProcess(t *testing.T) {
	for range 2 {
		_, err := newHub(t, nil, nil).framework(t, decode(t, profile("")))
		require.NoError(t, err)
	}
}

func TestPluginConfig(t *testing.T) {
	tests := map[string]struct {
		config  string
		wantErr []string
	}{
		"of Preemption": {config: `
  pluginConfig:
  - name: Preemption
    args:
      apiVersion: config.evenkeel.io/v1alpha1
      kind: PreemptionArgs
      maxNamedClusters: 1
`},
		"of Preemption, in short": {config: `
  pluginConfig:
  - name: Preemption
    args:
      maxNamedClusters: 1
`},
		"with a field that nobody knows": {config: `
  pluginConfig:
  - name: Preemption
    args:
      maxNamed: 1
`, wantErr: []string{"Preemption", `unknown field "maxNamed"`}},
		"of a plugin that has no arguments": {config: `
  pluginConfig:
  - name: PoolFit
    args:
      free: true
`, wantErr: []string{"PoolFit takes no arguments", "pluginConfig"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := newHub(t, nil, nil).framework(t, decode(t, profile(tc.config)))
			if len(tc.wantErr) == 0 {
				require.NoError(t, err)
				return
			}
			for _, part := range tc.wantErr {
				require.ErrorContains(t, err, part)
			}
		})
	}
}

func TestCapacityScheduling(t *testing.T) {
	h := newHub(t, nil, nil)
	require.Contains(t, h.registry, capacityscheduling.Name)

	t.Run("has no arguments", func(t *testing.T) {
		p := decode(t, profile(`
  pluginConfig:
  - name: CapacityScheduling
    args:
      quota: 1
`))
		p.Plugins.MultiPoint.Enabled = append(p.Plugins.MultiPoint.Enabled, schedulerconfig.Plugin{Name: capacityscheduling.Name})
		_, err := h.framework(t, p)
		require.ErrorContains(t, err, "CapacityScheduling takes no arguments")
	})
	t.Run("arguments of its project are decoded strictly", func(t *testing.T) {
		p := decode(t, profile(`
  pluginConfig:
  - name: Coscheduling
    args:
      permitWaitingTimeSeconds: 7
`))
		var args *spconfig.CoschedulingArgs
		for _, config := range p.PluginConfig {
			if config.Name == "Coscheduling" {
				args = config.Args.(*spconfig.CoschedulingArgs)
			}
		}
		require.NotNil(t, args)
		assert.Equal(t, int64(7), args.PermitWaitingTimeSeconds)

		_, _, err := configscheme.Codecs.UniversalDecoder().Decode([]byte(profile(`
  pluginConfig:
  - name: Coscheduling
    args:
      permitWaiting: 7
`)), nil, nil)
		require.ErrorContains(t, err, `unknown field "permitWaiting"`)
	})
}

// None of the plugins may switch on the scheduler's batching, which would place several replicas by one answer.
func TestNoPluginSigns(t *testing.T) {
	h := newHub(t, nil, nil)
	f, err := h.framework(t, decode(t, profile("")))
	require.NoError(t, err)
	for name := range Registry(Dependencies{}) {
		if name == capacityscheduling.Name {
			continue
		}
		pl, err := h.registry[name](t.Context(), nil, f)
		require.NoError(t, err)
		assert.Equal(t, name, pl.Name())
		_, signs := pl.(fwk.SignPlugin)
		assert.False(t, signs, name)
	}
}
