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

// webhookKinds are the webhooks of the configuration, by name. Others are left alone.
var webhookKinds = map[string]configapi.ComponentKind{
	"deployments.servingpath.evenkeel.io":  configapi.ComponentDeployment,
	"envoyproxies.servingpath.evenkeel.io": configapi.ComponentEnvoyProxy,
	"pods.servingpath.evenkeel.io":         configapi.ComponentPod,
}

// MatchConditions are those of the webhook for a kind.
func MatchConditions(catalogue *servingpath.Catalogue, kind configapi.ComponentKind) []admissionregistrationv1.MatchCondition {
	return []admissionregistrationv1.MatchCondition{{Name: "serving-path", Expression: catalogue.MatchCondition(kind)}}
}

// ConditionsReconciler keeps the match conditions of the webhook configuration in step with the configured components,
// so that a component that a user adds is sent to the webhook, and nothing else is.
type ConditionsReconciler struct {
	// Client reads and patches the one configuration.
	Client client.Client
	// Catalogue says what the serving path is.
	Catalogue *servingpath.Catalogue
}

// Setup registers it with a manager whose cache holds only the configuration of this program.
func (r *ConditionsReconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("servingpath-conditions").
		For(&admissionregistrationv1.MutatingWebhookConfiguration{}).
		Complete(r)
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Reconcile patches what differs.
func (r *ConditionsReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := r.Client.Get(ctx, request.NamespacedName, configuration); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var operations []operation
	for i := range configuration.Webhooks {
		w := &configuration.Webhooks[i]
		kind, ours := webhookKinds[w.Name]
		if !ours {
			continue
		}
		wanted := MatchConditions(r.Catalogue, kind)
		if !apiequality.Semantic.DeepEqual(w.MatchConditions, wanted) {
			operations = append(operations,
				operation{"test", fmt.Sprintf("/webhooks/%d/name", i), w.Name},
				operation{"add", fmt.Sprintf("/webhooks/%d/matchConditions", i), wanted})
		}
	}
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
