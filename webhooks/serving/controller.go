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

package serving

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// checkInterval is how often the age of certificates is looked at.
const checkInterval = 12 * time.Hour

// reconciler keeps the Secret, what the server uses of it, and the webhook configurations in step.
type reconciler struct {
	server *Server
	client client.Client
}

func (s *Server) setupController(mgr ctrl.Manager) error {
	r := &reconciler{server: s, client: mgr.GetClient()}
	secret := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: s.options.Namespace, Name: s.options.Secret}}
	toSecret := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{secret}
	})
	b := ctrl.NewControllerManagedBy(mgr).
		Named("webhook-certificates").
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false), MaxConcurrentReconciles: 1}).
		Watches(&corev1.Secret{}, toSecret)
	for _, configuration := range r.configurations() {
		b = b.Watches(configuration, toSecret)
	}
	return b.Complete(r)
}

// configurations gives the names of the webhook configurations in objects to read them into.
func (r *reconciler) configurations() []client.Object {
	var list []client.Object
	if name := r.server.options.Validating; name != "" {
		c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		c.Name = name
		list = append(list, c)
	}
	if name := r.server.options.Mutating; name != "" {
		c := &admissionregistrationv1.MutatingWebhookConfiguration{}
		c.Name = name
		list = append(list, c)
	}
	return list
}

// Reconcile makes the steps of a rotation in the one order in which no call fails: the new authority is stored, then
// published beside the old one, then it signs. Several replicas do the same; of two that write at once one is told to
// look again.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	secret := &corev1.Secret{}
	if err := r.client.Get(ctx, request.NamespacedName, secret); apierrors.IsNotFound(err) {
		log.FromContext(ctx).Info("The Secret for the webhooks' certificates does not exist: create it, empty, as the manifests do")
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	material := keyMaterial(maps.Clone(secret.Data))
	if material == nil {
		material = keyMaterial{}
	}

	changed, err := r.server.issuer.repair(material)
	if err != nil {
		return ctrl.Result{}, err
	}
	if changed {
		if err := r.store(ctx, secret, material); err != nil {
			return again(err)
		}
	}
	if err := r.server.serve(material); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.publish(ctx, material[authorityKey]); err != nil {
		return again(err)
	}

	due, wait := r.server.issuer.due(material)
	if !due || wait > 0 {
		if !due {
			wait = checkInterval
		}
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if err := r.server.issuer.newCertificate(material); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.store(ctx, secret, material); err != nil {
		return again(err)
	}
	return ctrl.Result{RequeueAfter: checkInterval}, r.server.serve(material)
}

// again turns a conflict, which only means that another replica was first, into another look.
func again(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	return ctrl.Result{}, err
}

func (r *reconciler) store(ctx context.Context, secret *corev1.Secret, material keyMaterial) error {
	updated := secret.DeepCopy()
	updated.Data = material
	if err := r.client.Update(ctx, updated); err != nil {
		return fmt.Errorf("store the webhooks' certificates in Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	*secret = *updated
	log.FromContext(ctx).Info("Stored new webhook certificates")
	return nil
}

// publish writes the authority's bundle into every webhook that calls this server's Service.
func (r *reconciler) publish(ctx context.Context, bundle []byte) error {
	for _, configuration := range r.configurations() {
		if err := r.client.Get(ctx, client.ObjectKeyFromObject(configuration), configuration); apierrors.IsNotFound(err) {
			continue // its arrival is watched
		} else if err != nil {
			return err
		}
		operations := r.operations(configuration, bundle)
		if len(operations) == 0 {
			continue
		}
		patch, err := json.Marshal(operations)
		if err != nil {
			return err
		}
		if err := r.client.Patch(ctx, configuration, client.RawPatch(types.JSONPatchType, patch)); err != nil {
			return fmt.Errorf("publish the webhooks' certificate authority in %s: %w", configuration.GetName(), err)
		}
		log.FromContext(ctx).Info("Published the webhooks' certificate authority", "configuration", configuration.GetName())
	}
	return nil
}

// operation is one of a JSON Patch. A patch of these few values leaves alone fields that this program does not know.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func (r *reconciler) operations(configuration client.Object, bundle []byte) []operation {
	var list []operation
	add := func(i int, name string, c *admissionregistrationv1.WebhookClientConfig) {
		ours := c.Service != nil && c.Service.Name == r.server.options.Service && c.Service.Namespace == r.server.options.Namespace
		if !ours || bytes.Equal(c.CABundle, bundle) {
			return
		}
		list = append(list,
			operation{"test", fmt.Sprintf("/webhooks/%d/name", i), name},
			operation{"add", fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i), bundle})
	}
	switch c := configuration.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			add(i, c.Webhooks[i].Name, &c.Webhooks[i].ClientConfig)
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			add(i, c.Webhooks[i].Name, &c.Webhooks[i].ClientConfig)
		}
	}
	return list
}
