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
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

var (
	pathSpec   = fieldpath.MakePathOrDie("spec")
	pathTaints = fieldpath.MakePathOrDie("spec", "taints")
)

// Owners names the managers, as the cluster's managed fields know them, that have a taint, or
// have the list of taints as a whole.
func Owners(cluster *modelplane.InferenceCluster, taint modelplane.Taint) []string {
	return ownersOf(cluster, func(taints *fieldpath.Set) bool {
		entry := entryElement(taint)
		return taints.Members.Has(entry) || !taints.WithPrefix(entry).Empty()
	})
}

// Since tells since when a cluster has a taint: by the taint's own time, else, as an estimate, by when a manager that
// has the taint wrote it. It is not ok where neither is known.
func Since(cluster *modelplane.InferenceCluster, taint modelplane.Taint) (since time.Time, ok bool) {
	if at, known := placement.TaintAddedAt(cluster, &taint); known {
		return at, true
	}
	owners := Owners(cluster, taint)
	for i := range cluster.ManagedFields {
		entry := &cluster.ManagedFields[i]
		if entry.Subresource != "" || entry.Time == nil || !slices.Contains(owners, entry.Manager) {
			continue
		}
		if !ok || entry.Time.Time.Before(since) {
			since, ok = entry.Time.Time, true
		}
	}
	return since, ok
}

// OthersWriting names the managers other than manager that write any of a cluster's taints. One
// that keeps the list in files, such as a GitOps controller, may put its own list back.
func OthersWriting(cluster *modelplane.InferenceCluster, manager string) []string {
	names := ownersOf(cluster, func(taints *fieldpath.Set) bool { return !taints.Empty() })
	return slices.DeleteFunc(names, func(name string) bool { return name == manager })
}

// ownersOf names the managers whose set of fields below spec.taints is as wanted. A manager that
// has the list itself has everything in it.
func ownersOf(cluster *modelplane.InferenceCluster, wanted func(taints *fieldpath.Set) bool) []string {
	var names []string
	for i := range cluster.ManagedFields {
		entry := &cluster.ManagedFields[i]
		if entry.FieldsV1 == nil || entry.Subresource != "" {
			continue
		}
		set := &fieldpath.Set{}
		if set.FromJSON(bytes.NewReader(entry.FieldsV1.Raw)) != nil {
			continue // what cannot be read names nobody
		}
		taints := set.WithPrefix(pathSpec[0]).WithPrefix(pathTaints[1])
		if (wholeList(set) && taints.Empty() || wanted(taints)) && !slices.Contains(names, entry.Manager) {
			names = append(names, entry.Manager)
		}
	}
	slices.Sort(names)
	return names
}

// wholeList tells whether a manager has the list as one value, as on hubs where it is atomic.
func wholeList(set *fieldpath.Set) bool { return set.Has(pathTaints) }
