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

import "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"

// ZeroCause is why an entry has weight 0.
type ZeroCause string

const (
	// NotZero: the entry has a positive weight.
	NotZero ZeroCause = ""
	// ZeroByDrain: drains hold it; see its drainRefs.
	ZeroByDrain ZeroCause = "Drained"
	// ZeroUnready: no replica is ready.
	ZeroUnready ZeroCause = "Unready"
	// ZeroReported: the endpoint says that it can serve nothing.
	ZeroReported ZeroCause = "ReportedZero"
	// ZeroUnadmitted: placement admitted no replica.
	ZeroUnadmitted ZeroCause = "NotAdmitted"
	// ZeroByProbe: the health probe has taken it out.
	ZeroByProbe ZeroCause = "ProbeFailed"
	// ZeroByPlan: the placement plan withdraws it; nothing on the entry shows that.
	ZeroByPlan ZeroCause = "PlanDrain"
)

// ZeroCauseOf finds the cause by the order in which OME documents them, so the first one
// that applies is the one to mend first.
func ZeroCauseOf(e v1beta1.TrafficMapEntry) ZeroCause {
	var c v1beta1.TrafficMapCapacity
	if e.Capacity != nil {
		c = *e.Capacity
	}
	switch {
	case e.Weight > 0:
		return NotZero
	case len(e.DrainRefs) > 0:
		return ZeroByDrain
	case c.Ready <= 0 && !e.Healthy:
		return ZeroUnready
	case c.Allocated <= 0 && c.Source == v1beta1.CapacitySourceEndpoint:
		return ZeroReported
	case c.Allocated <= 0:
		return ZeroUnadmitted
	case e.Probe != nil && e.Probe.Gated:
		return ZeroByProbe
	default:
		return ZeroByPlan
	}
}

// String says the cause in a few words that fit after "weight 0: ".
func (z ZeroCause) String() string {
	switch z {
	case ZeroByDrain:
		return "held by a drain"
	case ZeroUnready:
		return "no ready replica"
	case ZeroReported:
		return "its endpoint reports no capacity"
	case ZeroUnadmitted:
		return "no admitted replica"
	case ZeroByProbe:
		return "its health probe fails"
	case ZeroByPlan:
		return "withdrawn by the placement plan"
	default:
		return "not zero"
	}
}
