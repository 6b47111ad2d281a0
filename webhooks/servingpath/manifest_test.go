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

package servingpath

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

func TestTheShippedWebhooks(t *testing.T) {
	config, err := configapi.DecodeServingPathConfiguration(nil)
	require.NoError(t, err)
	catalogue, err := servingpath.New(config)
	require.NoError(t, err)
	data, err := os.ReadFile("../../manifests/workload/webhook.yaml")
	require.NoError(t, err)
	var shipped admissionregistrationv1.MutatingWebhookConfiguration
	require.NoError(t, yaml.UnmarshalStrict(data, &shipped))

	assert.Equal(t, config.Webhooks.Configuration, shipped.Name)
	require.Len(t, shipped.Webhooks, len(webhooks))
	for _, w := range shipped.Webhooks {
		what, known := webhooks[w.Name]
		require.True(t, known, w.Name)
		wanted := w.DeepCopy()
		setCalls(wanted, what.calls(catalogue, config.Webhooks.Namespace))
		assert.Empty(t, cmp.Diff(*wanted, w, cmpopts.EquateEmpty()), w.Name)
		assert.Equal(t, admissionregistrationv1.Ignore, *w.FailurePolicy)
		assert.Equal(t, admissionregistrationv1.SideEffectClassNone, *w.SideEffects)
		assert.EqualValues(t, 2, *w.TimeoutSeconds)
		assert.Equal(t, Path, *w.ClientConfig.Service.Path)
		assert.Equal(t, config.Webhooks.Service, w.ClientConfig.Service.Name)
		assert.Equal(t, config.Webhooks.Namespace, w.ClientConfig.Service.Namespace)
	}
}
