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

package trafficpublisher

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	gateway "sigs.k8s.io/gateway-api/apis/v1"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// maxBackends is how many backends a rule of an HTTPRoute may have.
const maxBackends = 16

// Gateway is where and how to publish.
type Gateway struct {
	Namespace, Name string
	BackendPort     int32
	HostTemplate    string
	// RouteNamespace may be empty for the namespace of the service.
	RouteNamespace  string
	RewriteHostname bool
}

// plan is everything that is to be there for one map.
type plan struct {
	service  types.NamespacedName
	host     string
	route    *gateway.HTTPRoute
	backends []*corev1.Service
	digest   string
}

func (p *plan) key() types.NamespacedName {
	return types.NamespacedName{Namespace: p.route.Namespace, Name: p.route.Name}
}

// hostOf is the public host of a service, or empty if it has none.
func (g *Gateway) hostOf(isvc *ome.InferenceService) (string, error) {
	if host := isvc.Annotations[ome.GlobalHostAnnotation]; host != "" {
		return host, nil
	}
	if g.HostTemplate == "" {
		return "", nil
	}
	t, err := template.New("host").Option("missingkey=error").Parse(g.HostTemplate)
	if err != nil {
		return "", fmt.Errorf("the host template: %w", err)
	}
	var host bytes.Buffer
	if err := t.Execute(&host, map[string]string{"Name": isvc.Name, "Namespace": isvc.Namespace}); err != nil {
		return "", fmt.Errorf("the host template: %w", err)
	}
	return host.String(), nil
}

// newPlan makes the plan of a map under a host. Entries are in the order of their clusters,
// and so are the route's backends.
func (g *Gateway) newPlan(tm *ome.TrafficMap, host string) (*plan, error) {
	if faults := validation.IsDNS1123Subdomain(host); len(faults) > 0 {
		return nil, fmt.Errorf("the global host %q is no host name: %s", host, faults[0])
	}
	if n := len(tm.Spec.Entries); n > maxBackends {
		return nil, fmt.Errorf("TrafficMap has %d entries, Gateway API HTTPRoute rules support at most %d backendRefs", n, maxBackends)
	}
	service := types.NamespacedName{Namespace: tm.Namespace, Name: tm.Name}
	namespace := g.RouteNamespace
	if namespace == "" {
		namespace = tm.Namespace
	}
	p := &plan{service: service, host: host}
	rule := gateway.HTTPRouteRule{Matches: []gateway.HTTPRouteMatch{{
		Path: &gateway.HTTPPathMatch{Type: ptr.To(gateway.PathMatchPathPrefix), Value: ptr.To("/")},
	}}}
	for _, e := range tm.Spec.Entries {
		backend, err := g.backend(service, namespace, e)
		if err != nil {
			return nil, err
		}
		p.backends = append(p.backends, backend)
		rule.BackendRefs = append(rule.BackendRefs, g.backendRef(backend, e.Weight))
	}
	p.route = &gateway.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: routeName(service, namespace), Labels: ownLabels(service)},
		Spec: gateway.HTTPRouteSpec{
			CommonRouteSpec: gateway.CommonRouteSpec{ParentRefs: []gateway.ParentReference{g.parentRef()}},
			Hostnames:       []gateway.Hostname{gateway.Hostname(host)},
			Rules:           []gateway.HTTPRouteRule{rule},
		},
	}
	p.digest = g.optionsDigest(host)
	return p, nil
}

func (g *Gateway) parentRef() gateway.ParentReference {
	return gateway.ParentReference{
		Group:     ptr.To(gateway.Group(gateway.GroupName)),
		Kind:      ptr.To(gateway.Kind("Gateway")),
		Namespace: ptr.To(gateway.Namespace(g.Namespace)),
		Name:      gateway.ObjectName(g.Name),
	}
}

func (g *Gateway) backend(service types.NamespacedName, namespace string, e ome.TrafficMapEntry) (*corev1.Service, error) {
	u, err := url.Parse(e.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("the endpoint of cluster %s is no URL", e.Cluster)
	}
	host := u.Hostname()
	if faults := validation.IsDNS1123Subdomain(host); len(faults) > 0 {
		return nil, fmt.Errorf("the endpoint of cluster %s has no host name that a Service can point to: %q", e.Cluster, host)
	}
	labels := ownLabels(service)
	labels[labelCluster] = shortened(e.Cluster)
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: backendName(service, e.Cluster), Labels: labels},
		Spec: corev1.ServiceSpec{
			Type:            corev1.ServiceTypeExternalName,
			ExternalName:    host,
			SessionAffinity: corev1.ServiceAffinityNone,
			Ports:           []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: g.BackendPort, TargetPort: intstr.FromInt32(g.BackendPort)}},
		},
	}, nil
}

func (g *Gateway) backendRef(backend *corev1.Service, weight int32) gateway.HTTPBackendRef {
	ref := gateway.HTTPBackendRef{BackendRef: gateway.BackendRef{
		BackendObjectReference: gateway.BackendObjectReference{
			Group:     ptr.To(gateway.Group("")),
			Kind:      ptr.To(gateway.Kind("Service")),
			Namespace: ptr.To(gateway.Namespace(backend.Namespace)),
			Name:      gateway.ObjectName(backend.Name),
			Port:      ptr.To(gateway.PortNumber(g.BackendPort)),
		},
		Weight: ptr.To(weight),
	}}
	if g.RewriteHostname {
		ref.Filters = []gateway.HTTPRouteFilter{{
			Type:       gateway.HTTPRouteFilterURLRewrite,
			URLRewrite: &gateway.HTTPURLRewriteFilter{Hostname: ptr.To(gateway.PreciseHostname(backend.Spec.ExternalName))},
		}}
	}
	return ref
}

// optionsDigest changes with everything that a plan depends on apart from the map.
func (g *Gateway) optionsDigest(host string) string {
	content, _ := json.Marshal(struct {
		*Gateway
		Host string
	}{g, host}) // strings and numbers cannot fail to encode
	return "sha256:" + digest(string(content))
}
