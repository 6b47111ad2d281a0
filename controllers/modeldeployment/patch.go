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
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// updateReplica brings a replica to what is wanted by a merge patch, on exactly the observed resourceVersion. Unlike
// server-side apply this also takes away entries that somebody else has put into the lists, and unlike an update it
// leaves alone what the replica's other keeper, Crossplane, has in it.
func (r *Reconciler) updateReplica(ctx context.Context, d *modelplane.ModelDeployment, a replicas.UpdateReplica) error {
	if a.Drifted {
		r.warn(d, a.Placement, replicas.EventDrifted, fmt.Sprintf(
			"ModelReplica %s was edited by somebody else and is brought back: %s. Edit the deployment's template instead",
			a.Replica.Name, strings.Join(a.Fields, ", ")))
	}
	spec := a.Replica.Spec
	err := r.merge(ctx, d, a.Observed, a.Replica, map[string]any{
		"clusterName":   spec.ClusterName,
		"modelCacheRef": spec.ModelCacheRef,
		"serving":       spec.Serving,
		"engines":       spec.Engines,
	})
	if refused(err) {
		r.warn(d, a.Placement, replicas.EventRejected, fmt.Sprintf("The API server refuses the change of replica %s: %s", a.Replica.Name, replicas.Bounded(err.Error())))
	}
	return err
}

func (r *Reconciler) applyEndpoint(ctx context.Context, d *modelplane.ModelDeployment, a replicas.ApplyEndpoint) error {
	if a.Observed == nil {
		return r.create(ctx, d, a.Endpoint.DeepCopy())
	}
	return r.merge(ctx, d, a.Observed, a.Endpoint, map[string]any{
		"url":         a.Endpoint.Spec.URL,
		"rewritePath": a.Endpoint.Spec.RewritePath,
	})
}

func (r *Reconciler) merge(ctx context.Context, d *modelplane.ModelDeployment, observed, want client.Object, spec map[string]any) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid":             observed.GetUID(),
			"resourceVersion": observed.GetResourceVersion(),
			"labels":          mergedLabels(observed, want),
			"annotations":     mergedAnnotations(observed, want),
			"ownerReferences": mergedOwners(observed, want),
		},
		"spec": spec,
	})
	if err != nil {
		return err
	}
	return r.mergePatch(ctx, d, observed, patch)
}

// mergedLabels sets the wanted labels and takes away those that an earlier template had put there.
func mergedLabels(observed, want client.Object) map[string]any {
	labels := map[string]any{}
	for _, key := range ownedLabels(observed) {
		if _, found := observed.GetLabels()[key]; found {
			labels[key] = nil
		}
	}
	for key, value := range want.GetLabels() {
		labels[key] = value
	}
	return labels
}

// mergedAnnotations sets the wanted annotations, and takes away that requests are kept off where they are not any more.
func mergedAnnotations(observed, want client.Object) map[string]any {
	annotations := map[string]any{}
	if _, found := observed.GetAnnotations()[evenkeel.AnnotationTrafficWithdrawnAt]; found {
		annotations[evenkeel.AnnotationTrafficWithdrawnAt] = nil
	}
	for key, value := range want.GetAnnotations() {
		annotations[key] = value
	}
	return annotations
}

// ownedLabels gives the label keys that this controller has set, as the API server keeps them.
func ownedLabels(o client.Object) []string {
	var keys []string
	for _, entry := range o.GetManagedFields() {
		if entry.Manager != FieldManager || entry.FieldsV1 == nil || entry.Subresource != "" {
			continue
		}
		var fields struct {
			Metadata struct {
				Labels map[string]any `json:"f:labels"`
			} `json:"f:metadata"`
		}
		if json.Unmarshal(entry.FieldsV1.Raw, &fields) != nil {
			continue
		}
		for field := range fields.Metadata.Labels {
			if key, found := strings.CutPrefix(field, "f:"); found {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// mergedOwners makes the deployment the controller and keeps other owners that are none.
func mergedOwners(observed, want client.Object) []metav1.OwnerReference {
	owners := want.GetOwnerReferences()
	for _, owner := range observed.GetOwnerReferences() {
		if owner.UID != owners[0].UID {
			owners = append(owners, owner)
		}
	}
	return owners
}
