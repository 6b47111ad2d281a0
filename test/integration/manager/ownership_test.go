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

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/standin"
)

// TestOwnership is about whose deployments the manager keeps, and what it leaves alone.
func TestOwnership(t *testing.T) {
	w := newWorld(t, standin.Options{})

	w.run("another scheduler's deployment", func(w *world) {
		w.cluster("east", 4)
		w.deploy("chat", 1, func(d *modelplane.ModelDeployment) { d.Spec.Template.Spec.SchedulerName = "other" })
		w.deploy("plain", 1, func(d *modelplane.ModelDeployment) { d.Spec.Template.Spec.SchedulerName = "" })
		w.stays()
		assert.Empty(t, w.placements())
		assert.Empty(t, w.deployment("chat").Status.Conditions)
	})

	w.run("a deployment that asks by annotation", func(w *world) {
		w.cluster("east", 4)
		w.deploy("chat", 1, func(d *modelplane.ModelDeployment) {
			d.Spec.Template.Spec.SchedulerName = ""
			d.Annotations = map[string]string{evenkeel.AnnotationSchedulerName: "evenkeel"}
		})
		w.stays("chat@east/0(h)")
	})

	w.run("a deployment that something else composes", func(w *world) {
		w.cluster("east", 4)
		w.deploy("chat", 1, func(d *modelplane.ModelDeployment) {
			d.Spec.Crossplane = &modelplane.CrossplaneSpec{CompositionRef: &modelplane.NameReference{Name: "modeldeployments.modelplane.ai"}}
		})
		w.expectEvent("chat", "CompositionOwnsReplicas", `composition "modeldeployments.modelplane.ai" makes its replicas`)
		w.stays()
		assert.Empty(t, w.placements())
		assert.Empty(t, w.deployment("chat").Status.Conditions)
	})

	w.run("a deployment that is given up keeps its replicas", func(w *world) {
		w.cluster("east", 4)
		w.deploy("chat", 1)
		w.expectCondition("chat", replicasReady, metav1.ConditionTrue, "AllReplicasReady", "1 of 1 ready")
		uid := w.replica("chat-32a9b").UID
		w.edit("chat", func(d *modelplane.ModelDeployment) { d.Spec.Template.Spec.SchedulerName = "" })
		w.expectPlacements(0)
		w.stays("chat@east/0(h)")
		w.edit("chat", func(d *modelplane.ModelDeployment) { d.Spec.Template.Spec.SchedulerName = "evenkeel" })
		w.expectPlacements(1)
		w.stays("chat@east/0(h)")
		assert.Equal(t, uid, w.replica("chat-32a9b").UID)
	})
}
