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

package tainttime

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/openapi"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

var (
	now     = time.Date(2026, time.March, 1, 12, 0, 0, 987654321, time.UTC)
	earlier = metav1.NewTime(time.Date(2026, time.February, 1, 8, 0, 0, 0, time.UTC))
)

const (
	nowText     = "2026-03-01T12:00:00Z"
	earlierText = "2026-02-01T08:00:00Z"
)

func taint(key string, at *metav1.Time) modelplane.Taint {
	return modelplane.Taint{Key: key, Effect: modelplane.TaintEffectNoExecute, TimeAdded: at}
}

func entry(key, since string) string {
	return `{"key":"` + key + `","effect":"NoExecute","since":"` + since + `"}`
}

func clusterWith(annotation string, taints ...modelplane.Taint) *cluster {
	c := &cluster{}
	c.Spec.Taints = taints
	if annotation != "" {
		c.Metadata.Annotations = map[string]string{evenkeel.AnnotationTaintsSince: annotation}
	}
	return c
}

func TestFieldPatch(t *testing.T) {
	valued := taint("m", nil)
	valued.Value = "v"
	for name, tc := range map[string]struct {
		old, edited *cluster
		want        []jsonpatch.Operation
	}{
		"no taint":                 {clusterWith(""), clusterWith(""), nil},
		"a new taint":              {clusterWith(""), clusterWith("", taint("m", nil)), []jsonpatch.Operation{jsonpatch.NewOperation("add", "/spec/taints/0/timeAdded", nowText)}},
		"only NoExecute":           {clusterWith(""), clusterWith("", modelplane.Taint{Key: "m", Effect: modelplane.TaintEffectNoSchedule}), nil},
		"a stated time":            {clusterWith(""), clusterWith("", taint("m", &earlier)), nil},
		"a time that was left out": {clusterWith("", taint("m", &earlier)), clusterWith("", taint("x", &earlier), taint("m", nil)), []jsonpatch.Operation{jsonpatch.NewOperation("add", "/spec/taints/1/timeAdded", earlierText)}},
		"a time never known":       {clusterWith("", taint("m", nil)), clusterWith("", taint("m", nil)), nil},
		"another value":            {clusterWith("", taint("m", &earlier)), clusterWith("", valued), []jsonpatch.Operation{jsonpatch.NewOperation("add", "/spec/taints/0/timeAdded", nowText)}},
		"a time from before the field": {
			clusterWith("["+entry("m", earlierText)+"]", taint("m", nil)), clusterWith("["+entry("m", earlierText)+"]", taint("m", nil)),
			[]jsonpatch.Operation{jsonpatch.NewOperation("add", "/spec/taints/0/timeAdded", earlierText)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, fieldPatch(tc.old, tc.edited, now))
		})
	}
}

func TestAnnotationPatch(t *testing.T) {
	const path = "/metadata/annotations/evenkeel.io~1taints-since"
	add := func(text string) []jsonpatch.Operation {
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", path, text)}
	}
	whole := func(text string) []jsonpatch.Operation {
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", "/metadata/annotations", map[string]string{evenkeel.AnnotationTaintsSince: text})}
	}
	for name, tc := range map[string]struct {
		old, edited *cluster
		want        []jsonpatch.Operation
	}{
		"no taint":         {clusterWith(""), clusterWith(""), nil},
		"a new taint":      {clusterWith(""), clusterWith("", taint("m", nil)), whole("[" + entry("m", nowText) + "]")},
		"a taint that was": {clusterWith("["+entry("m", earlierText)+"]", taint("m", nil)), clusterWith("["+entry("m", earlierText)+"]", taint("m", nil)), nil},
		"an annotation that was left out": {
			clusterWith("["+entry("m", earlierText)+"]", taint("m", nil)), clusterWith("", taint("m", nil)), whole("[" + entry("m", earlierText) + "]"),
		},
		"one more": {
			clusterWith("["+entry("m", earlierText)+"]", taint("m", nil)),
			clusterWith("["+entry("m", earlierText)+"]", taint("m", nil), taint("n", nil)),
			add("[" + entry("m", earlierText) + "," + entry("n", nowText) + "]"),
		},
		"one less": {
			clusterWith("["+entry("m", earlierText)+","+entry("n", earlierText)+"]", taint("m", nil), taint("n", nil)),
			clusterWith("["+entry("m", earlierText)+","+entry("n", earlierText)+"]", taint("n", nil)),
			add("[" + entry("n", earlierText) + "]"),
		},
		"none any more": {
			clusterWith("["+entry("m", earlierText)+"]", taint("m", nil)), clusterWith("[" + entry("m", earlierText) + "]"),
			[]jsonpatch.Operation{jsonpatch.NewOperation("remove", path, nil)},
		},
		"a time that was never known":     {clusterWith("", taint("m", nil)), clusterWith("", taint("m", nil)), nil},
		"a stated time":                   {clusterWith(""), clusterWith("["+entry("m", earlierText)+"]", taint("m", nil)), nil},
		"what an earlier taint left over": {clusterWith("[" + entry("m", earlierText) + "]"), clusterWith("["+entry("m", earlierText)+"]", taint("m", nil)), add("[" + entry("m", nowText) + "]")},
		"a value that nobody can read": {
			clusterWith("["+entry("m", earlierText)+"]", taint("m", nil)), clusterWith("[", taint("m", nil)), add("[" + entry("m", earlierText) + "]"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, annotationPatch(tc.old, tc.edited, now))
		})
	}
}

// TestNothingIsEverRefused is the promise of a webhook that only helps.
func TestNothingIsEverRefused(t *testing.T) {
	s := &Stamper{Now: func() time.Time { return now }}
	for name, raw := range map[string][2]string{
		"no JSON":     {"{", "{"},
		"an odd time": {"{}", `{"spec":{"taints":[{"key":"m","effect":"NoExecute","timeAdded":"yesterday"}]}}`},
		"an odd old":  {`{"spec":{"taints":7}}`, "{}"},
		"odd taints":  {"{}", `{"spec":{"taints":{}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Update}}
			r.OldObject.Raw, r.Object.Raw = []byte(raw[0]), []byte(raw[1])
			response := s.Handle(t.Context(), r)
			assert.True(t, response.Allowed)
			assert.Empty(t, response.Patches)
		})
	}
}

func FuzzHandle(f *testing.F) {
	f.Add("[]", "m", "NoExecute", nowText, true)
	f.Add("["+entry("m", earlierText)+"]", "m", "NoExecute", "", false)
	f.Fuzz(func(t *testing.T, annotation, key, effect, at string, field bool) {
		tainted := map[string]any{"key": key, "effect": effect}
		if at != "" {
			tainted["timeAdded"] = at
		}
		raw, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"annotations": map[string]string{evenkeel.AnnotationTaintsSince: annotation}},
			"spec":     map[string]any{"taints": []any{tainted}},
		})
		require.NoError(t, err)
		r := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create}}
		r.Object.Raw = raw
		s := &Stamper{HasField: field, Now: func() time.Time { return now }}
		response := s.Handle(t.Context(), r)
		assert.True(t, response.Allowed)
		assert.LessOrEqual(t, len(response.Patches), 1)
	})
}

func TestHasField(t *testing.T) {
	const head = `{"components":{"schemas":{"x":{},"ai.modelplane.v1alpha1.InferenceCluster":{"x-kubernetes-group-version-kind":[{"group":"modelplane.ai","kind":"InferenceCluster","version":"v1alpha1"}],` +
		`"properties":{"spec":{"properties":{"taints":{"items":{"properties":{`
	const tail = `}}}}}}}}}}`
	for name, tc := range map[string]struct {
		document        string
		want, published bool
	}{
		"with it":     {head + `"key":{},"timeAdded":{"type":"string"}` + tail, true, true},
		"without it":  {head + `"key":{}` + tail, false, true},
		"no taints":   {`{"components":{"schemas":{"a":{"x-kubernetes-group-version-kind":[{"kind":"InferenceCluster"}]}}}}`, false, true},
		"other kinds": {`{"components":{"schemas":{"a":{"x-kubernetes-group-version-kind":[{"kind":"ModelReplica"}]}}}}`, false, false},
		"empty":       {`{}`, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			has, published, err := hasField(documents{"apis/modelplane.ai/v1alpha1": document(tc.document)})
			require.NoError(t, err)
			assert.Equal(t, tc.want, has)
			assert.Equal(t, tc.published, published)
		})
	}
	_, published, err := hasField(documents{})
	require.NoError(t, err)
	assert.False(t, published, "the hub serves no such group")
	_, _, err = hasField(documents{"apis/modelplane.ai/v1alpha1": document("{")})
	assert.Error(t, err)
	_, _, err = hasField(documents(nil))
	assert.Error(t, err)
}

// TestAwaitField is about a manager that starts just after the kinds were installed.
func TestAwaitField(t *testing.T) {
	const long = time.Minute
	const published = `{"components":{"schemas":{"a":{"x-kubernetes-group-version-kind":[{"kind":"InferenceCluster"}],` +
		`"properties":{"spec":{"properties":{"taints":{"items":{"properties":{"timeAdded":{}}}}}}}}}}}`
	hub := &publisher{answers: []documents{{}, {"apis/modelplane.ai/v1alpha1": document(`{}`)}, {"apis/modelplane.ai/v1alpha1": document(published)}}}
	has, err := awaitField(t.Context(), hub, long)
	require.NoError(t, err)
	assert.True(t, has)

	has, err = awaitField(t.Context(), documents{}, time.Millisecond)
	require.NoError(t, err, "a hub that does not publish is no reason not to start")
	assert.False(t, has)
	_, err = awaitField(t.Context(), documents(nil), long)
	assert.Error(t, err)
}

// publisher stands for an API server that publishes more with each question.
type publisher struct {
	answers []documents
}

func (p *publisher) OpenAPIV3() openapi.Client {
	answer := p.answers[0]
	p.answers = p.answers[1:]
	return answer
}

// documents stands for what the API server publishes; nil for one that does not answer.
type documents map[string]openapi.GroupVersion

func (d documents) OpenAPIV3() openapi.Client { return d }

func (d documents) Paths() (map[string]openapi.GroupVersion, error) {
	if d == nil {
		return nil, errors.New("no answer")
	}
	return d, nil
}

type document string

func (d document) Schema(string) ([]byte, error) { return []byte(d), nil }
func (d document) ServerRelativeURL() string     { return "" }
