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
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// TaintSince is since when a cluster has a taint: an entry of the annotation evenkeel.io/taints-since.
type TaintSince struct {
	Key    string                 `json:"key"`
	Value  string                 `json:"value,omitempty"`
	Effect modelplane.TaintEffect `json:"effect"`
	Since  metav1.Time            `json:"since"`
}

// IsOf tells whether the entry is about a taint: key, value and effect are the same. A taint whose value is edited is
// another one, as on a node.
func (t TaintSince) IsOf(taint *modelplane.Taint) bool {
	return t.Key == taint.Key && t.Value == taint.Value && t.Effect == taint.Effect
}

// ParseTaintsSince reads the annotation evenkeel.io/taints-since. An empty text has no entries. An error says what is
// wrong with a text that nobody but a person can have written so.
func ParseTaintsSince(text string) ([]TaintSince, error) {
	if text == "" {
		return nil, nil
	}
	var entries []TaintSince
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return nil, fmt.Errorf("annotation %s is not a JSON list of taints with their times: %w", evenkeel.AnnotationTaintsSince, err)
	}
	for i := range entries {
		if entries[i].Since.IsZero() {
			return nil, fmt.Errorf("annotation %s: entry %d, of taint %q, has no time in since", evenkeel.AnnotationTaintsSince, i, entries[i].Key)
		}
	}
	return entries, nil
}

// FormatTaintsSince writes the annotation evenkeel.io/taints-since, sorted; without entries it is empty, and the
// annotation is to be removed.
func FormatTaintsSince(entries []TaintSince) string {
	if len(entries) == 0 {
		return ""
	}
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b TaintSince) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Effect, b.Effect), a.Since.Compare(b.Since.Time))
	})
	text, err := json.Marshal(sorted)
	if err != nil { // strings and times cannot fail
		return ""
	}
	return string(text)
}

// TaintAddedAt tells when a taint of a cluster was added: its timeAdded, or else the earliest entry about it in the
// annotation evenkeel.io/taints-since. It is not known without either, and where the annotation cannot be read.
func TaintAddedAt(cluster *modelplane.InferenceCluster, taint *modelplane.Taint) (at time.Time, known bool) {
	if taint.TimeAdded != nil && !taint.TimeAdded.IsZero() {
		return taint.TimeAdded.Time, true
	}
	entries, err := ParseTaintsSince(cluster.Annotations[evenkeel.AnnotationTaintsSince])
	if err != nil {
		return time.Time{}, false
	}
	for i := range entries {
		if entries[i].IsOf(taint) && (!known || entries[i].Since.Time.Before(at)) {
			at, known = entries[i].Since.Time, true
		}
	}
	return at, known
}
