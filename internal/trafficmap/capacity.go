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
	"fmt"
	"maps"
	"math/big"
	"slices"

	"gopkg.in/inf.v0"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// allocated is the number of replicas that the home may count: what placement admitted,
// unless the endpoint reports fewer. A negative report is no report.
func (h Home) allocated() int32 {
	if h.lowered() {
		return *h.Reported
	}
	return h.Admitted
}

// lowered tells whether the endpoint's report is what limits the home.
func (h Home) lowered() bool {
	return h.Reported != nil && *h.Reported >= 0 && *h.Reported < h.Admitted
}

// routable is the number of replicas that traffic may be sent to.
func (h Home) routable() int32 {
	return max(0, min(h.allocated(), h.Ready))
}

// gated tells whether the probe has taken the home out. No verdict never does.
func (h Home) gated() bool {
	return h.Probe != nil && h.Probe.Gated
}

// raw is the home's capacity in thousandths of a plain replica, before normalising.
func (h Home) raw() *big.Int {
	return new(big.Int).Mul(big.NewInt(int64(h.routable())), milli(h.Factor))
}

const milliScale = 3

// milli returns a factor in thousandths, rounded up so that no positive factor vanishes.
// A factor that is unset or not positive counts as 1. The arithmetic is exact, since the
// quantity's own conversion saturates.
func milli(factor *resource.Quantity) *big.Int {
	if factor == nil || factor.Sign() <= 0 {
		return big.NewInt(1000)
	}
	exact := factor.DeepCopy()
	return new(inf.Dec).Round(exact.AsDec(), milliScale, inf.RoundUp).UnscaledBig()
}

// capacity is the provenance that the entry shows.
func (h Home) capacity() *v1beta1.TrafficMapCapacity {
	c := &v1beta1.TrafficMapCapacity{
		Allocated:      h.allocated(),
		Ready:          h.Ready,
		Source:         v1beta1.CapacitySourceControlPlane,
		FallbackReason: h.FallbackReason,
	}
	if h.lowered() {
		c.Source = v1beta1.CapacitySourceEndpoint
	}
	if h.Factor != nil {
		factor := h.Factor.DeepCopy()
		c.Factor = &factor
	}
	if h.Reported != nil && *h.Reported >= 0 {
		reported := *h.Reported
		c.Reported = &reported
	}
	return c
}

// ValidateFactors refuses a capacity factor that is not positive. Of several the first
// by cluster name is reported, with OME's words.
func ValidateFactors(factors map[string]resource.Quantity) error {
	for _, cluster := range slices.Sorted(maps.Keys(factors)) {
		if factor := factors[cluster]; factor.Sign() <= 0 {
			return fmt.Errorf("spec.routing.capacityFactors[%q] must be positive, got %q", cluster, factor.String())
		}
	}
	return nil
}
