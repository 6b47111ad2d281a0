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

package v1alpha1

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

func TestDecodePreemptionArgs(t *testing.T) {
	tests := map[string]struct {
		obj     runtime.Object
		want    int32
		wantErr []string
	}{
		"nothing configured":            {obj: nil, want: 3},
		"empty":                         {obj: raw(`{}`), want: 3},
		"without apiVersion and kind":   {obj: raw(`{"maxNamedClusters":5}`), want: 5},
		"none is not the default":       {obj: raw(`{"maxNamedClusters":0}`), want: 0},
		"with apiVersion and kind":      {obj: raw(`{"apiVersion":"config.evenkeel.io/v1alpha1","kind":"PreemptionArgs","maxNamedClusters":1}`), want: 1},
		"YAML":                          {obj: raw("maxNamedClusters: 2\n"), want: 2},
		"made in a program":             {obj: &PreemptionArgs{MaxNamedClusters: ptr.To[int32](10)}, want: 10},
		"made in a program, and empty":  {obj: &PreemptionArgs{}, want: 3},
		"mode to explain":               {obj: raw(`{"mode":"Explain"}`), want: 3},
		"mode to preempt":               {obj: raw(`{"mode":"Preempt"}`), want: 3},
		"unknown mode":                  {obj: raw(`{"mode":"preempt"}`), wantErr: []string{"mode", `"preempt"`, `"Explain", "Preempt"`}},
		"unknown field":                 {obj: raw(`{"maxNamedCluster":5}`), wantErr: []string{"PreemptionArgs", `unknown field "maxNamedCluster"`}},
		"field given twice":             {obj: raw(`{"maxNamedClusters":5,"maxNamedClusters":6}`), wantErr: []string{`"maxNamedClusters"`, "duplicate"}},
		"field in the wrong case":       {obj: raw(`{"MaxNamedClusters":5}`), wantErr: []string{`unknown field "MaxNamedClusters"`}},
		"text for a number":             {obj: raw(`{"maxNamedClusters":"many"}`), wantErr: []string{"maxNamedClusters"}},
		"negative":                      {obj: raw(`{"maxNamedClusters":-1}`), wantErr: []string{"maxNamedClusters", "-1", "between 0 and 10"}},
		"too many":                      {obj: raw(`{"maxNamedClusters":11}`), wantErr: []string{"maxNamedClusters", "11", "between 0 and 10"}},
		"other version":                 {obj: raw(`{"apiVersion":"config.evenkeel.io/v2","kind":"PreemptionArgs"}`), wantErr: []string{"want PreemptionArgs of config.evenkeel.io/v1alpha1, got PreemptionArgs of config.evenkeel.io/v2"}},
		"other kind":                    {obj: raw(`{"apiVersion":"config.evenkeel.io/v1alpha1","kind":"RankArgs"}`), wantErr: []string{"want PreemptionArgs of config.evenkeel.io/v1alpha1, got RankArgs of config.evenkeel.io/v1alpha1"}},
		"kube-scheduler's own group":    {obj: raw(`{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"PreemptionArgs"}`), wantErr: []string{"want PreemptionArgs of config.evenkeel.io/v1alpha1, got PreemptionArgs of kubescheduler.config.k8s.io/v1"}},
		"not an object":                 {obj: raw(`[]`), wantErr: []string{"PreemptionArgs"}},
		"not JSON":                      {obj: raw(`{`), wantErr: []string{"PreemptionArgs"}},
		"another program's object":      {obj: &corev1.Pod{}, wantErr: []string{"PreemptionArgs", "v1.Pod"}},
		"made in a program, and absurd": {obj: &PreemptionArgs{MaxNamedClusters: ptr.To[int32](99)}, wantErr: []string{"99"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := DecodePreemptionArgs(tc.obj)
			if len(tc.wantErr) > 0 {
				for _, part := range tc.wantErr {
					require.ErrorContains(t, err, part)
				}
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, *got.MaxNamedClusters)
		})
	}
}

func TestDecodePreemptionArgsLeavesTheCallersObjectAlone(t *testing.T) {
	in := &PreemptionArgs{}
	_, err := DecodePreemptionArgs(in)
	require.NoError(t, err)
	assert.Nil(t, in.MaxNamedClusters)
}

func TestDecodeRefusesAnObjectOfAnotherPackage(t *testing.T) {
	err := Decode([]byte(`{}`), &corev1.Pod{})
	require.ErrorContains(t, err, "v1.Pod")
}

func FuzzDecodePreemptionArgs(f *testing.F) {
	for _, seed := range []string{`{}`, `null`, `{"maxNamedClusters":1}`, "maxNamedClusters: 2", `{"kind":"Status"}`, "---\n---\n", "a: &a [*a]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := DecodePreemptionArgs(&runtime.Unknown{Raw: data})
		if err != nil {
			return
		}
		if n := *got.MaxNamedClusters; n < 0 || n > MaxMaxNamedClusters {
			t.Errorf("accepted maxNamedClusters %d from %q", n, data)
		}
	})
}

func raw(s string) *runtime.Unknown {
	return &runtime.Unknown{Raw: []byte(s), ContentType: runtime.ContentTypeJSON}
}
