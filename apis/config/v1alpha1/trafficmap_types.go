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

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TrafficMapController configures the controllers that write the TrafficMaps of InferenceServices and tell a gateway
// about them. They are for hubs where OME does not do it.
type TrafficMapController struct {
	// Enabled switches them on. False when absent. With OME's own routing switched on beside it, the manager ends at
	// its start.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// OMENamespace is where OME is installed, which is where to look whether its own routing is on. "ome" when absent.
	// +optional
	OMENamespace string `json:"omeNamespace,omitempty"`
	// MaxConcurrentReconciles is how many services are looked at, and how many maps published, at once. 8 when absent.
	// +optional
	MaxConcurrentReconciles *int32 `json:"maxConcurrentReconciles,omitempty"`
	// Probe is the health probe of services that have none of their own in spec.routing.probe. None when absent.
	// +optional
	Probe *TrafficMapProbe `json:"probe,omitempty"`
	// Gateway that the weights are published to. Without one they are in the TrafficMaps only.
	// +optional
	Gateway *TrafficMapGateway `json:"gateway,omitempty"`
}

// TrafficMapProbe asks the endpoints of a service whether they work. All fields must be set.
type TrafficMapProbe struct {
	// Path that is asked for; it begins with "/".
	Path string `json:"path"`
	// Method is GET, HEAD or POST.
	Method string `json:"method"`
	// AcceptStatuses are HTTP statuses that pass.
	AcceptStatuses []int32 `json:"acceptStatuses"`
	// GateStatuses are HTTP statuses that fail. One in neither list is no verdict.
	GateStatuses []int32 `json:"gateStatuses"`
	// Period between two probes of one endpoint, at least 1s.
	Period metav1.Duration `json:"period"`
	// Timeout of a probe, shorter than Period.
	Timeout metav1.Duration `json:"timeout"`
	// FailureThreshold is how many failures in a row take an endpoint out.
	FailureThreshold int32 `json:"failureThreshold"`
	// SuccessThreshold is how many passes in a row bring it back.
	SuccessThreshold int32 `json:"successThreshold"`
	// AllFailedPolicy is what becomes of a service whose endpoints have all failed: PreserveTraffic or Drain.
	AllFailedPolicy string `json:"allFailedPolicy"`
}

// TrafficMapGateway names the gateway that HTTPRoutes are attached to, and how.
type TrafficMapGateway struct {
	// Namespace of the Gateway.
	Namespace string `json:"namespace"`
	// Name of the Gateway.
	Name string `json:"name"`
	// BackendPort is the port of the workload clusters' endpoints.
	BackendPort int32 `json:"backendPort"`
	// HostTemplate makes the public host of a service, as a Go template with .Name and .Namespace. The annotation
	// ome.io/global-host goes before it. A service without a host is not published.
	// +optional
	HostTemplate string `json:"hostTemplate,omitempty"`
	// RouteNamespace of the HTTPRoutes and Services. That of the InferenceService when absent.
	// +optional
	RouteNamespace string `json:"routeNamespace,omitempty"`
	// RewriteHostname has the gateway send requests with the host of the endpoint that they go to.
	// +optional
	RewriteHostname bool `json:"rewriteHostname,omitempty"`
	// ResyncInterval is how often a published map is compared with what is there. 1m when absent.
	// +optional
	ResyncInterval metav1.Duration `json:"resyncInterval,omitempty"`
}
