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
	"slices"
	"strings"
	"time"

	"gomodules.xyz/jsonpatch/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// cluster is the part of an InferenceCluster that the webhook reads.
type cluster struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Taints []modelplane.Taint `json:"taints"`
	} `json:"spec"`
}

// inferenceCluster is the form in which internal/placement reads times.
func (c *cluster) inferenceCluster() *modelplane.InferenceCluster {
	return &modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{Annotations: c.Metadata.Annotations},
		Spec:       modelplane.InferenceClusterSpec{Taints: c.Spec.Taints},
	}
}

// find gives the taint that is the same but for its time.
func (c *cluster) find(taint *modelplane.Taint) *modelplane.Taint {
	for i := range c.Spec.Taints {
		if t := &c.Spec.Taints[i]; t.Key == taint.Key && t.Value == taint.Value && t.Effect == taint.Effect {
			return t
		}
	}
	return nil
}

// since tells since when the edited cluster has a taint. A time that the edit itself states wins; of a taint that was
// there before, the time is the one known before, and may be unknown; any other taint is there from now on.
func since(old, edited *cluster, taint *modelplane.Taint, now time.Time) (at time.Time, known bool) {
	before := old.find(taint)
	at, known = placement.TaintAddedAt(edited.inferenceCluster(), taint)
	stale := taint.TimeAdded == nil && sameEntries(old, edited, taint)
	if known && !stale {
		return at, true
	}
	if before != nil {
		return placement.TaintAddedAt(old.inferenceCluster(), before)
	}
	return now, true
}

// sameEntries tells whether the annotation says of a taint what it said before the edit. For a taint that is added, that
// is what an earlier taint of the same name has left behind.
func sameEntries(old, edited *cluster, taint *modelplane.Taint) bool {
	return slices.Equal(entriesOf(old, taint), entriesOf(edited, taint))
}

func entriesOf(c *cluster, taint *modelplane.Taint) []int64 {
	entries, err := placement.ParseTaintsSince(c.Metadata.Annotations[evenkeel.AnnotationTaintsSince])
	if err != nil {
		return nil
	}
	var times []int64
	for _, e := range entries {
		if e.IsOf(taint) {
			times = append(times, e.Since.Unix())
		}
	}
	return times
}

// fieldPatch writes the times into the taints.
func fieldPatch(old, edited *cluster, now time.Time) []jsonpatch.Operation {
	var patch []jsonpatch.Operation
	for i := range edited.Spec.Taints {
		taint := &edited.Spec.Taints[i]
		if taint.Effect != modelplane.TaintEffectNoExecute || taint.TimeAdded != nil {
			continue
		}
		if at, known := since(old, edited, taint, now); known {
			patch = append(patch, jsonpatch.NewOperation("add", fieldPath(i), at.UTC().Format(time.RFC3339)))
		}
	}
	return patch
}

// annotationPatch writes the times into the annotation, and takes those out whose taints are gone.
func annotationPatch(old, edited *cluster, now time.Time) []jsonpatch.Operation {
	var entries []placement.TaintSince
	for i := range edited.Spec.Taints {
		taint := &edited.Spec.Taints[i]
		if taint.Effect != modelplane.TaintEffectNoExecute {
			continue
		}
		if at, known := since(old, edited, taint, now); known {
			entries = append(entries, placement.TaintSince{Key: taint.Key, Value: taint.Value, Effect: taint.Effect, Since: metav1.NewTime(at.UTC().Truncate(time.Second))})
		}
	}
	text := placement.FormatTaintsSince(entries)
	current, set := edited.Metadata.Annotations[evenkeel.AnnotationTaintsSince]
	path := "/metadata/annotations/" + strings.ReplaceAll(evenkeel.AnnotationTaintsSince, "/", "~1")
	switch {
	case text == "" && set:
		return []jsonpatch.Operation{jsonpatch.NewOperation("remove", path, nil)}
	case text == "" || set && text == current:
		return nil
	case edited.Metadata.Annotations == nil:
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", "/metadata/annotations", map[string]string{evenkeel.AnnotationTaintsSince: text})}
	default:
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", path, text)}
	}
}
