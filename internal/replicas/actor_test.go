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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func wrote(manager string, age time.Duration, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "modelplane.ai/v1alpha1",
		Time: ptr.To(metav1.NewTime(now.Add(-age))), FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)},
	}
}

func TestTaintedBy(t *testing.T) {
	const taint = `{"f:spec":{"f:taints":{"k:{\"effect\":\"NoExecute\",\"key\":\"acme.test/x\"}":{".":{},"f:effect":{},"f:key":{}}}}}`
	const other = `{"f:spec":{"f:taints":{"k:{\"effect\":\"NoSchedule\",\"key\":\"acme.test/x\"}":{".":{},"f:effect":{},"f:key":{}}}}}`
	status := wrote("modelplane", 0, taint)
	status.Subresource = "status"
	for _, tc := range []struct {
		name string
		by   []metav1.ManagedFieldsEntry
		want string
	}{
		{name: "nobody knows"},
		{"its writer", []metav1.ManagedFieldsEntry{wrote("crossplane", 0, `{"f:spec":{"f:cluster":{}}}`), wrote("kubectl-edit", time.Hour, taint)}, "kubectl-edit"},
		{"the last of several", []metav1.ManagedFieldsEntry{wrote("argocd", time.Minute, taint), wrote("kubectl-edit", time.Hour, taint)}, "argocd"},
		{"who wrote another taint did not", []metav1.ManagedFieldsEntry{wrote("kubectl-edit", 0, other)}, ""},
		{"nor who writes the status", []metav1.ManagedFieldsEntry{status}, ""},
		{"what cannot be read names nobody", []metav1.ManagedFieldsEntry{wrote("kubectl-edit", 0, `[`), {Manager: "none"}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{ManagedFields: tc.by}}
			c.Spec.Taints = []modelplane.Taint{{Key: "acme.test/x", Effect: modelplane.TaintEffectNoExecute}}
			assert.Equal(t, tc.want, taintedBy(c))
			c.Spec.Taints = nil
			assert.Empty(t, taintedBy(c))
		})
	}
}
