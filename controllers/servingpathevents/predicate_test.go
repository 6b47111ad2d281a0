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

package servingpathevents

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

func TestDeployments(t *testing.T) {
	config, err := configapi.DecodeServingPathConfiguration(nil)
	require.NoError(t, err)
	catalogue, err := servingpath.New(config)
	require.NoError(t, err)
	version := 0
	deployment := func(labels map[string]string) *appsv1.Deployment {
		version++
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Namespace: "lws-system", Name: "d", UID: "1", ResourceVersion: strconv.Itoa(version), Labels: labels,
		}}
	}
	lws, other := deployment(map[string]string{"app.kubernetes.io/name": "lws"}), deployment(nil)
	p := Deployments(catalogue)
	assert.True(t, p.Create(event.CreateEvent{Object: lws}))
	assert.False(t, p.Create(event.CreateEvent{Object: other}))
	assert.False(t, p.Create(event.CreateEvent{Object: &corev1.Pod{}}))
	assert.True(t, p.Update(event.UpdateEvent{ObjectOld: other, ObjectNew: lws}), "it has become a part")
	assert.True(t, p.Update(event.UpdateEvent{ObjectOld: lws, ObjectNew: other}), "it is no part any more: what it had must go")
	assert.False(t, p.Update(event.UpdateEvent{ObjectOld: other, ObjectNew: other}))
	assert.True(t, p.Delete(event.DeleteEvent{Object: lws}))
	assert.False(t, p.Delete(event.DeleteEvent{Object: other}))
	assert.True(t, p.Generic(event.GenericEvent{Object: lws}))
	assert.False(t, p.Generic(event.GenericEvent{Object: other}))
}

func TestWishChanged(t *testing.T) {
	before := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	for name, tc := range map[string]struct {
		change func(*appsv1.Deployment)
		want   bool
	}{
		"status":      {func(d *appsv1.Deployment) { d.Status.Replicas = 1 }, false},
		"spec":        {func(d *appsv1.Deployment) { d.Generation = 2 }, true},
		"labels":      {func(d *appsv1.Deployment) { d.Labels = map[string]string{"a": "b"} }, true},
		"annotations": {func(d *appsv1.Deployment) { d.Annotations = map[string]string{"a": "b"} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			after := before.DeepCopy()
			tc.change(after)
			assert.Equal(t, tc.want, WishChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}))
			assert.True(t, WishChanged().Create(event.CreateEvent{Object: after}))
		})
	}
}
