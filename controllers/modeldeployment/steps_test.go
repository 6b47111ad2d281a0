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

package modeldeployment

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// TestStepsAreToldOnce has each step of a move be new once, also for a process that finds it under way.
func TestStepsAreToldOnce(t *testing.T) {
	l := &stepLog{
		durations:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "steps"}, []string{"step"}),
		waits:        prometheus.NewCounterVec(prometheus.CounterOpts{Name: "waits"}, []string{"reason"}),
		byDeployment: map[types.NamespacedName]map[types.UID]stepSince{},
	}
	key := types.NamespacedName{Namespace: "team", Name: "chat"}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	observe := func(steps ...replicas.Step) []replicas.Step {
		at = at.Add(time.Second)
		return l.observe(logr.Discard(), key, steps, at)
	}
	waits := replicas.Step{UID: "a", Name: evenkeel.StepWaiting, Reason: evenkeel.LeavingBudget}
	loads := replicas.Step{UID: "a", Name: evenkeel.StepLoading, Reason: evenkeel.LeavingMoving}
	serves := replicas.Step{UID: "b", Name: evenkeel.StepServing, Written: true}
	assert.Equal(t, []replicas.Step{waits}, observe(waits, serves), "that one serves was told by the process before")
	assert.Empty(t, observe(waits, serves))
	assert.Equal(t, []replicas.Step{loads}, observe(loads, serves))
	loads.Written = true
	assert.Empty(t, observe(loads, serves))
	assert.Equal(t, 1, testutil.CollectAndCount(l.durations), "Waiting has ended")
	assert.InDelta(t, 1, testutil.ToFloat64(l.waits.WithLabelValues(evenkeel.LeavingBudget)), 0)
	assert.Empty(t, observe())
	assert.Empty(t, l.byDeployment)
}

// TestStepsAreMeasured has how long each step took, and each wait counted once, by its reason; that a move goes on is no wait.
func TestStepsAreMeasured(t *testing.T) {
	l := &stepLog{
		durations:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "steps", Buckets: []float64{5, 50}}, []string{"step"}),
		waits:        prometheus.NewCounterVec(prometheus.CounterOpts{Name: "waits"}, []string{"reason"}),
		byDeployment: map[types.NamespacedName]map[types.UID]stepSince{},
	}
	key := types.NamespacedName{Namespace: "team", Name: "chat"}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	observe := func(after time.Duration, steps ...replicas.Step) {
		at = at.Add(after)
		l.observe(logr.Discard(), key, steps, at)
	}
	budget := replicas.Step{UID: "a", Name: evenkeel.StepWaiting, Reason: evenkeel.LeavingBudget}
	paused := replicas.Step{UID: "a", Name: evenkeel.StepWaiting, Reason: evenkeel.LeavingPaused}
	loads := replicas.Step{UID: "a", Name: evenkeel.StepLoading, Reason: evenkeel.LeavingMoving, To: "west"}
	elsewhere := replicas.Step{UID: "a", Name: evenkeel.StepLoading, Reason: evenkeel.LeavingMoving, To: "north"}
	observe(0, budget)
	observe(10*time.Second, budget)
	observe(10*time.Second, paused)
	observe(time.Second, loads)
	observe(100*time.Second, elsewhere)
	require.NoError(t, testutil.CollectAndCompare(l.durations, strings.NewReader(`
# HELP steps 
# TYPE steps histogram
steps_bucket{step="Loading",le="5"} 0
steps_bucket{step="Loading",le="50"} 0
steps_bucket{step="Loading",le="+Inf"} 1
steps_sum{step="Loading"} 100
steps_count{step="Loading"} 1
steps_bucket{step="Waiting",le="5"} 1
steps_bucket{step="Waiting",le="50"} 2
steps_bucket{step="Waiting",le="+Inf"} 2
steps_sum{step="Waiting"} 21
steps_count{step="Waiting"} 2
`)))
	require.NoError(t, testutil.CollectAndCompare(l.waits, strings.NewReader(`
# HELP waits 
# TYPE waits counter
waits{reason="Paused"} 1
waits{reason="WaitingForBudget"} 1
`)))
	l.forget(key)
	assert.Empty(t, l.byDeployment)
}

func TestStepNote(t *testing.T) {
	step := replicas.Step{From: "east", Cause: evenkeel.CauseTaint}
	assert.Equal(t, "from east: UntoleratedTaint", stepNote(step))
	step.To, step.Actor, step.WaitingFor = "west", "kubectl", "it"
	assert.Equal(t, "from east to west: UntoleratedTaint (asked for by kubectl); waits for it", stepNote(step))
}
