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

package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/cli/golden"
	"github.com/evenkeel-io/evenkeel/internal/cli/table"
)

// accepted is a service behind a gateway that has accepted the policy of generation 7.
const accepted = `
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata: {name: chat, namespace: prod, uid: uid, generation: 7}
spec:
  traffic: {algorithm: RoundRobin}
status:
  url: https://chat.prod.example/
  address: {url: "http://chat-engine.prod.svc.cluster.local"}
  traffic:
    algorithm: RoundRobin
    backendPolicyResource: {apiVersion: gateway.envoyproxy.io/v1alpha1, kind: BackendTrafficPolicy, name: chat}
    targetedHTTPRoutes: [chat-engine, chat]
    conditions:
    - {type: BackendPolicyReady, status: "True", reason: AcceptedByGateway, observedGeneration: 7, lastTransitionTime: "2026-09-14T16:59:00Z"}
  components:
    engine:
      latestRolledoutRevision: chat-engine-rev-a1b2c3d4
      traffic:
      - {revisionName: chat-engine-rev-a1b2c3d4, percent: 80}
      - {revisionName: chat-engine-rev-e5f6a7b8, percent: 20}
`

func service(t *testing.T, text string, changes ...string) *unstructured.Unstructured {
	t.Helper()
	changed := strings.NewReplacer(changes...).Replace(text)
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(changed), &u.Object))
	// As a client reads numbers.
	content, err := u.MarshalJSON()
	require.NoError(t, err)
	require.NoError(t, u.UnmarshalJSON(content))
	return u
}

func held() *v1beta1.TrafficMap {
	condition := func(kind, reason string, status metav1.ConditionStatus, generation int64) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, ObservedGeneration: generation}
	}
	return &v1beta1.TrafficMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "chat", Generation: 4},
		Spec: v1beta1.TrafficMapSpec{Service: "chat", ObservedISVCGeneration: 7, Entries: []v1beta1.TrafficMapEntry{
			{Cluster: "worker-a", DrainRefs: []string{"maintenance-a"}, Healthy: true, Capacity: &v1beta1.TrafficMapCapacity{Allocated: 2, Ready: 2}},
			{Cluster: "worker-b", Weight: 1, Healthy: true, Capacity: &v1beta1.TrafficMapCapacity{Allocated: 2, Ready: 2}},
			{Cluster: "worker-c", Capacity: &v1beta1.TrafficMapCapacity{Allocated: 2}},
		}},
		Status: v1beta1.TrafficMapStatus{SourceUID: "uid", Conditions: []metav1.Condition{
			condition(v1beta1.TrafficMapRoutable, "Routable", metav1.ConditionTrue, 4),
			condition(v1beta1.TrafficMapOverrideActive, "OverridesApplied", metav1.ConditionTrue, 4),
			condition(v1beta1.TrafficMapPublished, "Published", metav1.ConditionTrue, 3),
		}},
	}
}

func text(t *testing.T, header []string, rows []Row) string {
	t.Helper()
	cells := [][]string{header}
	for _, r := range rows {
		cells = append(cells, r.Cells())
	}
	var b strings.Builder
	require.NoError(t, table.Write(&b, cells))
	return b.String()
}

const drains = `{"maintenance-a":{"cluster":"worker-a","reason":"planned maintenance"},"new":{"cluster":"worker-b","reason":"r"},"typo":{"cluster":"worker-z","reason":"r"}}`

func TestTables(t *testing.T) {
	u := service(t, accepted)
	u.SetAnnotations(map[string]string{v1beta1.TrafficDrainAnnotation: drains})
	status := NewStatus(u, held())
	header := []string{"FIELD", "COMP", "VALUE", "SOURCE"}
	golden.Equal(t, "status", text(t, header, status.Rows(false)))
	golden.Equal(t, "status-wide", text(t, header, status.Rows(true)))
	content, err := yaml.Marshal(status)
	require.NoError(t, err)
	golden.Equal(t, "status-yaml", string(content))
	golden.Equal(t, "explain", text(t, []string{"LAYER", "STATE", "VALUE", "SOURCE"}, NewExplain(u, held()).Rows()))
	assert.Empty(t, status.Warnings())
}

func TestMalformedDrains(t *testing.T) {
	u := service(t, accepted)
	u.SetAnnotations(map[string]string{v1beta1.TrafficDrainAnnotation: `{"a":"sk-123456789012345678901234"}`})
	rows := text(t, []string{"FIELD", "COMP", "VALUE", "SOURCE"}, NewStatus(u, nil).Rows(false))
	assert.Contains(t, rows, "malformed, so the TrafficMap no longer changes: override")
	assert.Contains(t, rows, "TRAFFICMAP     -        Unavailable")
	assert.NotContains(t, rows, "sk-1")
}

// TestStates has STATE of status and SUMMARY of explain for what a status may hold.
func TestStates(t *testing.T) {
	const noTraffic = "traffic:\n    algorithm"
	for name, tc := range map[string]struct {
		changes        []string
		state, summary string
	}{
		"accepted":         {nil, "Reported", "Consistent"},
		"no section":       {[]string{noTraffic, "other:\n    algorithm"}, "Unavailable", "Unavailable"},
		"nothing declared": {[]string{"spec:\n  traffic: {algorithm: RoundRobin}", "spec: {}"}, "Reported", "NoIntent"},
		"an older one":     {[]string{"observedGeneration: 7", "observedGeneration: 6"}, "Partial", "Partial"},
		"a newer one":      {[]string{"observedGeneration: 7", "observedGeneration: 8"}, "Invalid", "Invalid"},
		"pending":          {[]string{`"True", reason: AcceptedByGateway`, `"Unknown", reason: Pending`}, "Pending", "Pending"},
		"rejected":         {[]string{`"True", reason: AcceptedByGateway`, `"False", reason: GatewayRejected`}, "Degraded", "Mismatch"},
		"other algorithm":  {[]string{"traffic:\n    algorithm: RoundRobin", "traffic:\n    algorithm: Random"}, "Reported", "Mismatch"},
		"bad algorithm":    {[]string{"traffic:\n    algorithm: RoundRobin", "traffic:\n    algorithm: Best"}, "Invalid", "Invalid"},
		"bad declaration":  {[]string{"traffic: {algorithm: RoundRobin}", "traffic: {algorithm: Best}"}, "Reported", "Invalid"},
		"other policy":     {[]string{"kind: BackendTrafficPolicy", "kind: Policy"}, "Invalid", "Invalid"},
		"odd reason":       {[]string{"AcceptedByGateway", "Whatever"}, "Invalid", "Invalid"},
		"weights":          {[]string{"percent: 20", "percent: 30"}, "Invalid", "Invalid"},
		"secret in a URL":  {[]string{"https://chat.prod.example/", "https://user:pass@chat.prod.example/"}, "Invalid", "Invalid"},
		"odd component":    {[]string{"engine:\n      latest", "motor:\n      latest"}, "Invalid", "Invalid"},
		"many routes":      {[]string{"[chat-engine, chat]", "[a, b, c, d, e]"}, "Partial", "Partial"},
		"dropped fields": {[]string{"  components:", `    - {type: BackendPolicyUnsupportedFields, status: "True", reason: UnsupportedField, observedGeneration: 7, lastTransitionTime: "2026-09-14T16:59:00Z"}
  components:`}, "Partial", "Unsupported"},
		"no translator": {[]string{`"True", reason: AcceptedByGateway`, `"False", reason: NoTranslatorAvailable`,
			"    backendPolicyResource: {apiVersion: gateway.envoyproxy.io/v1alpha1, kind: BackendTrafficPolicy, name: chat}\n    targetedHTTPRoutes: [chat-engine, chat]\n", ""}, "Degraded", "Unsupported"},
	} {
		t.Run(name, func(t *testing.T) {
			x := NewExplain(service(t, accepted, tc.changes...), nil)
			assert.Equal(t, tc.state, x.Reported.State.Value, "STATE, issues %v", x.Reported.Issues)
			assert.Equal(t, tc.summary, x.Summary.Value, "SUMMARY, issues %v", x.Issues)
		})
	}
}

func TestStaleMap(t *testing.T) {
	tm := held()
	tm.Spec.ObservedISVCGeneration = 6
	rows := text(t, []string{"FIELD", "COMP", "VALUE", "SOURCE"}, NewStatus(service(t, accepted), tm).Rows(false))
	assert.Regexp(t, `Routable=True/Routable +Reported/Stale`, rows)
}
