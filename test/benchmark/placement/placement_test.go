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
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// optionsOf parses the benchmark's flags.
func optionsOf(t *testing.T, args ...string) options {
	t.Helper()
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	var opts options
	opts.addFlags(flags)
	require.NoError(t, flags.Parse(args))
	return opts
}

func TestShapesByDefault(t *testing.T) {
	shapes, err := optionsOf(t).shapes()
	require.NoError(t, err)
	assert.Equal(t, []shape{
		{ModeLive, 100, 2000}, {ModeLive, 1000, 2000},
		{ModeQueued, 100, 2000}, {ModeQueued, 1000, 2000},
	}, shapes)
}

func TestShapesRefuse(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a mode":            {[]string{"-placement-modes=live,dead"}, `"dead" is none of [live queued]`},
		"no clusters":       {[]string{"-placement-clusters=0"}, `"0" is not a positive number`},
		"clusters in words": {[]string{"-placement-clusters=100,many"}, `"many" is not a positive number`},
		"no placements":     {[]string{"-placement-placements=0"}, "must be at least 1"},
		"no runs":           {[]string{"-placement-runs=0"}, "must be at least 1"},
		"too little room":   {[]string{"-placement-clusters=20"}, "2000 placements want 1340 h100 nodes, and 20 clusters have 480"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := optionsOf(t, tc.args...).shapes()
			assert.ErrorContains(t, err, tc.want)
		})
	}
}

func TestReplicasAreTheSameOnBothSides(t *testing.T) {
	names := map[string]bool{}
	for i := range 200 {
		r := replicaAt(i)
		names[r.name()] = true
		fromPod := landedPod(pod(r))
		fromPlacement, err := landedPlacement(replicaPlacement(r))
		require.NoError(t, err)
		fromPlacement.pool = r.kind.pool // an assignment names it
		assert.Equal(t, fromPod, fromPlacement)
	}
	assert.Len(t, names, 200, "no name may come twice")
}

func TestLandedPlacement(t *testing.T) {
	assigned := func() *evenkeel.ReplicaPlacement {
		p := replicaPlacement(replicaAt(0))
		p.Status.Assignment = &evenkeel.Assignment{ClusterName: "c", Index: 2, Engines: []evenkeel.EngineAssignment{
			{Name: "main", Members: []evenkeel.MemberAssignment{{NodePoolName: "h100"}}},
		}}
		p.Status.Conditions = append(p.Status.Conditions, condition(evenkeel.ConditionScheduled, evenkeel.ReasonScheduled))
		return p
	}
	l, err := landedPlacement(assigned())
	require.NoError(t, err)
	assert.Equal(t, landed{name: "model-0000-0-1", deployment: "model-0000", cluster: "c", pool: "h100", index: 2}, l)

	p := assigned()
	p.Status.Conditions = nil
	_, err = landedPlacement(p)
	assert.ErrorContains(t, err, "its condition Scheduled is not True")

	p = assigned()
	p.Status.Assignment.Engines = nil
	_, err = landedPlacement(p)
	assert.ErrorContains(t, err, "one engine of one member")
}

func TestBothSidesGetTheSameFleet(t *testing.T) {
	for i := range 3 {
		n, c := node(i), inferenceCluster(i)
		assert.Equal(t, n.Name, c.Name)
		for p, k := range kinds {
			quantity := n.Status.Allocatable[extendedResource(k)]
			assert.Equal(t, quantity.Value(), c.Status.GPUPools[p].Nodes)
		}
		assert.Empty(t, n.Spec.Taints)
		assert.Empty(t, c.Spec.Taints)
	}
}
