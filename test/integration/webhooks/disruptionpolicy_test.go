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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

// TestAPolicyThatLetsNothingMove is let through with a warning.
func TestAPolicyThatLetsNothingMove(t *testing.T) {
	policy := &evenkeel.DisruptionPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespaced(t), Name: "careful"}}
	policy.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	policy.Spec.MaxUnavailable = ptr.To(intstr.FromString("0%"))
	hub.warnings.take()
	want := []string{`DisruptionPolicy "careful": maxUnavailable 0% lets no replica move (of the ModelDeployments that it selects, none now), ` +
		`so a drain of their clusters does not end; allow at least 1, or choose strategy MakeBeforeBreak`}
	// The API server may learn a moment after the others that it can trust this webhook.
	err := wait.PollUntilContextTimeout(t.Context(), hubtest.Interval, hubtest.Patience, true, func(ctx context.Context) (bool, error) {
		err := hub.client.Create(ctx, policy.DeepCopy(), client.DryRunAll)
		return len(hub.warnings.take()) > 0, err
	})
	require.NoError(t, err)
	require.NoError(t, hub.client.Create(t.Context(), policy))
	assert.Equal(t, want, hub.warnings.take())

	policy.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	require.NoError(t, hub.client.Update(t.Context(), policy))
	assert.Empty(t, hub.warnings.take())
}
