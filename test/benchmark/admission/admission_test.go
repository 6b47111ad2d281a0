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

package admission

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

func updated(k kind, took time.Duration, asked bool) auditv1.Event {
	e := auditv1.Event{
		Verb:                     "update",
		ObjectRef:                &auditv1.ObjectReference{APIGroup: string(k), Resource: "inferenceservices"},
		ResponseStatus:           &metav1.Status{Code: 200},
		RequestReceivedTimestamp: metav1.NewMicroTime(time.Unix(100, 0)),
		StageTimestamp:           metav1.NewMicroTime(time.Unix(100, 0).Add(took)),
	}
	if asked {
		e.Annotations = map[string]string{auditedWebhook: "allow"}
	}
	return e
}

func TestReadPairs(t *testing.T) {
	ms := time.Millisecond
	other := updated(guarded, 9*ms, true)
	other.Verb = "patch"
	probe := updated(guarded, 9*ms, true)
	probe.RequestURI = "/x?dryRun=All"
	pairs, err := readPairs([]auditv1.Event{
		updated(guarded, 2*ms, true), other, updated(bare, 1*ms, false), updated(bare, 3*ms, false), probe, updated(guarded, 4*ms, true),
	}, ofDrains, 2)
	require.NoError(t, err)
	assert.Equal(t, []pair{{guarded: 2 * ms, bare: 1 * ms}, {guarded: 4 * ms, bare: 3 * ms}}, pairs)

	refused := updated(guarded, ms, true)
	refused.ResponseStatus.Code = 403
	for name, tc := range map[string]struct {
		events []auditv1.Event
		update update
		want   string
	}{
		"one is missing":  {[]auditv1.Event{updated(guarded, ms, true)}, ofDrains, "has 1 and 0 updates, want 1 each"},
		"not asked":       {[]auditv1.Event{updated(guarded, ms, false)}, ofDrains, "was asked about an update of the service of ome.io: false, want true"},
		"asked in vain":   {[]auditv1.Event{updated(guarded, ms, true)}, ofSpec, "ome.io: true, want false"},
		"asked of others": {[]auditv1.Event{updated(bare, ms, true)}, ofDrains, "bare.evenkeel.io: true, want false"},
		"refused":         {[]auditv1.Event{refused}, ofDrains, "not answered with 200"},
	} {
		_, err := readPairs(tc.events, tc.update, 1)
		assert.ErrorContains(t, err, tc.want, name)
	}
}

func TestSummarize(t *testing.T) {
	var pairs []pair
	for i := range 100 {
		at := time.Duration(i) * 10 * time.Microsecond
		pairs = append(pairs, pair{bare: 2*time.Millisecond + at, guarded: 3*time.Millisecond + at})
	}
	c := summarize(ofSpec, pairs, harness.Machine{})
	assert.InDelta(t, 2.495, c.WithoutMillis, 1e-9)
	assert.InDelta(t, 3.495, c.WithMillis, 1e-9)
	assert.InDelta(t, 1.401, c.Ratio, 1e-9)
	assert.InDelta(t, 1, c.DifferenceMillis, 1e-9)
	assert.InDelta(t, 1, c.DifferenceUpperMillis, 1e-9, "all pairs differ by the same")
	assert.Greater(t, c.RatioUpper, c.Ratio)
	assert.InDelta(t, 2.98, c.WithoutP99Millis, 1e-9)
	assert.Equal(t, c, summarize(ofSpec, pairs, harness.Machine{}), "the same pairs give the same bounds")
}

func TestTheTwoKindsDifferInTheirGroupOnly(t *testing.T) {
	for _, u := range []update{ofSpec, ofDrains} {
		g, b := guarded.object(7, u), bare.object(7, u)
		assert.Equal(t, "ome.io/v1beta1", g.GetAPIVersion())
		assert.Equal(t, bareGroup+"/v1beta1", b.GetAPIVersion())
		b.SetAPIVersion(g.GetAPIVersion())
		assert.Equal(t, g, b)
		assert.NotEqual(t, guarded.object(8, u), g, "each update changes something")
	}
}

func TestWriteTable(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, writeTable(&out, []Case{{Update: ofSpec, Pairs: 2000, WithoutMillis: 2, WithMillis: 2.05, Ratio: 1.025}}))
	assert.Contains(t, out.String(), "spec   2000       2.000    2.050  1.025")
}
