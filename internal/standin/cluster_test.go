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

package standin

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func TestPublishStatusLeavesOtherConditionsAlone(t *testing.T) {
	cluster := &modelplane.InferenceCluster{}
	cluster.Generation = 7
	cluster.Spec.Cluster.Existing = &modelplane.ExistingCluster{Cache: &modelplane.ExistingClusterCache{StorageClassName: "fast"}}
	cluster.Spec.NodePools = []modelplane.NodePool{{Name: "a", ClassName: "gone"}}
	drained := metav1.Condition{Type: "Drained", Status: metav1.ConditionTrue, Reason: "Drained"}
	cluster.Status.Conditions = []metav1.Condition{drained}

	publishStatus(cluster, "127.0.0.1:1", nil)
	assert.Equal(t, "127.0.0.1:1", cluster.Status.Gateway.Address)
	assert.Equal(t, "fast", cluster.Status.Cache.StorageClassName)
	assert.Equal(t, &drained, meta.FindStatusCondition(cluster.Status.Conditions, "Drained"))
	assert.True(t, meta.IsStatusConditionFalse(cluster.Status.Conditions, modelplane.ConditionReady))
	running := meta.FindStatusCondition(cluster.Status.Conditions, conditionClusterReady)
	assert.Equal(t, "Waiting for InferenceClasses: gone", running.Message)
	assert.EqualValues(t, 7, running.ObservedGeneration)
}
