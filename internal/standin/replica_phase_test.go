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
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func TestDecide(t *testing.T) {
	cluster := &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{Name: "east"}}
	failingCluster := &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{
		Name: "east", Annotations: map[string]string{AnnotationFail: "no image"},
	}}
	replica := &modelplane.ModelReplica{Spec: modelplane.ModelReplicaSpec{ClusterName: "east"}}
	failing := replica.DeepCopy()
	failing.Annotations = map[string]string{AnnotationFail: ""}
	serving := replica.DeepCopy()
	setConditions(&serving.Status.Conditions, 1, conditionsOf(phaseServing, "")...)
	failingServing := serving.DeepCopy()
	failingServing.Annotations = failing.Annotations

	for name, tc := range map[string]struct {
		given observation
		want  phase
		again time.Duration
	}{
		"no cluster":                         {observation{replica: replica, loadTime: time.Second}, phaseWaiting, 0},
		"no cluster, no loading time":        {observation{replica: replica}, phaseWaiting, 0},
		"first look":                         {observation{replica: replica, cluster: cluster, loadTime: time.Minute}, phaseLoading, time.Minute},
		"half loaded":                        {observation{replica: replica, cluster: cluster, loadTime: time.Minute, loadingFor: 40 * time.Second}, phaseLoading, 20 * time.Second},
		"loaded":                             {observation{replica: replica, cluster: cluster, loadTime: time.Minute, loadingFor: time.Minute}, phaseServing, 0},
		"no loading time":                    {observation{replica: replica, cluster: cluster}, phaseServing, 0},
		"fails on purpose":                   {observation{replica: failing, cluster: cluster, loadTime: time.Minute, loadingFor: time.Hour}, phaseFailing, 0},
		"fails on purpose, no cluster":       {observation{replica: failing}, phaseFailing, 0},
		"its cluster fails on purpose":       {observation{replica: replica, cluster: failingCluster}, phaseFailing, 0},
		"served and fails on purpose":        {observation{replica: failingServing, cluster: cluster}, phaseFailing, 0},
		"serving stays so":                   {observation{replica: serving, cluster: cluster, loadTime: time.Minute}, phaseServing, 0},
		"serving on a cluster that was lost": {observation{replica: serving, loadTime: time.Minute}, phaseServing, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, message, again := decide(tc.given)
			assert.Equal(t, tc.want, got)
			assert.Equal(t, tc.again, again)
			assert.Equal(t, tc.want == phaseWaiting || tc.want == phaseFailing, message != "", "message %q", message)
		})
	}
}

func TestConditionsOf(t *testing.T) {
	for name, tc := range map[string]struct {
		phase                  phase
		accepted, model, ready string
	}{
		"waiting": {phaseWaiting, "False/WaitingForCluster", "False/WaitingForModel", "False/Creating"},
		"failing": {phaseFailing, "True/Accepted", "False/ModelStarting", "False/Creating"},
		"loading": {phaseLoading, "True/Accepted", "False/ModelStarting", "False/Creating"},
		"serving": {phaseServing, "True/Accepted", "True/Serving", "True/Available"},
	} {
		t.Run(name, func(t *testing.T) {
			conditions := conditionsOf(tc.phase, "")
			for conditionType, want := range map[string]string{
				"ModelAccepted": tc.accepted, "ModelReady": tc.model, "Ready": tc.ready,
			} {
				c := meta.FindStatusCondition(conditions, conditionType)
				assert.Equal(t, want, string(c.Status)+"/"+c.Reason, conditionType)
			}
		})
	}
}

func TestStopwatch(t *testing.T) {
	s := newStopwatch()
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	at := time.Now()
	assert.Zero(t, s.elapsed(a, "1", at))
	assert.Equal(t, time.Second, s.elapsed(a, "1", at.Add(time.Second)))
	assert.Zero(t, s.elapsed(b, "1", at.Add(time.Second)), "another name")
	assert.Zero(t, s.elapsed(a, "2", at.Add(2*time.Second)), "the same name, another object")
	assert.Equal(t, time.Second, s.elapsed(a, "2", at.Add(3*time.Second)))
	s.forget(a)
	assert.Zero(t, s.elapsed(a, "2", at.Add(4*time.Second)))
}

func TestOptionsValidate(t *testing.T) {
	valid := Options{LoadTime: time.Second}
	assert.NoError(t, valid.validate())
	invalid := Options{LoadTime: -1, HoldTime: -1, RouteInterval: -1, Workers: -1}
	err := invalid.validate()
	for _, field := range []string{"LoadTime", "HoldTime", "RouteInterval", "Workers"} {
		assert.ErrorContains(t, err, field)
	}
}
