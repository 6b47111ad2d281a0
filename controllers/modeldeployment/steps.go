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
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// stepLog writes one line into the log for each step of a move, and measures how long steps take. It remembers in memory
// where each move is; a manager that starts anew begins its measurements anew, and writes the present step once more.
type stepLog struct {
	durations *prometheus.HistogramVec
	waits     *prometheus.CounterVec

	mu           sync.Mutex
	byDeployment map[types.NamespacedName]map[types.UID]stepSince
}

type stepSince struct {
	step  replicas.Step
	since time.Time
}

func newStepLog() (*stepLog, error) {
	l := &stepLog{
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "evenkeel_move_step_duration_seconds",
			Help:    "How long steps of moves took, by step.",
			Buckets: []float64{0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600},
		}, []string{"step"}),
		waits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_move_waits_total",
			Help: "Times that a replica that must leave began to wait, by reason: WaitingForBudget, NothingFits, Paused, FailingToServe.",
		}, []string{"reason"}),
		byDeployment: map[types.NamespacedName]map[types.UID]stepSince{},
	}
	for _, c := range []prometheus.Collector{l.durations, l.waits} {
		if err := metrics.Registry.Register(c); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// observe notes where the moves of a deployment are, and gives the steps that are new. One that the placement's status
// told of before this process began is not.
func (l *stepLog) observe(logger logr.Logger, key types.NamespacedName, steps []replicas.Step, now time.Time) (begun []replicas.Step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.byDeployment[key]
	if len(steps) == 0 {
		delete(l.byDeployment, key)
		return nil
	}
	after := make(map[types.UID]stepSince, len(steps))
	for _, step := range steps {
		old, known := before[step.UID]
		if known && old.step.Name == step.Name && old.step.Reason == step.Reason && old.step.To == step.To {
			after[step.UID] = old
			continue
		}
		after[step.UID] = stepSince{step: step, since: now}
		if known {
			l.durations.WithLabelValues(old.step.Name).Observe(now.Sub(old.since).Seconds())
		}
		if step.Reason != "" && step.Reason != evenkeel.LeavingMoving {
			l.waits.WithLabelValues(step.Reason).Inc()
		}
		logger.Info("Move", "placement", step.Placement, "step", step.Name, "from", step.From, "to", step.To,
			"cause", step.Cause, "actor", step.Actor, "reason", step.Reason, "waitingFor", step.WaitingFor)
		if known || !step.Written {
			begun = append(begun, step)
		}
	}
	l.byDeployment[key] = after
	return begun
}

func (l *stepLog) forget(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byDeployment, key)
}
