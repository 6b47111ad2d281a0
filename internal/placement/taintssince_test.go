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

package placement

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func TestTaintAddedAt(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	taint := modelplane.Taint{Key: "a", Value: "v", Effect: modelplane.TaintEffectNoExecute}
	for _, tc := range []struct {
		name       string
		annotation string
		added      *metav1.Time
		want       time.Time
	}{
		{name: "nobody knows"},
		{name: "the field", added: ptr.To(metav1.NewTime(noon)), want: noon},
		{name: "the annotation", annotation: `[{"key":"a","value":"v","effect":"NoExecute","since":"2026-03-01T12:00:00Z"}]`, want: noon},
		{name: "the field wins", added: ptr.To(metav1.NewTime(noon)), annotation: `[{"key":"a","value":"v","effect":"NoExecute","since":"2026-03-01T11:00:00Z"}]`, want: noon},
		{name: "of two entries the earlier, in this order", annotation: `[{"key":"a","value":"v","effect":"NoExecute","since":"2026-03-01T12:00:00Z"},{"key":"a","value":"v","effect":"NoExecute","since":"2026-03-01T13:00:00Z"}]`, want: noon},
		{name: "and in that", annotation: `[{"key":"a","value":"v","effect":"NoExecute","since":"2026-03-01T13:00:00Z"},{"key":"a","value":"v","effect":"NoExecute","since":"2026-03-01T12:00:00Z"}]`, want: noon},
		{name: "another value is another taint", annotation: `[{"key":"a","value":"w","effect":"NoExecute","since":"2026-03-01T12:00:00Z"}]`},
		{name: "another effect too", annotation: `[{"key":"a","value":"v","effect":"NoSchedule","since":"2026-03-01T12:00:00Z"}]`},
		{name: "another key too", annotation: `[{"key":"b","value":"v","effect":"NoExecute","since":"2026-03-01T12:00:00Z"}]`},
		{name: "cannot be read", annotation: `{"a": "2026-03-01T12:00:00Z"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{evenkeel.AnnotationTaintsSince: tc.annotation}}}
			taint := taint
			taint.TimeAdded = tc.added
			at, known := TaintAddedAt(c, &taint)
			assert.Equal(t, !tc.want.IsZero(), known)
			assert.True(t, tc.want.Equal(at), "%s", at)
		})
	}
}

func TestParseTaintsSinceSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:            "not a JSON list",
		`[{"key":1}]`:   "not a JSON list",
		`[{"key":"a"}]`: `entry 0, of taint "a", has no time in since`,
		`[{"key":"a","effect":"NoExecute","since":"yesterday"}]`: "not a JSON list",
	} {
		_, err := ParseTaintsSince(text)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, evenkeel.AnnotationTaintsSince)
	}
}

func FuzzParseTaintsSince(f *testing.F) {
	f.Add("")
	f.Add(`[{"key":"a","value":"v","effect":"NoExecute","since":"2026-03-01T12:00:00Z"}]`)
	f.Add(`[{"key":"a","effect":"NoExecute","since":"2026-03-01T12:00:00+02:00"},{"key":"","since":"0001-01-02T00:00:00Z"}]`)
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := ParseTaintsSince(text)
		if err != nil {
			return
		}
		again, err := ParseTaintsSince(FormatTaintsSince(entries))
		require.NoError(t, err)
		require.Equal(t, len(entries), len(again))
		require.Equal(t, FormatTaintsSince(entries), FormatTaintsSince(again))
	})
}
