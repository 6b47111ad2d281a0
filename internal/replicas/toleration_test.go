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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func TestTolerationsOf(t *testing.T) {
	d := testDeployment("chat", 1)
	d.Spec.Template.Spec.Tolerations = []modelplane.Toleration{
		{Key: "a", Operator: modelplane.TolerationOpExists},
		{Key: "a", Operator: modelplane.TolerationOpExists, TolerationSeconds: ptr.To[int64](7)},
		{Key: "a", Operator: modelplane.TolerationOpExists, Effect: modelplane.TaintEffectNoSchedule},
		{Operator: modelplane.TolerationOpExists},
		{Key: "b", Value: "v"},
	}
	d.Annotations = map[string]string{evenkeel.AnnotationTolerationSeconds: `{"a": 60, "": 0, "c": 5}`}
	got, err := tolerationsOf(d)
	require.NoError(t, err)
	assert.Equal(t, ptr.To[int64](60), got[0].TolerationSeconds)
	assert.Equal(t, ptr.To[int64](7), got[1].TolerationSeconds, "the field wins")
	assert.Nil(t, got[2].TolerationSeconds, "seconds are about NoExecute")
	assert.Equal(t, ptr.To[int64](0), got[3].TolerationSeconds)
	assert.Nil(t, got[4].TolerationSeconds)
	assert.Nil(t, d.Spec.Template.Spec.Tolerations[0].TolerationSeconds, "the deployment is not changed")

	for _, text := range []string{"soon", `{"a": "60"}`, `{"a": 1.5}`, `[60]`, "60"} {
		d.Annotations[evenkeel.AnnotationTolerationSeconds] = text
		got, err := tolerationsOf(d)
		require.ErrorContains(t, err, "no JSON object of whole seconds", text)
		assert.Equal(t, d.Spec.Template.Spec.Tolerations, got, "an annotation that cannot be read limits nothing")
	}
}

func FuzzTolerationsOf(f *testing.F) {
	f.Add(`{"a": 60, "": 0}`)
	f.Add(`{"a": -9223372036854775808}`)
	f.Add("null")
	f.Fuzz(func(t *testing.T, text string) {
		d := testDeployment("chat", 1)
		d.Spec.Template.Spec.Tolerations = []modelplane.Toleration{{Key: "a", Operator: modelplane.TolerationOpExists}}
		d.Annotations = map[string]string{evenkeel.AnnotationTolerationSeconds: text}
		got, _ := tolerationsOf(d)
		require.Len(t, got, 1)
	})
}

// TestAnUnreadableAnnotationIsTold tells it, and moves nothing.
func TestAnUnreadableAnnotationIsTold(t *testing.T) {
	s := newScene(t, "wants 1 tolerates acme.test/noexecute", "east h:2 NoExecute", "0-1 on east/0 ready", "endpoint east/0")
	s.Deployment.Annotations = map[string]string{evenkeel.AnnotationTolerationSeconds: "soon"}
	result := Decide(s.Observation)
	assert.Empty(t, result.Actions)
	require.NotEmpty(t, result.Events)
	assert.Equal(t, EventInvalidTolerationSeconds, result.Events[0].Reason)
}
