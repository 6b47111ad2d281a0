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

package workloadcluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/utils/ptr"
)

// ProbeInterval is how often the prober looks.
const ProbeInterval = 50 * time.Millisecond

// Sample is one look: how many Ready endpoints each Service has, in the order of the prober's Services.
type Sample struct {
	At    time.Time
	Ready []int
}

// Prober records whether Services have a Ready endpoint, as a proxy that watches EndpointSlices would see it.
type Prober struct {
	services []types.NamespacedName
	lister   discoverylisters.EndpointSliceLister
	cancel   context.CancelFunc
	stopped  sync.WaitGroup

	mu      sync.Mutex
	samples []Sample
}

// Probe starts a prober, which must be stopped.
func (c *Cluster) Probe(ctx context.Context, services ...types.NamespacedName) (*Prober, error) {
	factory := informers.NewSharedInformerFactory(c.Kube, 0)
	running, cancel := context.WithCancel(ctx)
	p := &Prober{services: services, lister: factory.Discovery().V1().EndpointSlices().Lister(), cancel: cancel}
	factory.Start(running.Done())
	for kind, synced := range factory.WaitForCacheSync(running.Done()) {
		if !synced {
			cancel()
			return nil, fmt.Errorf("probe: cannot watch %s", kind)
		}
	}
	p.stopped.Go(func() {
		defer factory.Shutdown()
		ticker := time.NewTicker(ProbeInterval)
		defer ticker.Stop()
		for {
			p.look()
			select {
			case <-running.Done():
				return
			case <-ticker.C:
			}
		}
	})
	return p, nil
}

func (p *Prober) look() {
	sample := Sample{At: time.Now(), Ready: make([]int, len(p.services))}
	for i, service := range p.services {
		slices, err := p.lister.EndpointSlices(service.Namespace).List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service.Name}))
		if err != nil {
			continue // a lister in memory does not fail
		}
		for _, slice := range slices {
			for j := range slice.Endpoints {
				if ptr.Deref(slice.Endpoints[j].Conditions.Ready, true) {
					sample.Ready[i]++
				}
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.samples = append(p.samples, sample)
}

// Stop ends the probing and gives all samples, in order.
func (p *Prober) Stop() []Sample {
	p.cancel()
	p.stopped.Wait()
	return p.Samples()
}

// Samples gives those that were taken until now.
func (p *Prober) Samples() []Sample {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Sample(nil), p.samples...)
}

// Down counts, for each Service, the samples without a Ready endpoint.
func Down(samples []Sample) []int {
	if len(samples) == 0 {
		return nil
	}
	down := make([]int, len(samples[0].Ready))
	for i := range samples {
		for j, ready := range samples[i].Ready {
			if ready == 0 {
				down[j]++
			}
		}
	}
	return down
}
