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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestCallsFollowTheConfiguration(t *testing.T) {
	stale := func(name string) admissionregistrationv1.MutatingWebhook {
		return admissionregistrationv1.MutatingWebhook{
			Name:              name,
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{CABundle: []byte("authority")},
			NamespaceSelector: &metav1.LabelSelector{},
			MatchConditions:   []admissionregistrationv1.MatchCondition{{Name: "old", Expression: "true"}},
		}
	}
	before := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "evenkeel-workload-manager"},
		Webhooks:   []admissionregistrationv1.MutatingWebhook{stale("somebody.else.io"), stale("pods.servingpath.evenkeel.io"), stale("deployments.servingpath.evenkeel.io")},
	}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(before).Build()
	r := &CallsReconciler{Client: c, Catalogue: newHandler(t, c).Catalogue, Namespace: "own"}
	key := client.ObjectKeyFromObject(before)
	reconcile := func() *admissionregistrationv1.MutatingWebhookConfiguration {
		_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
		require.NoError(t, err)
		after := &admissionregistrationv1.MutatingWebhookConfiguration{}
		require.NoError(t, c.Get(t.Context(), key, after))
		return after
	}

	after := reconcile()
	assert.Equal(t, before.Webhooks[0], after.Webhooks[0], "not ours")
	for _, w := range after.Webhooks[1:] {
		calls := webhooks[w.Name].calls(r.Catalogue, "own")
		assert.Equal(t, []byte("authority"), w.ClientConfig.CABundle)
		assert.Equal(t, &calls.Namespaces, w.NamespaceSelector)
		assert.Equal(t, &calls.Objects, w.ObjectSelector)
		assert.Equal(t, []admissionregistrationv1.MatchCondition{{Name: "serving-path", Expression: calls.Condition}}, w.MatchConditions)
	}
	assert.Equal(t, after.ResourceVersion, reconcile().ResourceVersion, "nothing is left to patch")

	for name, change := range map[string]func(w *admissionregistrationv1.MutatingWebhook){
		"namespaces": func(w *admissionregistrationv1.MutatingWebhook) { w.NamespaceSelector = nil },
		"objects":    func(w *admissionregistrationv1.MutatingWebhook) { w.ObjectSelector = nil },
		"conditions": func(w *admissionregistrationv1.MutatingWebhook) { w.MatchConditions = nil },
	} {
		changed := after.DeepCopy()
		change(&changed.Webhooks[2])
		changed.ResourceVersion = reconcile().ResourceVersion
		require.NoError(t, c.Update(t.Context(), changed))
		assert.Equal(t, after.Webhooks, reconcile().Webhooks, "%s are put back", name)
	}

	require.NoError(t, c.Delete(t.Context(), before))
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	require.NoError(t, err, "it may be gone")
}
