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

package inferencecluster

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/evenkeel-io/evenkeel/internal/drain"
)

var leftDesc = prometheus.NewDesc("evenkeel_drain_replicas_left",
	"Replicas that must still leave a cluster that is being drained, by what they wait for; zero for each reason once it is drained.",
	[]string{"cluster", "reason"}, nil)

// gauges tells of every cluster that is being drained what the last look has found.
type gauges struct {
	mu     sync.Mutex
	drains map[string]map[string]int
}

func newGauges() (*gauges, error) {
	g := &gauges{drains: map[string]map[string]int{}}
	return g, metrics.Registry.Register(g)
}

func (g *gauges) set(cluster string, report *drain.Report) {
	byReason := map[string]int{}
	for _, reason := range drain.Reasons() {
		byReason[reason] = 0
	}
	for _, kind := range report.Kinds {
		byReason[kind.Reason] = kind.Count
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drains[cluster] = byReason
}

func (g *gauges) forget(cluster string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.drains, cluster)
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(ch chan<- *prometheus.Desc) { ch <- leftDesc }

// Collect implements prometheus.Collector.
func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for cluster, byReason := range g.drains {
		for reason, n := range byReason {
			ch <- prometheus.MustNewConstMetric(leftDesc, prometheus.GaugeValue, float64(n), cluster, reason)
		}
	}
}
