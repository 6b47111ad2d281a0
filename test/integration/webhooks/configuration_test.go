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

package webhooks

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

const webhookFile = hubtest.Root + "/manifests/hub/manager/webhooks.yaml"

// removeGuard deletes the validating webhooks, and waits until the API server calls them no more.
func removeGuard(t *testing.T) {
	t.Helper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel-hub-manager"}}
	require.NoError(t, hub.client.Delete(t.Context(), configuration))
	service := &ome.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "probe-"}}
	require.NoError(t, hub.client.Create(t.Context(), service))
	poll(t, "the guard goes on", func(ctx context.Context) bool { return probeEdit(ctx, service) == nil })
	require.NoError(t, hub.client.Delete(t.Context(), service))
	hub.warnings.take()
}
