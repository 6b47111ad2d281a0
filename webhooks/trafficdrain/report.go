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

package trafficdrain

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	drains "github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// The keys of audit annotations; the API server puts the webhook's name in front.
const (
	auditDecision = "decision"
	auditRule     = "rule"
	auditAdded    = "drains-added"
	auditRemoved  = "drains-removed"
	auditReworded = "drains-reworded"
)

const (
	decisionAllow = "allow"
	decisionDeny  = "deny"
)

// maxAudited is how many drain IDs an audit annotation lists.
const maxAudited = 16

var edits = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "evenkeel_traffic_drain_edits_total",
	Help: "Edits of the drains of InferenceServices by what the guard decided, and the rule that those it denied broke. Dry runs are not counted.",
}, []string{"decision", "rule"})

func init() {
	metrics.Registry.MustRegister(edits)
}

func (v *verdict) decision() string {
	if v.refusal != nil {
		return decisionDeny
	}
	return decisionAllow
}

func count(request admission.Request, v *verdict) {
	if !ptr.Deref(request.DryRun, false) {
		edits.WithLabelValues(v.decision(), string(v.rule)).Inc()
	}
}

// auditAnnotations names the decision and the IDs of the drains, never a reason.
func auditAnnotations(v *verdict) map[string]string {
	annotations := map[string]string{auditDecision: v.decision()}
	if v.rule != "" {
		annotations[auditRule] = string(v.rule)
	}
	diff := v.review.Diff
	for key, list := range map[string][]drains.Drain{auditAdded: diff.Added, auditRemoved: diff.Removed, auditReworded: after(diff.Reworded)} {
		if len(list) > 0 {
			annotations[key] = listIDs(list)
		}
	}
	return annotations
}

func after(pairs []drains.Pair) []drains.Drain {
	var list []drains.Drain
	for _, p := range pairs {
		list = append(list, p.New)
	}
	return list
}

func listIDs(list []drains.Drain) string {
	var ids []string
	for _, d := range list {
		ids = append(ids, fmt.Sprintf("%q", drains.Printable(d.ID)))
	}
	return someOf(ids, maxAudited)
}
