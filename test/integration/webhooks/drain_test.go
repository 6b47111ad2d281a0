//go:build integration

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

package webhooks

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

const (
	key    = ome.TrafficDrainAnnotation
	denied = `admission webhook "traffic-drain.evenkeel.io" denied the request: `
)

// drain writes one drain as the annotation holds it.
func drain(id, cluster string) string {
	return fmt.Sprintf("%q:{\"cluster\":%q,\"reason\":\"planned maintenance\"}", id, cluster)
}

func value(drains ...string) string { return "{" + strings.Join(drains, ",") + "}" }

// TestRefusedDrainEdits shows each refusal in the words that a person sees. The service has the clusters worker-a with
// weight 7, worker-b with 3 and worker-c with 0; worker-d is registered.
func TestRefusedDrainEdits(t *testing.T) {
	namespace := namespaced(t)
	registerCluster(t, "worker-d")
	for name, tc := range map[string]struct {
		before []string
		edit   []string
		want   string
	}{
		"malformed": {
			edit: []string{key, `{"a":{"cluster":"worker-a"}}`},
			want: `override "a" reason must be non-empty. Write one JSON object such as {"maintenance-a":{"cluster":"worker-a","reason":"planned maintenance"}}, or remove the annotation to end every drain of this service`,
		},
		"empty": {
			edit: []string{key, ""},
			want: `decode top-level object: EOF. Write one JSON object such as`,
		},
		"good for OME's controller, but not for its commands": {
			edit: []string{key, value(drain("BAD ID", "worker-a"))},
			want: `traffic override ID must be a DNS-1123 label: drain ID "BAD ID" is no DNS-1123 label. Use 1 to 63 of a-z, 0-9 and "-", with a letter or digit at both ends`,
		},
		"no name of a cluster": {
			edit: []string{key, value(drain("a", "Worker-A"))},
			want: `traffic drain cluster must be a DNS-1123 subdomain: cluster "Worker-A" of drain "a" is no DNS-1123 subdomain. Use the name of a WorkloadCluster as ` + "`kubectl get workloadclusters`" + ` prints it`,
		},
		"a secret for a reason": {
			edit: []string{key, `{"a":{"cluster":"worker-a","reason":"sk-123456789012345678901234"}}`},
			want: `traffic drain reason must be bounded, trimmed, printable, and non-secret: the reason of drain "a" looks like a credential. Write 1 to 256 bytes of plain text without line breaks, invisible characters or secrets`,
		},
		"too large": {
			edit: []string{key, value(drain("a", "worker-a")) + strings.Repeat(" ", 32768)},
			want: `traffic action refused: traffic-drain state exceeds safety bounds: the value has 32827 bytes, at most 32768 are allowed. Shorten reasons or remove drains; taking drains away from the value is always allowed`,
		},
		"retargeted": {
			before: []string{key, value(drain("a", "worker-a"))},
			edit:   []string{key, value(drain("a", "worker-b"))},
			want:   `drain "a" cannot move to another cluster: it holds cluster "worker-a" and the edit makes it hold "worker-b" instead, which would give "worker-a" its traffic back. Add a drain with an ID of its own for cluster "worker-b", then remove drain "a" when cluster "worker-a" may serve again`,
		},
		"a misspelt cluster": {
			edit: []string{key, value(drain("a", "worker-aa"))},
			want: `drain "a" names the unknown cluster "worker-aa": it is neither an entry of the service's TrafficMap nor a WorkloadCluster, so the drain would hold nothing. Did you mean "worker-a" or "worker-b" or "worker-c"?`,
		},
		"a cluster unlike any": {
			edit: []string{key, value(drain("a", "elsewhere"))},
			want: `drain "a" names the unknown cluster "elsewhere": it is neither an entry of the service's TrafficMap nor a WorkloadCluster, so the drain would hold nothing. The service is served by "worker-a", "worker-b", "worker-c"`,
		},
		"the last cluster that serves": {
			before: []string{key, value(drain("a", "worker-a"))},
			edit:   []string{key, value(drain("a", "worker-a"), drain("b", "worker-b"))},
			want:   `drain "b" would leave InferenceService NAMESPACE/NAME without traffic: of 3 clusters none would serve (worker-a has weight 0: held by a drain; worker-b from weight 3 to 0; worker-c has weight 0: no ready replica). Wait until another cluster serves, or end another drain first. To insist: kubectl annotate inferenceservice -n NAMESPACE NAME evenkeel.io/allow-blackout=b`,
		},
		"all clusters at once": {
			edit: []string{key, value(drain("a", "worker-a"), drain("b", "worker-b"), drain("c", "worker-c"))},
			want: `drains "a", "b", "c" would leave InferenceService NAMESPACE/NAME without traffic: of 3 clusters none would serve (worker-a from weight 7 to 0; worker-b from weight 3 to 0; worker-c has weight 0: no ready replica).`,
		},
		"insisting for another drain": {
			before: []string{key, value(drain("a", "worker-a")), evenkeel.AnnotationAllowBlackout, "a"},
			edit:   []string{key, value(drain("a", "worker-a"), drain("b", "worker-b"))},
			want:   `drain "b" would leave InferenceService NAMESPACE/NAME without traffic`,
		},
		"a key with one letter too many": {
			edit: []string{"ome.io/traffic-drains", value(drain("a", "worker-a"))},
			want: `unknown traffic annotation "ome.io/traffic-drains". Did you mean "ome.io/traffic-drain"? (UnknownTrafficAnnotation): this key drains nothing. Put all drains into the one annotation ome.io/traffic-drain`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			service := newService(t, namespace, entry("worker-a", 7), entry("worker-b", 3), entry("worker-c", 0))
			if len(tc.before) > 0 {
				require.NoError(t, hub.client.Patch(t.Context(), service, annotate(tc.before...)))
			}
			version := service.ResourceVersion
			want := strings.NewReplacer("NAMESPACE", namespace, "NAME", service.Name).Replace(tc.want)
			for _, options := range [][]client.PatchOption{{client.DryRunAll}, nil} {
				err := hub.client.Patch(t.Context(), service, annotate(tc.edit...), options...)
				require.Error(t, err)
				assert.True(t, apierrors.IsForbidden(err), "%v", err)
				message, ours := strings.CutPrefix(err.Error(), denied)
				require.True(t, ours, err.Error())
				assert.True(t, strings.HasPrefix(message, want), "got  %s\nwant %s", message, want)
			}
			require.NoError(t, hub.client.Get(t.Context(), client.ObjectKeyFromObject(service), service))
			assert.Equal(t, version, service.ResourceVersion, "a refused edit changes nothing")
		})
	}
}

// TestAcceptedDrainEdits shows what is let through, and what the API server tells the person about it.
func TestAcceptedDrainEdits(t *testing.T) {
	namespace := namespaced(t)
	registerCluster(t, "worker-d")
	three := value(drain("a", "worker-a"), drain("a-too", "worker-a"), drain("c", "worker-c"))
	for name, tc := range map[string]struct {
		before, edit []string
		want         []string
	}{
		"a drain":            {edit: []string{key, value(drain("a", "worker-a"))}},
		"another annotation": {edit: []string{"example.com/note", "x"}},
		"another reason": {
			before: []string{key, value(drain("a", "worker-a"))},
			edit:   []string{key, `{"a":{"cluster":"worker-a","reason":"it takes longer"}}`},
		},
		"another layout": {
			before: []string{key, value(drain("a", "worker-a"))},
			edit:   []string{key, " " + value(drain("a", "worker-a"))},
		},
		"one drain less": {
			before: []string{key, three},
			edit:   []string{key, value(drain("a", "worker-a"), drain("c", "worker-c"))},
		},
		"two drains less": {
			before: []string{key, three},
			edit:   []string{key, value(drain("c", "worker-c"))},
			want:   []string{`this edit ends 2 drains: "a" of cluster "worker-a", "a-too" of cluster "worker-a"`},
		},
		"no annotation any more": {
			before: []string{key, three},
			edit:   []string{key, "-"},
			want:   []string{`removing ome.io/traffic-drain ends 3 drains: "a" of cluster "worker-a", "a-too" of cluster "worker-a", "c" of cluster "worker-c"`},
		},
		"no weight to take": {
			edit: []string{key, value(drain("c", "worker-c"))},
			want: []string{`cluster "worker-c" has weight 0 already: no ready replica`},
		},
		"a cluster to come": {
			edit: []string{key, value(drain("d", "worker-d"))},
			want: []string{`drain "d" is pending: cluster "worker-d" has no entry in the service's TrafficMap; the drain holds it from the moment that one appears`},
		},
		"insisting": {
			before: []string{key, value(drain("a", "worker-a"))},
			edit:   []string{key, value(drain("a", "worker-a"), drain("b", "worker-b")), evenkeel.AnnotationAllowBlackout, "b"},
			want:   []string{`drain "b" would leave InferenceService NAMESPACE/NAME without traffic: of 3 clusters none would serve (worker-a has weight 0: held by a drain; worker-b from weight 3 to 0; worker-c has weight 0: no ready replica); annotation evenkeel.io/allow-blackout insists on it`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			service := newService(t, namespace, entry("worker-a", 7), entry("worker-b", 3), entry("worker-c", 0))
			if len(tc.before) > 0 {
				require.NoError(t, hub.client.Patch(t.Context(), service, annotate(tc.before...)))
			}
			hub.warnings.take()
			want := []string(nil)
			for _, w := range tc.want {
				want = append(want, strings.NewReplacer("NAMESPACE", namespace, "NAME", service.Name).Replace(w))
			}
			version := service.ResourceVersion
			require.NoError(t, hub.client.Patch(t.Context(), service.DeepCopy(), annotate(tc.edit...), client.DryRunAll))
			assert.Equal(t, want, hub.warnings.take(), "a dry run is answered the same way")
			require.NoError(t, hub.client.Get(t.Context(), client.ObjectKeyFromObject(service), service))
			assert.Equal(t, version, service.ResourceVersion, "a dry run changes nothing")
			require.NoError(t, hub.client.Patch(t.Context(), service, annotate(tc.edit...)))
			assert.Equal(t, want, hub.warnings.take())
		})
	}
}

// TestAServiceWithoutATrafficMap may drain clusters that nobody knows yet, and is warned.
func TestAServiceWithoutATrafficMap(t *testing.T) {
	service := newService(t, namespaced(t))
	require.NoError(t, hub.client.Patch(t.Context(), service, annotate(key, value(drain("a", "nowhere")))))
	assert.Equal(t, []string{`drain "a" names the unknown cluster "nowhere": it is neither an entry of the service's TrafficMap nor a WorkloadCluster, so the drain would hold nothing. Register the WorkloadCluster first, or use the name of one that exists`}, hub.warnings.take())
}

// TestCreatedServices are judged like edited ones.
func TestCreatedServices(t *testing.T) {
	namespace := namespaced(t)
	service := &ome.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "chat", Annotations: map[string]string{key: "{"}}}
	err := hub.client.Create(t.Context(), service)
	assert.ErrorContains(t, err, denied+"close top-level object")
	service.Annotations[key] = "{}"
	assert.NoError(t, hub.client.Create(t.Context(), service))
}

// TestABadValueCanBeRepaired starts from values that were stored while nobody guarded them.
func TestABadValueCanBeRepaired(t *testing.T) {
	namespace := namespaced(t)
	many := []string{}
	for i := range 70 {
		many = append(many, drain(fmt.Sprintf("drain-%d", i), "worker-a"))
	}
	for name, tc := range map[string]struct {
		stored string
		steps  []string
		warns  string
	}{
		"malformed, removed":  {"{", []string{"-"}, "removing ome.io/traffic-drain ends every drain of this service; its value was malformed, so the TrafficMap still holds the drains that it held before"},
		"malformed, replaced": {"{", []string{value(drain("a", "worker-a"))}, ""},
		"too many, one by one": {
			value(many...), []string{value(many[:69]...), value(many[:68]...), value(many[:1]...)}, "",
		},
		"a bad ID among good ones": {value(drain("BAD ID", "worker-a"), drain("a", "worker-a")), []string{value(drain("a", "worker-a"))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			service := newService(t, namespace, entry("worker-a", 7), entry("worker-b", 3))
			withoutGuard(t, func() {
				require.NoError(t, hub.client.Patch(t.Context(), service, annotate(key, tc.stored)))
			})
			for _, step := range tc.steps {
				require.NoError(t, hub.client.Patch(t.Context(), service, annotate(key, step)))
			}
			if tc.warns != "" {
				assert.Contains(t, hub.warnings.take(), tc.warns)
			}
		})
	}
}

// TestDerivedCopies are OME's own, and left alone by the guard.
func TestDerivedCopies(t *testing.T) {
	service := &ome.InferenceService{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespaced(t), Name: "copy", Labels: map[string]string{ome.PlacementOriginLabel: "chat"},
		Annotations: map[string]string{"ome.io/traffic-drains": "x"},
	}}
	assert.NoError(t, hub.client.Create(t.Context(), service))
}

// TestAuditAnnotations looks for the decision and the IDs in the API server's audit log, and for no reason.
func TestAuditAnnotations(t *testing.T) {
	namespace := namespaced(t)
	service := newService(t, namespace, entry("worker-a", 7), entry("worker-b", 3))
	require.NoError(t, hub.client.Patch(t.Context(), service, annotate(key, `{"a":{"cluster":"worker-a","reason":"quite-secret"}}`)))
	require.Error(t, hub.client.Patch(t.Context(), service.DeepCopy(), annotate(key, value(drain("a", "worker-b")))))
	require.NoError(t, hub.client.Patch(t.Context(), service, annotate(key, "-")))

	events := auditOf(t, service)
	require.Len(t, events, 3)
	assert.Equal(t, map[string]string{"decision": "allow", "drains-added": `"a"`}, ourAnnotations(events[0]))
	assert.Equal(t, map[string]string{"decision": "deny", "rule": "Retargeted"}, ourAnnotations(events[1]))
	assert.Equal(t, map[string]string{"decision": "allow", "drains-removed": `"a"`}, ourAnnotations(events[2]))
	assert.NotContains(t, hub.manager.Output(), "quite-secret")
}

func ourAnnotations(e auditv1.Event) map[string]string {
	found := map[string]string{}
	for k, v := range e.Annotations {
		if name, ours := strings.CutPrefix(k, "traffic-drain.evenkeel.io/"); ours {
			found[name] = v
		}
	}
	return found
}

// auditOf gives the requests about a service's drains that the guard has answered, but for the helpers' dry runs.
func auditOf(t *testing.T, service *ome.InferenceService) []auditv1.Event {
	t.Helper()
	all, err := hub.AuditEvents()
	require.NoError(t, err)
	var events []auditv1.Event
	for _, e := range all {
		if e.ObjectRef != nil && e.ObjectRef.Name == service.Name && e.ObjectRef.Namespace == service.Namespace &&
			e.Verb == "patch" && !strings.Contains(e.RequestURI, "dryRun") && len(ourAnnotations(e)) > 0 {
			events = append(events, e)
		}
	}
	return events
}

// withoutGuard does something while the webhook configuration is away.
func withoutGuard(t *testing.T, do func()) {
	t.Helper()
	removeGuard(t)
	do()
	require.NoError(t, hub.InstallWebhooks(t.Context(), hub.port, webhookFile))
	require.NoError(t, hub.awaitTrust(t.Context()))
}

// probeEdit is refused exactly while the guard answers.
func probeEdit(ctx context.Context, service *ome.InferenceService) error {
	return hub.client.Patch(ctx, service.DeepCopy(), annotate(key, "no JSON"), client.DryRunAll)
}
