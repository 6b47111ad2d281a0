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

package placement

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func TestRequirementsOf(t *testing.T) {
	withoutCount := askGPU(80)
	withoutCount.Count = nil
	strayBlock := leader(askGPU(80))
	strayBlock.Worker = &modelplane.WorkerGroup{Nodes: 7}
	engines := []modelplane.Engine{
		single("alone", withoutCount),
		copies(3, engineOf("gang", leader(), workers(4, ask("gpu", 2, "true")))),
		engineOf("small", strayBlock, memberOf(modelplane.MemberRoleWorker, askGPU(80))),
		copies(-1, engineOf("bad", workers(-5))),
	}
	got := RequirementsOf(engines)
	assert.Equal(t, []evenkeel.EngineRequirements{
		{Name: "alone", Copies: 1, Members: []evenkeel.MemberRequirements{
			{Role: modelplane.MemberRoleStandalone, Nodes: 1, Devices: []modelplane.DeviceRequest{askGPU(80)}},
		}},
		{Name: "gang", Copies: 3, Members: []evenkeel.MemberRequirements{
			{Role: modelplane.MemberRoleLeader, Nodes: 1},
			{Role: modelplane.MemberRoleWorker, Nodes: 4, Devices: []modelplane.DeviceRequest{ask("gpu", 2, "true")}},
		}},
		{Name: "small", Copies: 1, Members: []evenkeel.MemberRequirements{
			{Role: modelplane.MemberRoleLeader, Nodes: 1, Devices: []modelplane.DeviceRequest{askGPU(80)}},
			{Role: modelplane.MemberRoleWorker, Nodes: 1, Devices: []modelplane.DeviceRequest{askGPU(80)}},
		}},
		{Name: "bad", Copies: 1, Members: []evenkeel.MemberRequirements{{Role: modelplane.MemberRoleWorker, Nodes: 1}}},
	}, got)

	got[1].Members[1].Devices[0].Selectors[0].CEL = "false"
	*got[1].Members[1].Devices[0].Count = 9
	assert.Equal(t, ask("gpu", 2, "true"), engines[1].Members[1].NodeSelector.Devices[0], "the template is not shared")
	assert.Empty(t, RequirementsOf(nil))
}

func TestSelectors(t *testing.T) {
	sel := func(pairs ...string) *modelplane.LabelSelector {
		labels := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			labels[pairs[i]] = pairs[i+1]
		}
		return &modelplane.LabelSelector{MatchLabels: labels}
	}
	assert.Equal(t, sel("a", "1", "b", "3", "c", "4"), MergeSelectors(sel("a", "1", "b", "2"), sel("b", "3", "c", "4")), "W9: the cache wins")
	assert.Equal(t, sel("a", "1"), MergeSelectors(sel("a", "1"), nil))
	assert.Equal(t, sel("a", "1"), MergeSelectors(nil, sel("a", "1")))
	assert.Nil(t, MergeSelectors(nil, nil))
	assert.Nil(t, MergeSelectors(&modelplane.LabelSelector{}, nil))

	labels := map[string]string{"a": "1", "b": ""}
	assert.True(t, SelectorMatches(nil, labels))
	assert.True(t, SelectorMatches(sel(), nil))
	assert.True(t, SelectorMatches(sel("a", "1"), labels))
	assert.True(t, SelectorMatches(sel("b", ""), labels))
	assert.False(t, SelectorMatches(sel("a", "2"), labels))
	assert.False(t, SelectorMatches(sel("a", "1", "c", ""), labels), "a missing label is not an empty one")
}

func TestNodesUpperBound(t *testing.T) {
	engines := RequirementsOf([]modelplane.Engine{
		copies(3, engineOf("gang", leader(), workers(4, askGPU(80)))),
		single("alone", askGPU(80)),
	})
	assert.EqualValues(t, 3*4+1, NodesUpperBound(engines))
	assert.EqualValues(t, 0, NodesUpperBound(nil))

	huge := evenkeel.MemberRequirements{Nodes: math.MaxInt32, Devices: []modelplane.DeviceRequest{{Count: ptr.To[int64](1)}}}
	overflow := []evenkeel.EngineRequirements{{Copies: math.MaxInt32, Members: []evenkeel.MemberRequirements{huge, huge, huge}}}
	assert.EqualValues(t, math.MaxInt64, NodesUpperBound(overflow), "it does not wrap around")
}
