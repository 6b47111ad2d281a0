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

package trafficmap

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
	weights "github.com/evenkeel-io/evenkeel/internal/trafficmap"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
	"github.com/evenkeel-io/evenkeel/test/benchmark/programs"
)

func TestValidate(t *testing.T) {
	assert.NoError(t, options{shape{2000, 16}, 3}.validate())
	for name, o := range map[string]options{
		"no services": {shape{0, 16}, 3}, "one cluster": {shape{1, 1}, 3}, "no runs": {shape{1, 2}, 0},
	} {
		assert.ErrorContains(t, o.validate(), "at least 2", name)
	}
}

func TestTheTwoDrainsAreOfOneSize(t *testing.T) {
	s := shape{services: 1, clusters: 16}
	drain, err := drainPatch(s, drainID)
	require.NoError(t, err)
	bare, err := drainPatch(s, bareID)
	require.NoError(t, err)
	assert.Len(t, bare, len(drain))
	assert.NotEqual(t, drain, bare)
	assert.Contains(t, string(drain), s.drained())
	undrain, err := drainPatch(s, "")
	require.NoError(t, err)
	assert.JSONEq(t, `{"metadata":{"annotations":{"ome.io/traffic-drain":null}}}`, string(undrain))
}

func TestLog(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	l := newLog()
	written := func(subresource, service string, code int, done int64) harness.Request {
		return harness.Request{User: programs.ManagerUser, Verb: "update", Group: "ome.io", Resource: "trafficmaps", Subresource: subresource, Name: service, Code: code, Done: at(done)}
	}
	assert.Equal(t, 3, l.add([]harness.Request{
		written("", "a", 200, 5), written("status", "a", 409, 6), written("", "b", 200, 4),
		{User: "somebody", Verb: "patch", Group: "ome.io", Resource: "inferenceservices", Name: "a", Code: 200, Done: at(9)},
	}))
	assert.Equal(t, at(5), l.last, "what was refused and what others wrote do not count")
	assert.False(t, l.covers(2))
	l.add([]harness.Request{written("status", "b", 200, 7), written("status", "a", 200, 8)})
	assert.True(t, l.covers(2))
	assert.Equal(t, at(8), l.last)
	assert.Equal(t, at(5), l.lastWeights)
	assert.Equal(t, 5, l.writes())
	assert.Equal(t, map[string]int{"409 update trafficmaps.ome.io/status": 1}, l.refused)
}

// written is the map of a service as the controller would write it.
func written(s shape, drains trafficdrain.Drains) *ome.TrafficMap {
	isvc := service(3)
	isvc.Status.Placement = placement(s, 3)
	input, err := weights.ServiceInput(isvc, nil, weights.Defaults{})
	if err != nil {
		panic(err)
	}
	input.Drains = drains
	table := weights.Compute(input)
	tm := &ome.TrafficMap{Spec: table.Spec(isvc)}
	tm.Status.Conditions = table.Conditions(tm.Generation)
	return tm
}

func TestJudge(t *testing.T) {
	s := shape{services: 1, clusters: 16}
	drains := trafficdrain.Drains{{ID: drainID, Cluster: s.drained(), Reason: "r"}}
	assert.Empty(t, judge(written(s, nil), s, false))
	assert.Empty(t, judge(written(s, drains), s, true))

	assert.Contains(t, judge(written(s, nil), s, true), "should be held")
	assert.Contains(t, judge(written(s, drains), s, false), "should be held")
	assert.Contains(t, judge(written(shape{clusters: 15}, nil), s, false), "15 entries instead of 16")
	behind := written(s, drains)
	behind.Generation = 2
	assert.Contains(t, judge(behind, s, true), "for generation 2")
	other := trafficdrain.Drains{{ID: bareID, Cluster: s.drained(), Reason: "r"}}
	assert.Contains(t, judge(written(s, other), s, true), "should be held")
}

func TestSummary(t *testing.T) {
	c := summarize(shape{2000, 16}, []Run{
		{DrainSeconds: 30, PatchSeconds: 9, BareSeconds: 10, Ratio: 3, WritesPerService: 3.1, ManagerCPUSeconds: 5, ManagerPeakRSSMiB: 100},
		{DrainSeconds: 20, PatchSeconds: 8, BareSeconds: 20, Ratio: 1, WritesPerService: 3.3, ManagerCPUSeconds: 7, ManagerPeakRSSMiB: 300},
		{DrainSeconds: 50, PatchSeconds: 7, BareSeconds: 25, Ratio: 2, WritesPerService: 3.2, ManagerCPUSeconds: 6, ManagerPeakRSSMiB: 200},
	}, harness.Machine{})
	var table strings.Builder
	require.NoError(t, writeTable(&table, c))
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	require.Len(t, lines, 2)
	assert.Equal(t, []string{"2000", "16", "30.0", "8.0", "20.0", "2.00", "3.20", "6.0", "200"}, strings.Fields(lines[1]))
}
