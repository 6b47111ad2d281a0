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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

const (
	// GatewayNamespace and GatewayName name the Gateway that Modelplane's HTTPRoutes
	// are attached to.
	GatewayNamespace = "modelplane-system"
	GatewayName      = "modelplane"

	// backendPort of the Service that Modelplane makes for an endpoint.
	backendPort = 80
)

// httpRouteSpec is the route of a ModelService, with nothing left to the defaults of
// the API server, so that it can be compared with what is there.
func httpRouteSpec(service *modelplane.ModelService, backends []weightedBackend) gatewayv1.HTTPRouteSpec {
	key := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
	refs := make([]gatewayv1.HTTPBackendRef, 0, len(backends))
	for _, b := range backends {
		refs = append(refs, backendRef(b))
	}
	return gatewayv1.HTTPRouteSpec{
		CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{
			Group:     ptr.To(gatewayv1.Group(gatewayv1.GroupName)),
			Kind:      ptr.To(gatewayv1.Kind("Gateway")),
			Namespace: ptr.To(gatewayv1.Namespace(GatewayNamespace)),
			Name:      GatewayName,
		}}},
		Rules: []gatewayv1.HTTPRouteRule{{
			Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{
				Type:  ptr.To(gatewayv1.PathMatchPathPrefix),
				Value: ptr.To(servicePrefix(key)),
			}}},
			BackendRefs: refs,
		}},
	}
}

func backendRef(b weightedBackend) gatewayv1.HTTPBackendRef {
	return gatewayv1.HTTPBackendRef{
		BackendRef: gatewayv1.BackendRef{
			BackendObjectReference: gatewayv1.BackendObjectReference{
				Group:     ptr.To(gatewayv1.Group("")),
				Kind:      ptr.To(gatewayv1.Kind("Service")),
				Namespace: ptr.To(gatewayv1.Namespace(b.key.Namespace)),
				Name:      gatewayv1.ObjectName(b.key.Name),
				Port:      ptr.To(gatewayv1.PortNumber(backendPort)),
			},
			Weight: ptr.To(int32(b.weight)),
		},
		Filters: []gatewayv1.HTTPRouteFilter{{
			Type: gatewayv1.HTTPRouteFilterURLRewrite,
			URLRewrite: &gatewayv1.HTTPURLRewriteFilter{Path: &gatewayv1.HTTPPathModifier{
				Type:               gatewayv1.PrefixMatchHTTPPathModifier,
				ReplacePrefixMatch: ptr.To(b.rewritePath),
			}},
		}},
	}
}

// attached tells whether a route is for the gateway that the stand-in plays.
func attached(route *gatewayv1.HTTPRoute) bool {
	for _, parent := range route.Spec.ParentRefs {
		namespace := route.Namespace
		if parent.Namespace != nil {
			namespace = string(*parent.Namespace)
		}
		if parent.Name == GatewayName && namespace == GatewayNamespace {
			return true
		}
	}
	return false
}

// rulesOf reads a route, whoever wrote it. Of what a rule can match by, only path
// prefixes are known; a rule that has none is for every path.
func rulesOf(route *gatewayv1.HTTPRoute) []*rule {
	var rules []*rule
	for i := range route.Spec.Rules {
		r := &route.Spec.Rules[i]
		backends := backendsOf(route.Namespace, r.BackendRefs)
		if len(r.Matches) == 0 {
			rules = append(rules, newRule("/", backends))
		}
		for _, match := range r.Matches {
			prefix := "/"
			if match.Path != nil {
				prefix = ptr.Deref(match.Path.Value, "/")
			}
			rules = append(rules, newRule(prefix, backends))
		}
	}
	return rules
}

func backendsOf(namespace string, refs []gatewayv1.HTTPBackendRef) []weightedBackend {
	backends := make([]weightedBackend, 0, len(refs))
	for i := range refs {
		ref := &refs[i]
		b := weightedBackend{
			key: types.NamespacedName{
				Namespace: string(ptr.Deref(ref.Namespace, gatewayv1.Namespace(namespace))),
				Name:      string(ref.Name),
			},
			weight: int64(ptr.Deref(ref.Weight, 1)),
		}
		for _, filter := range ref.Filters {
			if filter.URLRewrite != nil && filter.URLRewrite.Path != nil {
				b.rewritePath = ptr.Deref(filter.URLRewrite.Path.ReplacePrefixMatch, "")
			}
		}
		backends = append(backends, b)
	}
	return backends
}
