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
	"context"
	"fmt"
	"net/url"

	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// endpointReconciler gives endpoints a backend. The backend is the endpoint object
// itself: where Modelplane makes a Service for it, the gateway of this package looks
// the endpoint up, and finds no backend once it is deleted.
type endpointReconciler struct {
	client client.Client
	counts *counter
}

func (r *endpointReconciler) setUp(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		Named("stand-in-endpoint").
		For(&modelplane.ModelEndpoint{}).
		Complete(r)
}

// Reconcile writes the status of one endpoint if it differs from what it should be.
func (r *endpointReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	endpoint := &modelplane.ModelEndpoint{}
	if err := r.client.Get(ctx, request.NamespacedName, endpoint); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !endpoint.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	old := endpoint.DeepCopy()
	configureBackend(endpoint)
	if equality.Semantic.DeepEqual(old.Status, endpoint.Status) {
		return reconcile.Result{}, nil
	}
	if err := r.client.Status().Patch(ctx, endpoint, lockedPatch(old)); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if backendOf(endpoint) != "" && backendOf(old) == "" {
		r.counts.add(func(c *Counters) { c.EndpointsConfigured++ })
	}
	return reconcile.Result{}, nil
}

func configureBackend(endpoint *modelplane.ModelEndpoint) {
	routing := condition(modelplane.ConditionRoutingReady, true, reasonBackendConfigured, "")
	endpoint.Status.Routing = &modelplane.EndpointRouting{BackendName: endpoint.Name}
	_, err := upstreamOf(endpoint)
	if err != nil {
		routing = condition(modelplane.ConditionRoutingReady, false, reasonInvalidURL, fmt.Sprintf("Invalid spec.url: %v", err))
		endpoint.Status.Routing = nil
	}
	setConditions(&endpoint.Status.Conditions, endpoint.Generation, routing, readyCondition(err == nil))
}

// backendOf returns the name of an endpoint's backend, or nothing if it has none.
func backendOf(endpoint *modelplane.ModelEndpoint) string {
	if endpoint.Status.Routing == nil {
		return ""
	}
	return endpoint.Status.Routing.BackendName
}

// upstreamOf returns scheme and host that an endpoint is reached at.
func upstreamOf(endpoint *modelplane.ModelEndpoint) (*url.URL, error) {
	parsed, err := url.Parse(endpoint.Spec.URL)
	if err != nil {
		return nil, err
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return nil, fmt.Errorf("%q does not begin with http(s)://<host>", endpoint.Spec.URL)
	}
	return &url.URL{Scheme: parsed.Scheme, Host: parsed.Host}, nil
}
