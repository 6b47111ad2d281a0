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

package servingpath

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// person gives the manager other than an installer that has set a field, or "". A field that nobody has set is a
// default of the API server. The subresource of a manager does not matter: kubectl scale sets the same field.
func (c *Catalogue) person(entries []metav1.ManagedFieldsEntry, path fieldpath.Path) string {
	for i := range entries {
		entry := &entries[i]
		if entry.FieldsV1 == nil || globs(c.installers, entry.Manager) {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.Raw)); err != nil {
			continue // nobody can tell what it owns
		}
		if set.Has(path) {
			return entry.Manager
		}
	}
	return ""
}

var (
	replicasPath       = fieldpath.MakePathOrDie("spec", "replicas")
	maxUnavailablePath = fieldpath.MakePathOrDie("spec", "strategy", "rollingUpdate", "maxUnavailable")
	maxSurgePath       = fieldpath.MakePathOrDie("spec", "strategy", "rollingUpdate", "maxSurge")
)
