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
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/standin"
)

// TestAHubWithoutTheExtraFields places and drains on a hub whose schema prunes Evenkeel's fields, so that annotations say
// what they would.
func TestAHubWithoutTheExtraFields(t *testing.T) {
	// The test's own context ends before what it has to clean up.
	portable, err := startHub(context.Background(), "dev/crds-portable")
	require.NoError(t, err)
	shared := hub
	hub = portable
	t.Cleanup(func() {
		hub = shared
		assert.NoError(t, portable.Stop())
	})
	w := newWorld(t, standin.Options{})
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 7}
	require.NoError(t, hub.Client.Create(w.ctx, class))
	w.cluster("east", 4)
	w.deploy("ignored", 1)
	require.Empty(t, w.deployment("ignored").Spec.Template.Spec.SchedulerName, "this hub knows the field")
	w.deploy("chat", 2, func(d *modelplane.ModelDeployment) {
		d.Spec.Template.Spec.SchedulerName = ""
		d.Annotations = map[string]string{
			evenkeel.AnnotationSchedulerName: "evenkeel",
			evenkeel.AnnotationPriorityClass: "urgent",
		}
	})
	w.stays("chat@east/0(h)", "chat@east/1(h)")
	for _, p := range w.placements() {
		assert.Equal(t, int32(7), *p.Spec.Priority)
	}
	w.cluster("west", 4)
	w.setTaints("east", retire)
	w.stays("chat@west/0(h)", "chat@west/1(h)")
}
