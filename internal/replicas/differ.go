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

package replicas

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// differences names what of a replica is not as wanted. Labels, annotations and owners of others do not count, and
// neither does the order of engines and device requests, which have names.
func differences(have, want *modelplane.ModelReplica) []string {
	fields := metaDifferences(have, want)
	a, b := normalized(&have.Spec), normalized(&want.Spec)
	for _, field := range []struct {
		name string
		same bool
	}{
		{"spec.clusterName", a.ClusterName == b.ClusterName},
		{"spec.modelCacheRef", equality.Semantic.DeepEqual(a.ModelCacheRef, b.ModelCacheRef)},
		{"spec.serving", equality.Semantic.DeepEqual(a.Serving, b.Serving)},
		{"spec.engines", equality.Semantic.DeepEqual(a.Engines, b.Engines)},
	} {
		if !field.same {
			fields = append(fields, field.name)
		}
	}
	return fields
}

func metaDifferences(have, want metav1.Object) []string {
	var fields []string
	if !contains(have.GetLabels(), want.GetLabels()) {
		fields = append(fields, "metadata.labels")
	}
	if !contains(have.GetAnnotations(), want.GetAnnotations()) {
		fields = append(fields, "metadata.annotations")
	}
	if owner := metav1.GetControllerOf(have); owner == nil || owner.UID != want.GetOwnerReferences()[0].UID {
		fields = append(fields, "metadata.ownerReferences")
	}
	return fields
}

// contains tells whether all of want is in have. A replica that is as wanted need not be touched only to say so.
func contains(have, want map[string]string) bool {
	for k, v := range want {
		if got, found := have[k]; (!found || got != v) && k != AnnotationTemplateHash {
			return false
		}
	}
	return true
}

// normalized is a copy with the API's defaults applied and named lists in one order.
func normalized(in *modelplane.ModelReplicaSpec) *modelplane.ModelReplicaSpec {
	spec := in.DeepCopy()
	if spec.Serving == nil {
		spec.Serving = &modelplane.Serving{}
	}
	if spec.Serving.Mode == "" {
		spec.Serving.Mode = modelplane.ServingModeUnified
	}
	slices.SortFunc(spec.Engines, func(a, b modelplane.ReplicaEngine) int { return cmp.Compare(a.Name, b.Name) })
	for i := range spec.Engines {
		engine := &spec.Engines[i]
		engine.Copies = ptr.To(ptr.Deref(engine.Copies, 1))
		for j := range engine.Members {
			normalizeMember(&engine.Members[j])
		}
	}
	return spec
}

func normalizeMember(member *modelplane.ReplicaMember) {
	if member.Role == "" {
		member.Role = modelplane.MemberRoleStandalone
	}
	slices.SortFunc(member.DeviceRequests, func(a, b modelplane.ReplicaDeviceRequest) int { return cmp.Compare(a.Name, b.Name) })
	for i := range member.DeviceRequests {
		member.DeviceRequests[i].Count = ptr.To(ptr.Deref(member.DeviceRequests[i].Count, 1))
	}
}
