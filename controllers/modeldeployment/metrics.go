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

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

var (
	leavingDesc = prometheus.NewDesc("evenkeel_replicas_leaving",
		"Replicas that must leave a cluster and are still there.", []string{"cluster"}, nil)
	unplaceableDesc = prometheus.NewDesc("evenkeel_replicas_unplaceable",
		"Wanted replicas that have no destination.", []string{"namespace"}, nil)
)

// gauges sums up over all deployments what the last look at each has found, and counts moves.
type gauges struct {
	moves *prometheus.CounterVec

	mu           sync.Mutex
	byDeployment map[types.NamespacedName]figures
}

type figures struct {
	leaving     map[string]int
	unplaceable int
}

func newGauges() (*gauges, error) {
	g := &gauges{
		moves: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_replica_moves_total",
			Help: "Moves of replicas that have ended, by cause and result: moved, unplaceable for replicas that left with nowhere to go, or rolled_back for replacements that did not serve.",
		}, []string{"cause", "result"}),
		byDeployment: map[types.NamespacedName]figures{},
	}
	for _, c := range []prometheus.Collector{g, g.moves} {
		if err := metrics.Registry.Register(c); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g *gauges) set(key types.NamespacedName, result *replicas.Result) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(result.Leaving) == 0 && result.Unplaceable == 0 {
		delete(g.byDeployment, key)
		return
	}
	g.byDeployment[key] = figures{leaving: result.Leaving, unplaceable: result.Unplaceable}
}

func (g *gauges) forget(key types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.byDeployment, key)
}

// observe counts the events that end a move. All come about the deployment, some about the placement as well.
func (g *gauges) observe(e replicas.Event) {
	if e.Placement != nil {
		return
	}
	switch e.Reason {
	case replicas.EventMoved:
		g.moves.WithLabelValues(e.Cause, "moved").Inc()
	case replicas.EventUnplaceable:
		g.moves.WithLabelValues(e.Cause, "unplaceable").Inc()
	case replicas.EventRolledBack:
		g.moves.WithLabelValues(e.Cause, "rolled_back").Inc()
	}
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	ch <- leavingDesc
	ch <- unplaceableDesc
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	leaving, unplaceable := map[string]int{}, map[string]int{}
	g.mu.Lock()
	for key, f := range g.byDeployment {
		for cluster, n := range f.leaving {
			leaving[cluster] += n
		}
		unplaceable[key.Namespace] += f.unplaceable
	}
	g.mu.Unlock()
	for cluster, n := range leaving {
		ch <- prometheus.MustNewConstMetric(leavingDesc, prometheus.GaugeValue, float64(n), cluster)
	}
	for namespace, n := range unplaceable {
		ch <- prometheus.MustNewConstMetric(unplaceableDesc, prometheus.GaugeValue, float64(n), namespace)
	}
}
