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
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	drains "github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

const (
	key     = drains.AnnotationKey
	drainA  = `{"a":{"cluster":"worker-a","reason":"r"}}`
	drainB  = `{"b":{"cluster":"worker-b","reason":"r"}}`
	drainAB = `{"a":{"cluster":"worker-a","reason":"r"},"b":{"cluster":"worker-b","reason":"r"}}`
	nowhere = `{"a":{"cluster":"nowhere","reason":"r"}}`
)

func scheme(t testing.TB) *runtime.Scheme {
	s := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(s))
	return s
}

// trafficMap is that of prod/chat: worker-a with weight 7, worker-b with 3.
func trafficMap() *v1beta1.TrafficMap {
	entry := func(cluster string, weight int32) v1beta1.TrafficMapEntry {
		return v1beta1.TrafficMapEntry{
			Cluster: cluster, Endpoint: "https://" + cluster, Weight: weight, Healthy: true,
			Capacity: &v1beta1.TrafficMapCapacity{Allocated: weight, Ready: weight},
		}
	}
	return &v1beta1.TrafficMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "chat"},
		Spec:       v1beta1.TrafficMapSpec{Service: "chat", Entries: []v1beta1.TrafficMapEntry{entry("worker-a", 7), entry("worker-b", 3)}},
	}
}

func reader(t testing.TB, objects ...client.Object) client.Reader {
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build()
}

func guard(t testing.TB, config configapi.TrafficDrainGuard, objects ...client.Object) *Guard {
	if config.Blackout == "" {
		config.Blackout = configapi.VerdictDeny
	}
	return &Guard{Reader: reader(t, objects...), Config: config}
}

// annotated gives annotations; pairs are keys and values.
func annotated(pairs ...string) map[string]string {
	annotations := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		annotations[pairs[i]] = pairs[i+1]
	}
	return annotations
}

func service(annotations map[string]string) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": "chat", "namespace": "prod", "uid": "u", "annotations": annotations}}
}

func update(t testing.TB, old, edited any) admission.Request {
	return request(t, admissionv1.Update, old, edited)
}

func request(t testing.TB, operation admissionv1.Operation, old, edited any) admission.Request {
	r := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: operation, Namespace: "prod", Name: "chat"}}
	var err error
	r.Object.Raw, err = json.Marshal(edited)
	require.NoError(t, err)
	if operation == admissionv1.Update {
		r.OldObject.Raw, err = json.Marshal(old)
		require.NoError(t, err)
	}
	return r
}

func TestVerdicts(t *testing.T) {
	warnUnknown := configapi.TrafficDrainGuard{UnknownCluster: configapi.VerdictWarn}
	denyUnknown := configapi.TrafficDrainGuard{UnknownCluster: configapi.VerdictDeny}
	warnBlackout := configapi.TrafficDrainGuard{Blackout: configapi.VerdictWarn}
	foreign := trafficMap()
	foreign.OwnerReferences = []metav1.OwnerReference{{Kind: "InferenceService", Name: "chat", UID: "of-an-earlier-one", Controller: ptr.To(true)}}
	own := trafficMap()
	own.OwnerReferences = []metav1.OwnerReference{{Kind: "InferenceService", Name: "chat", UID: "u", Controller: ptr.To(true)}}
	registered := &v1beta1.WorkloadCluster{ObjectMeta: metav1.ObjectMeta{Name: "nowhere"}}

	for name, tc := range map[string]struct {
		config      configapi.TrafficDrainGuard
		objects     []client.Object
		old, edited map[string]string
		// denied is a part of the refusal; empty means that the edit is let through.
		denied string
		// warned are parts of the warnings, one each.
		warned []string
	}{
		"a drain":                          {objects: []client.Object{trafficMap()}, edited: annotated(key, drainA)},
		"of a service of its own":          {objects: []client.Object{own}, edited: annotated(key, nowhere), denied: "unknown cluster"},
		"unknown, with a map":              {objects: []client.Object{trafficMap()}, edited: annotated(key, nowhere), denied: `names the unknown cluster "nowhere"`},
		"unknown, with another's map":      {objects: []client.Object{foreign}, edited: annotated(key, nowhere), warned: []string{`names the unknown cluster "nowhere"`}},
		"unknown, without a map":           {edited: annotated(key, nowhere), warned: []string{`names the unknown cluster "nowhere"`}},
		"unknown, without a map, denied":   {config: denyUnknown, edited: annotated(key, nowhere), denied: `names the unknown cluster "nowhere"`},
		"unknown, with a map, only warned": {config: warnUnknown, objects: []client.Object{trafficMap()}, edited: annotated(key, nowhere), warned: []string{`names the unknown cluster "nowhere"`}},
		"unknown before and unchanged": {
			objects: []client.Object{trafficMap()}, old: annotated(key, nowhere),
			edited: annotated(key, `{"a":{"cluster":"nowhere","reason":"r"},"b":{"cluster":"worker-b","reason":"r"}}`),
		},
		"registered":             {objects: []client.Object{trafficMap(), registered}, edited: annotated(key, nowhere), warned: []string{`drain "a" is pending: cluster "nowhere"`}},
		"blackout":               {objects: []client.Object{trafficMap()}, old: annotated(key, drainA), edited: annotated(key, drainAB), denied: `drain "b" would leave InferenceService prod/chat without traffic`},
		"blackout, only warned":  {config: warnBlackout, objects: []client.Object{trafficMap()}, edited: annotated(key, drainAB), warned: []string{`drains "a", "b" would leave InferenceService prod/chat without traffic`}},
		"blackout, insisted":     {objects: []client.Object{trafficMap()}, edited: annotated(key, drainAB, allowBlackout, "b"), warned: []string{"insists on it"}},
		"blackout, insisted odd": {objects: []client.Object{trafficMap()}, edited: annotated(key, drainAB, allowBlackout, ""), denied: "without traffic"},
		"blackout, insisted for another": {
			objects: []client.Object{trafficMap()}, old: annotated(key, drainA, allowBlackout, "a"), edited: annotated(key, drainAB, allowBlackout, "a"),
			denied: `drain "b" would leave`,
		},
		"held already": {
			objects: []client.Object{trafficMap()}, old: annotated(key, drainA),
			edited: annotated(key, `{"a":{"cluster":"worker-a","reason":"r"},"again":{"cluster":"worker-a","reason":"r"}}`),
			warned: []string{`cluster "worker-a" has weight 0 already: held by a drain`},
		},
		"two ends at once": {
			objects: []client.Object{trafficMap()}, old: annotated(key, drainAB), edited: annotated(key, "{}"),
			warned: []string{`this edit ends 2 drains: "a" of cluster "worker-a", "b" of cluster "worker-b"`},
		},
		"one end":      {objects: []client.Object{trafficMap()}, old: annotated(key, drainAB), edited: annotated(key, drainA)},
		"one end, all": {objects: []client.Object{trafficMap()}, old: annotated(key, drainA), edited: annotated(), warned: []string{`removing ome.io/traffic-drain ends 1 drain: "a"`}},
		"blackout, another's map": {
			objects: []client.Object{foreign}, edited: annotated(key, drainAB),
			warned: []string{`names the unknown cluster "worker-a"`, `names the unknown cluster "worker-b"`},
		},
		"the other way round":    {objects: []client.Object{trafficMap()}, old: annotated(key, drainA), edited: annotated(key, drainB)},
		"from a malformed value": {objects: []client.Object{trafficMap()}, old: annotated(key, "{"), edited: annotated(key, drainA)},
		"to a malformed value":   {objects: []client.Object{trafficMap()}, old: annotated(key, drainA), edited: annotated(key, "{"), denied: "close top-level object"},
		"a near miss":            {edited: annotated("ome.io/traffic-drain-", "x"), denied: "UnknownTrafficAnnotation"},
		"a near miss as it was":  {old: annotated("ome.io/traffic-drains", "x"), edited: annotated("ome.io/traffic-drains", "x", key, "{}")},
		"a near miss taken away": {old: annotated("ome.io/traffic-drains", "x"), edited: annotated(key, "{}")},
	} {
		t.Run(name, func(t *testing.T) {
			response := guard(t, tc.config, tc.objects...).Handle(t.Context(), update(t, service(tc.old), service(tc.edited)))
			assert.Equal(t, tc.denied == "", response.Allowed, "%v", response.Result)
			if tc.denied != "" {
				assert.EqualValues(t, http.StatusForbidden, response.Result.Code)
				assert.Contains(t, response.Result.Message, tc.denied)
			}
			require.Len(t, response.Warnings, len(tc.warned), "%q", response.Warnings)
			for i, want := range tc.warned {
				assert.Contains(t, response.Warnings[i], want)
			}
			created := guard(t, tc.config, tc.objects...).Handle(t.Context(), request(t, admissionv1.Create, nil, service(tc.edited)))
			if len(tc.old) == 0 {
				assert.Equal(t, response.Allowed, created.Allowed, "a creation is judged like an edit")
			}
		})
	}
}

// TestWhatTheGuardDoesNotUnderstand keeps nobody from draining, as long as it is not about drains.
func TestWhatTheGuardDoesNotUnderstand(t *testing.T) {
	odd := service(annotated(key, drainA))
	odd["spec"] = map[string]any{"routing": map[string]any{"capacityFactors": []string{"of", "another", "shape"}}}
	response := guard(t, configapi.TrafficDrainGuard{}, trafficMap()).Handle(t.Context(), update(t, service(nil), odd))
	assert.True(t, response.Allowed)

	r := update(t, service(nil), service(nil))
	r.Object.Raw = []byte("{")
	response = guard(t, configapi.TrafficDrainGuard{}).Handle(t.Context(), r)
	assert.EqualValues(t, http.StatusBadRequest, response.Result.Code)
	assert.Contains(t, response.Result.Message, "decode the InferenceService")
}

// TestDerivedCopies are left alone; a service that is marked as one by the very edit is none.
func TestDerivedCopies(t *testing.T) {
	marked := func(annotations map[string]string) map[string]any {
		s := service(annotations)
		s["metadata"].(map[string]any)["labels"] = map[string]string{v1beta1.PlacementOriginLabel: "chat"}
		return s
	}
	g := guard(t, configapi.TrafficDrainGuard{}, trafficMap())
	bad := annotated(key, "{", "ome.io/traffic-drains", "x")
	assert.True(t, g.Handle(t.Context(), request(t, admissionv1.Create, nil, marked(bad))).Allowed)
	assert.True(t, g.Handle(t.Context(), update(t, marked(nil), marked(bad))).Allowed)
	assert.True(t, g.Handle(t.Context(), update(t, marked(nil), service(bad))).Allowed)
	assert.False(t, g.Handle(t.Context(), update(t, service(nil), marked(bad))).Allowed)
}

// TestTheServicesProbePolicyCounts checks that the weights are computed with the probe policy of the edited service: of
// one whose probe takes every cluster out nothing is taken by a drain.
func TestTheServicesProbePolicyCounts(t *testing.T) {
	tm := trafficMap()
	tm.Spec.Entries = append(tm.Spec.Entries, v1beta1.TrafficMapEntry{Cluster: "worker-c"})
	for i := range tm.Spec.Entries {
		tm.Spec.Entries[i].Probe = &v1beta1.TrafficMapProbe{Gated: true, Result: v1beta1.ProbeFailing}
	}
	for policy, allowed := range map[v1beta1.AllFailedPolicy]bool{v1beta1.PreserveTraffic: false, v1beta1.DrainTraffic: true} {
		edited := service(annotated(key, drainAB))
		edited["spec"] = map[string]any{"routing": map[string]any{"probe": map[string]any{"allFailedPolicy": policy}}}
		response := guard(t, configapi.TrafficDrainGuard{}, tm).Handle(t.Context(), update(t, service(nil), edited))
		assert.Equal(t, allowed, response.Allowed, policy)
	}
}

func TestTroubleIsNoVerdict(t *testing.T) {
	broken := errors.New("the cache is not there")
	for name, funcs := range map[string]interceptor.Funcs{
		"map": {Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		}},
		"clusters": {List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return broken
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := &Guard{Reader: fake.NewClientBuilder().WithScheme(scheme(t)).WithInterceptorFuncs(funcs).Build()}
			response := g.Handle(t.Context(), update(t, service(nil), service(annotated(key, drainA))))
			assert.False(t, response.Allowed)
			assert.EqualValues(t, http.StatusInternalServerError, response.Result.Code)
			assert.Contains(t, response.Result.Message, "the drains of InferenceService prod/chat cannot be judged now, try again")
			assert.Contains(t, response.Result.Message, broken.Error())
			// What needs no look at the hub needs no hub.
			response = g.Handle(t.Context(), update(t, service(annotated(key, drainA)), service(nil)))
			assert.True(t, response.Allowed)
		})
	}
}

func TestAHubThatDoesNotServeWhatIsRead(t *testing.T) {
	response := unserved([]string{"trafficmaps.ome.io", "workloadclusters.ome.io"}).Handle(t.Context(), update(t, service(nil), service(annotated(key, drainA))))
	assert.False(t, response.Allowed)
	assert.EqualValues(t, http.StatusServiceUnavailable, response.Result.Code)
	assert.Equal(t, "drains cannot be judged: the hub did not serve trafficmaps.ome.io, workloadclusters.ome.io when hub-manager started. "+
		"Install what is missing, then restart hub-manager", response.Result.Message)
}

func TestAudit(t *testing.T) {
	g := guard(t, configapi.TrafficDrainGuard{})
	for name, tc := range map[string]struct {
		old, edited string
		want        map[string]string
	}{
		"added":      {"{}", drainAB, map[string]string{"decision": "allow", "drains-added": `"a", "b"`}},
		"removed":    {drainAB, drainA, map[string]string{"decision": "allow", "drains-removed": `"b"`}},
		"reworded":   {drainA, strings.Replace(drainA, `"r"`, `"s"`, 1), map[string]string{"decision": "allow", "drains-reworded": `"a"`}},
		"retargeted": {drainA, nowhere, map[string]string{"decision": "deny", "rule": "Retargeted"}},
		"a secret": {"{}", `{"sk-abcdefghijklmnopqrstuvwxyz":{"cluster":"c","reason":"r"}}`,
			map[string]string{"decision": "deny", "rule": "InvalidID"}},
	} {
		t.Run(name, func(t *testing.T) {
			response := g.Handle(t.Context(), update(t, service(annotated(key, tc.old)), service(annotated(key, tc.edited))))
			assert.Equal(t, tc.want, response.AuditAnnotations)
		})
	}
}

func TestDryRunsAreNotCounted(t *testing.T) {
	g := guard(t, configapi.TrafficDrainGuard{})
	denied := edits.WithLabelValues(decisionDeny, string(drains.RuleMalformed))
	before := testutil.ToFloat64(denied)
	r := update(t, service(nil), service(annotated(key, "{")))
	r.DryRun = ptr.To(true)
	assert.False(t, g.Handle(t.Context(), r).Allowed)
	assert.InDelta(t, before, testutil.ToFloat64(denied), 0)
	r.DryRun = nil
	assert.False(t, g.Handle(t.Context(), r).Allowed)
	assert.InDelta(t, before+1, testutil.ToFloat64(denied), 0)
	allowed := edits.WithLabelValues(decisionAllow, "")
	before = testutil.ToFloat64(allowed)
	assert.True(t, g.Handle(t.Context(), update(t, service(annotated(key, "{")), service(nil))).Allowed)
	assert.InDelta(t, before+1, testutil.ToFloat64(allowed), 0)
}

func TestLongListsAreCut(t *testing.T) {
	assert.Equal(t, "a, b", someOf([]string{"a", "b"}, 2))
	assert.Equal(t, "a, b and 1 more", someOf([]string{"a", "b", "c"}, 2))
	tm := trafficMap()
	value := map[string]map[string]string{}
	tm.Spec.Entries = nil
	for _, c := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		tm.Spec.Entries = append(tm.Spec.Entries, v1beta1.TrafficMapEntry{Cluster: c, Weight: 1, Capacity: &v1beta1.TrafficMapCapacity{Allocated: 1, Ready: 1}})
		value[c] = map[string]string{"cluster": c, "reason": "r"}
	}
	text, err := json.Marshal(value)
	require.NoError(t, err)
	response := guard(t, configapi.TrafficDrainGuard{}, tm).Handle(t.Context(), update(t, service(nil), service(annotated(key, string(text)))))
	require.False(t, response.Allowed)
	assert.Contains(t, response.Result.Message, `drains "a", "b", "c", "d", "e" and 2 more would leave`)
	assert.Contains(t, response.Result.Message, "of 7 clusters none would serve (a from weight 1 to 0; b from weight 1 to 0; c from weight 1 to 0; d from weight 1 to 0; e from weight 1 to 0; 2 more)")
}

// FuzzHandle checks of any edit what must hold whatever the values are.
func FuzzHandle(f *testing.F) {
	for _, seed := range [][2]string{{"", drainA}, {drainA, drainAB}, {"{", "{}"}, {drainAB, ""}, {drainA, nowhere}, {`{"\u0000":{"cluster":"\ud800","reason":"x"}}`, "null"}} {
		f.Add(seed[0], seed[1], true, true)
		f.Add(seed[0], seed[1], true, false)
		f.Add(seed[0], seed[1], false, true)
	}
	g := guard(f, configapi.TrafficDrainGuard{}, trafficMap())
	f.Fuzz(func(t *testing.T, old, edited string, had, has bool) {
		annotations := func(present bool, value string) map[string]string {
			if !present {
				return nil
			}
			return annotated(key, value)
		}
		response := g.Handle(t.Context(), update(t, service(annotations(had, old)), service(annotations(has, edited))))
		if !has {
			assert.True(t, response.Allowed, "removing the annotation is always allowed")
			return
		}
		// What JSON makes of odd strings is what is judged.
		before, after := roundTrip(t, annotations(had, old)), roundTrip(t, annotations(has, edited))
		if had && before[key] == after[key] {
			assert.True(t, response.Allowed, "a value that stays is nobody's business")
			return
		}
		if _, err := drains.Parse(after[key]); err != nil {
			assert.False(t, response.Allowed, "a value that freezes the map")
		}
	})
}

func roundTrip(t *testing.T, annotations map[string]string) map[string]string {
	text, err := json.Marshal(annotations)
	require.NoError(t, err)
	var back map[string]string
	require.NoError(t, json.Unmarshal(text, &back))
	return back
}

func TestKeyOfACreatedService(t *testing.T) {
	e, err := decode(request(t, admissionv1.Create, nil, map[string]any{"metadata": map[string]any{"name": "chat"}}))
	require.NoError(t, err)
	assert.Equal(t, types.NamespacedName{Namespace: "prod", Name: "chat"}, e.key())
}
