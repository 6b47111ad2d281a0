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
	"context"
	"encoding/json"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// webhooks are those of the configuration, by name. Others are left alone.
var webhooks = map[string]subject{
	"deployments.servingpath.evenkeel.io":           {configapi.ComponentDeployment, servingpath.Named},
	"patterned-deployments.servingpath.evenkeel.io": {configapi.ComponentDeployment, servingpath.Patterned},
	"envoyproxies.servingpath.evenkeel.io":          {configapi.ComponentEnvoyProxy, servingpath.Everywhere},
	"pods.servingpath.evenkeel.io":                  {configapi.ComponentPod, servingpath.Everywhere},
}

// subject is what a webhook is about.
type subject struct {
	kind  configapi.ComponentKind
	where servingpath.Where
}

func (s subject) calls(catalogue *servingpath.Catalogue, own string) servingpath.Calls {
	return catalogue.CallsFor(s.kind, s.where, own)
}

// setCalls makes a webhook be called for what the serving path has of a kind.
func setCalls(w *admissionregistrationv1.MutatingWebhook, calls servingpath.Calls) {
	w.NamespaceSelector, w.ObjectSelector = &calls.Namespaces, &calls.Objects
	w.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "serving-path", Expression: calls.Condition}}
}

// CallsReconciler keeps the selectors and match conditions of the webhook configuration in step with the configured
// components, so that a component that a user adds is sent to the webhook, and nothing else is.
type CallsReconciler struct {
	// Client reads and patches the one configuration.
	Client client.Client
	// Catalogue says what the serving path is.
	Catalogue *servingpath.Catalogue
	// Namespace of the webhook's server, for which it is never called.
	Namespace string
}

// Setup registers it with a manager whose cache holds only the configuration of this program.
func (r *CallsReconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("servingpath-calls").
		For(&admissionregistrationv1.MutatingWebhookConfiguration{}).
		Complete(r)
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Reconcile patches what differs.
func (r *CallsReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := r.Client.Get(ctx, request.NamespacedName, configuration); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	operations := r.corrections(configuration)
	if len(operations) == 0 {
		return ctrl.Result{}, nil
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return ctrl.Result{}, err
	}
	err = r.Client.Patch(ctx, configuration, client.RawPatch(types.JSONPatchType, patch))
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, err
}

// corrections are what is to be patched. Field by field, so that what others write at the same time survives.
func (r *CallsReconciler) corrections(configuration *admissionregistrationv1.MutatingWebhookConfiguration) []operation {
	var operations []operation
	for i := range configuration.Webhooks {
		have := &configuration.Webhooks[i]
		what, ours := webhooks[have.Name]
		if !ours {
			continue
		}
		wanted := have.DeepCopy()
		setCalls(wanted, what.calls(r.Catalogue, r.Namespace))
		if apiequality.Semantic.DeepEqual(have, wanted) {
			continue
		}
		path := fmt.Sprintf("/webhooks/%d/", i)
		operations = append(operations,
			operation{"test", path + "name", have.Name},
			operation{"add", path + "namespaceSelector", wanted.NamespaceSelector},
			operation{"add", path + "objectSelector", wanted.ObjectSelector},
			operation{"add", path + "matchConditions", wanted.MatchConditions})
	}
	return operations
}
