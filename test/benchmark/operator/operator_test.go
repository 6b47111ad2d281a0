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

package operator

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/simulation"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

func TestValidate(t *testing.T) {
	asShipped := options{shape{clusters: 1000, deployments: 1000, replicas: 5, drained: 50}, 5}
	require.NoError(t, asShipped.validate())
	assert.Greater(t, asShipped.room()*(asShipped.clusters-1), asShipped.all(), "what is drained must find a place")
	for said, change := range map[string]func(*options){
		"at least 2":            func(o *options) { o.clusters = 1 },
		"at most 10":            func(o *options) { o.replicas = 11 },
		"-operator-deployments": func(o *options) { o.drained = 1001 },
		"-runs at least 1":      func(o *options) { o.runs = 0 },
	} {
		o := asShipped
		change(&o)
		assert.ErrorContains(t, o.validate(), said)
	}
}

func TestChecks(t *testing.T) {
	s := shape{clusters: 2, drained: 1}
	plan := func(outcomes ...simulation.Outcome) []byte {
		p := &simulation.Plan{}
		for _, o := range outcomes {
			p.Replicas = append(p.Replicas, simulation.Replica{Outcome: o})
		}
		content, err := json.Marshal(p)
		require.NoError(t, err)
		return content
	}
	assert.NoError(t, checkPlan(plan(simulation.OutcomeMoves), s))
	assert.ErrorContains(t, checkPlan(plan(simulation.OutcomeDeleted), s), "0 of 1 replicas move, not 1")
	assert.ErrorContains(t, checkPlan(plan(simulation.OutcomeMoves, simulation.OutcomeHeld), s), "1 of 2")
	assert.ErrorContains(t, checkPlan([]byte("error"), s), "it is no plan")
	assert.NoError(t, checkClusters([]byte("NAME\na\nb\n"), s))
	assert.ErrorContains(t, checkClusters([]byte("NAME\na\n"), s), "it has 2 lines")
}

func TestResult(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	run := runOf(&harness.Ran{Started: at(0), Ended: at(3), Usage: controlplane.Usage{PeakRSSBytes: 300 << 20, CPU: 2 * time.Second}},
		[]harness.Request{{Done: at(0.5)}, {Done: at(1)}, {Done: at(0.2)}})
	assert.Equal(t, Run{Seconds: 3, AfterSeconds: 2, CPUSeconds: 2, PeakRSSMiB: 300, Requests: 3}, run)

	c := &Case{Command: "plan drain", Clusters: 1000, Replicas: 5000, Runs: []Run{run, {Seconds: 1}, {Seconds: 5, AfterSeconds: 3, PeakRSSMiB: 400}}}
	c.summarize()
	assert.Equal(t, []float64{3, 2, 300}, []float64{c.Seconds, c.AfterSeconds, c.PeakRSSMiB})
	out := &bytes.Buffer{}
	require.NoError(t, writeTable(out, []*Case{c}))
	assert.Contains(t, out.String(), "after reading s")
	assert.Regexp(t, `plan drain +1000 +5000 +3\.00 +2\.00 +0\.00 +300 +3`, out.String())
}
