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

package taints

import (
	"bytes"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// same tells whether two taints are one entry of the list, whose keys are key and effect.
func same(a, b modelplane.Taint) bool { return a.Key == b.Key && a.Effect == b.Effect }

// Find gives a cluster's taint of a key and an effect.
func Find(cluster *modelplane.InferenceCluster, key string, effect modelplane.TaintEffect) (modelplane.Taint, bool) {
	i := slices.IndexFunc(cluster.Spec.Taints, func(t modelplane.Taint) bool { return t.Key == key && t.Effect == effect })
	if i < 0 {
		return modelplane.Taint{}, false
	}
	return cluster.Spec.Taints[i], true
}

// entryElement is how managed fields name a taint.
func entryElement(taint modelplane.Taint) fieldpath.PathElement {
	return fieldpath.PathElement{Key: &value.FieldList{
		{Name: "effect", Value: value.NewValueInterface(string(taint.Effect))},
		{Name: "key", Value: value.NewValueInterface(taint.Key)},
	}}
}

// applied gives the taints that a manager has by server-side apply, as they are now. Its next
// apply must repeat them, or they go.
func applied(cluster *modelplane.InferenceCluster, manager string) []modelplane.Taint {
	var owned []modelplane.Taint
	for i := range cluster.ManagedFields {
		entry := &cluster.ManagedFields[i]
		if entry.Manager != manager || entry.Operation != "Apply" || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if set.FromJSON(bytes.NewReader(entry.FieldsV1.Raw)) != nil {
			continue
		}
		taints := set.WithPrefix(pathSpec[0]).WithPrefix(pathTaints[1])
		for _, taint := range cluster.Spec.Taints {
			element := entryElement(taint)
			if taints.Members.Has(element) || !taints.WithPrefix(element).Empty() {
				owned = append(owned, taint)
			}
		}
	}
	return owned
}

// with gives a list in which a taint is, and without one in which it is not.
func with(list []modelplane.Taint, taint modelplane.Taint) []modelplane.Taint {
	return append(without(list, taint), taint)
}

func without(list []modelplane.Taint, taint modelplane.Taint) []modelplane.Taint {
	return slices.DeleteFunc(slices.Clone(list), func(t modelplane.Taint) bool { return same(t, taint) })
}

// lost gives what was in a list and is not any more.
func lost(before, after []modelplane.Taint) []modelplane.Taint {
	return slices.DeleteFunc(slices.Clone(before), func(t modelplane.Taint) bool {
		return slices.ContainsFunc(after, func(other modelplane.Taint) bool { return same(t, other) })
	})
}
