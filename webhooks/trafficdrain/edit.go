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

package trafficdrain

import (
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	drains "github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// edit is what a request would make of an InferenceService.
type edit struct {
	// old is empty for a creation.
	old, object metav1.PartialObjectMetadata
	created     bool
	// routing is nil where the service has none, or none that this version understands.
	routing *v1beta1.RoutingSpec
}

// decode reads no more than the judgement needs, so that a field of OME's that this version does not know, or knows
// otherwise, keeps nobody from draining.
func decode(request admission.Request) (*edit, error) {
	e := &edit{created: request.Operation == admissionv1.Create}
	if err := json.Unmarshal(request.Object.Raw, &e.object); err != nil {
		return nil, fmt.Errorf("decode the InferenceService: %w", err)
	}
	if !e.created {
		if err := json.Unmarshal(request.OldObject.Raw, &e.old); err != nil {
			return nil, fmt.Errorf("decode the old InferenceService: %w", err)
		}
	}
	// The request names its namespace also where the object does not.
	e.object.Namespace = request.Namespace
	var service struct {
		Spec struct {
			Routing *v1beta1.RoutingSpec `json:"routing"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(request.Object.Raw, &service); err == nil {
		e.routing = service.Spec.Routing
	}
	return e, nil
}

func (e *edit) key() types.NamespacedName {
	return types.NamespacedName{Namespace: e.object.Namespace, Name: e.object.Name}
}

// derived tells whether the edit is of a copy that placement made. Placement makes them with their marks: an edit that
// marks a service does not make it a copy.
func (e *edit) derived() bool {
	if e.created {
		return drains.IsDerivedCopy(e.object.Labels, e.object.Annotations)
	}
	return drains.IsDerivedCopy(e.old.Labels, e.old.Annotations)
}

// service is what the weights depend on.
func (e *edit) service() *v1beta1.InferenceService {
	return &v1beta1.InferenceService{Spec: v1beta1.InferenceServiceSpec{Routing: e.routing}}
}
