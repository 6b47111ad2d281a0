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
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

const webhookFile = root + "/manifests/hub/manager/webhooks.yaml"

// removeGuard deletes the validating webhooks, and waits until the API server calls them no more.
func removeGuard(t *testing.T) {
	t.Helper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel-hub-manager"}}
	require.NoError(t, hub.client.Delete(t.Context(), configuration))
	until(t, "the guard goes on", func(ctx context.Context, service *ome.InferenceService) bool {
		return probeEdit(ctx, service) == nil
	})
}

// awaitGuard waits until the API server has the guard answer: it is there, and trusted.
func awaitGuard(t *testing.T) {
	t.Helper()
	until(t, "the guard does not answer", func(ctx context.Context, service *ome.InferenceService) bool {
		err := probeEdit(ctx, service)
		return err != nil && strings.HasPrefix(err.Error(), denied)
	})
}

// until polls with a service that serves nothing else.
func until(t *testing.T, what string, done func(context.Context, *ome.InferenceService) bool) {
	t.Helper()
	service := &ome.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "probe-"}}
	require.NoError(t, hub.client.Create(t.Context(), service))
	err := wait.PollUntilContextTimeout(t.Context(), interval, patience, true, func(ctx context.Context) (bool, error) {
		return done(ctx, service), nil
	})
	require.NoError(t, err, what)
	require.NoError(t, hub.client.Delete(t.Context(), service))
	hub.warnings.take()
}
