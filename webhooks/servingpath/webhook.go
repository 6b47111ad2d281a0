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
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/evenkeel-io/evenkeel/internal/autoscalers"
	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// Path that the webhook is served at.
const Path = "/mutate-serving-path"

// auditFilled is the key of the audit annotation that lists what was filled in.
const auditFilled = "filled"

// Handler fills in objects of the serving path.
type Handler struct {
	// Catalogue says what the serving path is.
	Catalogue *servingpath.Catalogue
	// Reader finds autoscalers; it should read from a cache.
	Reader client.Reader
}

var _ admission.Handler = &Handler{}

// Handle answers one request. The error of a step is told in a warning, never by a refusal.
func (h *Handler) Handle(ctx context.Context, request admission.Request) admission.Response {
	var response admission.Response
	var err error
	switch request.Kind.Kind {
	case "Deployment":
		response, err = h.deployment(ctx, request.Object.Raw)
	case "Pod":
		response, err = h.pod(request.Namespace, request.Object.Raw)
	case servingpath.EnvoyProxyKind.Kind:
		response, err = h.envoyProxy(request.Object.Raw)
	default:
		return admission.Allowed("")
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "Cannot fill in an object of the serving path", "kind", request.Kind.Kind, "namespace", request.Namespace, "name", request.Name)
		return admission.Allowed("").WithWarnings("evenkeel left this object as it is: " + err.Error())
	}
	return response
}

func (h *Handler) deployment(ctx context.Context, raw []byte) (admission.Response, error) {
	before := &appsv1.Deployment{}
	if err := json.Unmarshal(raw, before); err != nil {
		return admission.Response{}, err
	}
	component := h.Catalogue.ForDeployment(before)
	if component == nil {
		return admission.Allowed(""), nil
	}
	autoscaler, err := autoscalers.For(ctx, h.Reader, before)
	if err != nil {
		return admission.Response{}, err
	}
	after := before.DeepCopy()
	return answer(before, after, h.Catalogue.FillDeployment(after, component, autoscaler))
}

func (h *Handler) pod(namespace string, raw []byte) (admission.Response, error) {
	before := &corev1.Pod{}
	if err := json.Unmarshal(raw, before); err != nil {
		return admission.Response{}, err
	}
	after := before.DeepCopy()
	after.Namespace = namespace // a new pod's own may be empty
	component := h.Catalogue.ForPod(after)
	after.Namespace = before.Namespace
	if component == nil {
		return admission.Allowed(""), nil
	}
	return answer(before, after, h.Catalogue.FillPod(after, component))
}

func (h *Handler) envoyProxy(raw []byte) (admission.Response, error) {
	before := &unstructured.Unstructured{}
	if err := before.UnmarshalJSON(raw); err != nil {
		return admission.Response{}, err
	}
	component := h.Catalogue.ForEnvoyProxy(before)
	if component == nil {
		return admission.Allowed(""), nil
	}
	after := before.DeepCopy()
	return answer(before, after, h.Catalogue.FillEnvoyProxy(after, component))
}

// answer patches only what was filled in, so that fields that this program does not know survive.
func answer(before, after any, filled servingpath.Filled) (admission.Response, error) {
	if len(filled.Set) == 0 {
		return admission.Allowed("").WithWarnings(warnings(filled)...), nil
	}
	old, err := json.Marshal(before)
	if err != nil {
		return admission.Response{}, err
	}
	changed, err := json.Marshal(after)
	if err != nil {
		return admission.Response{}, err
	}
	response := admission.PatchResponseFromRaw(old, changed).WithWarnings(warnings(filled)...)
	response.AuditAnnotations = map[string]string{auditFilled: strings.Join(filled.Set, ", ")}
	return response, nil
}

func warnings(filled servingpath.Filled) []string {
	if filled.Autoscaled {
		return nil
	}
	var list []string
	for _, why := range filled.LeftAlone {
		list = append(list, "evenkeel: "+why)
	}
	return list
}
