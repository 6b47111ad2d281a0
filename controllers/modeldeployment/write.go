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

package modeldeployment

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// The functions below make one write each and remember it.

func (r *Reconciler) create(ctx context.Context, d *modelplane.ModelDeployment, o client.Object) error {
	if err := r.Client.Create(ctx, o, client.FieldOwner(FieldManager)); err != nil {
		return err
	}
	r.own.wrote(d, o, o.GetResourceVersion(), r.Clock.Now())
	return nil
}

func (r *Reconciler) update(ctx context.Context, d *modelplane.ModelDeployment, o client.Object) error {
	if err := r.Client.Update(ctx, o, client.FieldOwner(FieldManager)); err != nil {
		return err
	}
	r.own.wrote(d, o, o.GetResourceVersion(), r.Clock.Now())
	return nil
}

func (r *Reconciler) updateStatus(ctx context.Context, d *modelplane.ModelDeployment, o client.Object) error {
	if err := r.Client.Status().Update(ctx, o, client.FieldOwner(FieldManager)); err != nil {
		return err
	}
	r.own.wrote(d, o, o.GetResourceVersion(), r.Clock.Now())
	return nil
}

func (r *Reconciler) mergePatch(ctx context.Context, d *modelplane.ModelDeployment, o client.Object, patch []byte) error {
	target := o.DeepCopyObject().(client.Object)
	if err := r.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldManager)); err != nil {
		return err
	}
	r.own.wrote(d, o, target.GetResourceVersion(), r.Clock.Now())
	return nil
}

// applyStatus makes the controller's fields of a deployment's status exactly these.
func (r *Reconciler) applyStatus(ctx context.Context, d *modelplane.ModelDeployment, status map[string]any) error {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": modelplane.GroupVersion.String(),
		"kind":       "ModelDeployment",
		"metadata": map[string]any{
			"namespace": d.Namespace,
			"name":      d.Name,
			"uid":       string(d.UID),
		},
		"status": status,
	}}
	if err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(FieldManager), client.ForceOwnership); err != nil {
		return err
	}
	r.own.wrote(d, d, u.GetResourceVersion(), r.Clock.Now())
	return nil
}

// remove deletes an object on exactly its UID; that it is gone already is as good.
func (r *Reconciler) remove(ctx context.Context, d *modelplane.ModelDeployment, o client.Object, options ...client.DeleteOption) error {
	uid := o.GetUID()
	options = append([]client.DeleteOption{client.Preconditions{UID: &uid}}, options...)
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, o, options...)); err != nil {
		return err
	}
	r.own.deleted(d, o, r.Clock.Now())
	return nil
}
