//go:build integration

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

package manager

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/standin"
)

func TestOneReplicaIsPlacedAndServes(t *testing.T) {
	w := newWorld(t, standin.Options{})
	w.cluster("cluster-a", 2)
	w.deploy("my-model", 1)
	w.stays("my-model@cluster-a/0(h)")
	w.expectCondition("my-model", modelplane.ConditionReplicasReady, metav1.ConditionTrue, "AllReplicasReady", "1 of 1 ready")
	w.expectCondition("my-model", modelplane.ConditionReplicasScheduled, metav1.ConditionTrue, "ReplicasCreated", "Scheduled 1 of 1 replicas")
	w.expectCondition("my-model", modelplane.ConditionReady, metav1.ConditionTrue, "Available", "")
	w.expectEvent("my-model", "ReplicasScheduled", "Scheduled 1 replicas across 1 clusters: cluster-a")
	assert.Equal(t, "my-model-5ab63", w.replica("my-model-5ab63").Name)
}

func TestDrainMovesOneAtATime(t *testing.T) {
	w := newWorld(t, standin.Options{})
	w.cluster("east", 2)
	w.deploy("chat", 2)
	w.stays("chat@east/0(h)", "chat@east/1(h)")
	w.cluster("west", 2)
	w.setTaints("east", modelplane.Taint{Key: "acme.test/retire", Effect: modelplane.TaintEffectNoExecute})
	w.stays("chat@west/0(h)", "chat@west/1(h)")
	w.setTaints("east")
	w.stays("chat@west/0(h)", "chat@west/1(h)")
}
