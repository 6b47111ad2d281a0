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

package replicas

import (
	"bytes"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// actorOf names who asked for what makes a replica leave: the writer, as managed fields know it, of the taint or of the
// template. Empty where nobody did, or nobody can tell.
func (s *state) actorOf(u *unit) string {
	switch u.cause.reason {
	case evenkeel.CauseTaint:
		if u.cluster == nil {
			return ""
		}
		return taintedBy(u.cluster.InferenceCluster)
	case evenkeel.CauseTemplate:
		return writerOf(s.Deployment, fieldpath.MakePathOrDie("spec", "template"))
	case evenkeel.CauseScaleDown:
		return writerOf(s.Deployment, fieldpath.MakePathOrDie("spec", "replicas"))
	}
	return ""
}

// taintedBy is the last writer of a NoExecute taint of a cluster.
func taintedBy(c *modelplane.InferenceCluster) string {
	var paths []fieldpath.Path
	for i := range c.Spec.Taints {
		if taint := &c.Spec.Taints[i]; taint.Effect == modelplane.TaintEffectNoExecute {
			key := value.FieldList{
				{Name: "effect", Value: value.NewValueInterface(string(taint.Effect))},
				{Name: "key", Value: value.NewValueInterface(taint.Key)},
			}
			paths = append(paths, fieldpath.Path{
				{FieldName: ptrTo("spec")}, {FieldName: ptrTo("taints")}, {Key: &key},
			})
		}
	}
	return writerOf(c, paths...)
}

func ptrTo(s string) *string { return &s }

// writerOf names the manager that has written one of the fields, or something below it, last. What cannot be read names
// nobody.
func writerOf(o metav1.Object, paths ...fieldpath.Path) string {
	name := ""
	var last time.Time
	for _, entry := range o.GetManagedFields() {
		if entry.FieldsV1 == nil || entry.Subresource != "" {
			continue
		}
		set := &fieldpath.Set{}
		if set.FromJSON(bytes.NewReader(entry.FieldsV1.Raw)) != nil {
			continue
		}
		var at time.Time
		if entry.Time != nil {
			at = entry.Time.Time
		}
		if hasAny(set, paths) && (name == "" || at.After(last)) {
			name, last = entry.Manager, at
		}
	}
	return name
}

func hasAny(set *fieldpath.Set, paths []fieldpath.Path) bool {
	for _, path := range paths {
		below := set
		for _, element := range path {
			below = below.WithPrefix(element)
		}
		if set.Has(path) || !below.Empty() {
			return true
		}
	}
	return false
}
