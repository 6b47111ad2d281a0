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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

var (
	noon  = metav1.NewTime(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	later = metav1.NewTime(noon.Add(time.Hour))

	maintenance = modelplane.Taint{Key: "maintenance", Effect: modelplane.TaintEffectNoExecute}
	cordon      = modelplane.Taint{Key: "maintenance", Effect: modelplane.TaintEffectNoSchedule}
	gpu         = modelplane.Taint{Key: "gpu", Value: "only", Effect: modelplane.TaintEffectNoSchedule}
)

func managed(manager string, operation metav1.ManagedFieldsOperationType, at metav1.Time, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Time: &at, FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}}
}

func cluster() *modelplane.InferenceCluster {
	status := managed("controller", metav1.ManagedFieldsOperationUpdate, noon, `{"f:spec":{"f:taints":{"k:{\"effect\":\"NoExecute\",\"key\":\"maintenance\"}":{}}}}`)
	status.Subresource = "status"
	return &modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
			managed("person", metav1.ManagedFieldsOperationApply, later,
				`{"f:spec":{"f:taints":{"k:{\"effect\":\"NoExecute\",\"key\":\"maintenance\"}":{".":{},"f:effect":{},"f:key":{}}}}}`),
			managed("git", metav1.ManagedFieldsOperationApply, noon,
				`{"f:spec":{"f:cluster":{},"f:taints":{"k:{\"effect\":\"NoSchedule\",\"key\":\"gpu\"}":{".":{},"f:effect":{},"f:key":{},"f:value":{}}}}}`),
			managed("labeller", metav1.ManagedFieldsOperationUpdate, noon, `{"f:metadata":{"f:labels":{}}}`),
			managed("broken", metav1.ManagedFieldsOperationUpdate, noon, `{`),
			status,
		}},
		Spec: modelplane.InferenceClusterSpec{Taints: []modelplane.Taint{gpu, maintenance}},
	}
}

func TestOwners(t *testing.T) {
	assert.Equal(t, []string{"person"}, Owners(cluster(), maintenance))
	assert.Equal(t, []string{"git"}, Owners(cluster(), gpu))
	assert.Empty(t, Owners(cluster(), cordon))
	assert.Equal(t, []string{"git"}, OthersWriting(cluster(), "person"))
	assert.Equal(t, []string{"git", "person"}, OthersWriting(cluster(), "somebody"))
	assert.Equal(t, []modelplane.Taint{gpu}, applied(cluster(), "git"))
	assert.Empty(t, applied(cluster(), "labeller"))
}

// TestOwnersOfAtomicList is a hub where the list is one value, which whoever writes it has as a whole.
func TestOwnersOfAtomicList(t *testing.T) {
	c := cluster()
	c.ManagedFields = []metav1.ManagedFieldsEntry{managed("git", metav1.ManagedFieldsOperationApply, noon, `{"f:spec":{"f:taints":{}}}`)}
	assert.Equal(t, []string{"git"}, Owners(c, maintenance))
	assert.Equal(t, []string{"git"}, OthersWriting(c, "person"))
}

func TestSince(t *testing.T) {
	c := cluster()
	since, known := Since(c, maintenance)
	assert.True(t, known)
	assert.Equal(t, later.Time, since)
	_, known = Since(c, cordon)
	assert.False(t, known)
	timed := maintenance
	timed.TimeAdded = &noon
	since, known = Since(c, timed)
	assert.True(t, known)
	assert.Equal(t, noon.Time, since, "the taint's own time counts")
}

func TestLists(t *testing.T) {
	list := []modelplane.Taint{gpu, maintenance}
	changed := gpu
	changed.Value = "other"
	assert.Equal(t, []modelplane.Taint{maintenance, changed}, with(list, changed), "key and effect make the entry")
	assert.Equal(t, []modelplane.Taint{gpu, maintenance, cordon}, with(list, cordon))
	assert.Equal(t, []modelplane.Taint{gpu}, without(list, maintenance))
	assert.Equal(t, list, without(list, cordon))
	assert.Equal(t, []modelplane.Taint{gpu}, lost(list, []modelplane.Taint{maintenance}))
	assert.Empty(t, lost(list, list))
	assert.Equal(t, []modelplane.Taint{gpu, maintenance}, list, "the lists given are not changed")
}
