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

// WebhookServer says where a program serves its admission webhooks and by which names API servers find them.
type WebhookServer struct {
	// BindAddress serves the webhooks, as host:port or :port; "0" serves none. ":9443" when absent.
	// +optional
	BindAddress string `json:"bindAddress,omitempty"`
	// Namespace of the Service and the Secret. "evenkeel-system" when absent.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Service that the webhook configurations name. The program's name and "-webhooks" when absent.
	// +optional
	Service string `json:"service,omitempty"`
	// Secret that holds the certificates. It has to exist. The program's name and "-webhooks" when absent.
	// +optional
	Secret string `json:"secret,omitempty"`
	// Configuration is the name of the ValidatingWebhookConfiguration and of the MutatingWebhookConfiguration that get
	// the certificate authority. The program's name with "evenkeel-" in front when absent.
	// +optional
	Configuration string `json:"configuration,omitempty"`
}

// Verdict is what becomes of a doubtful request.
type Verdict string

const (
	// VerdictDeny refuses it.
	VerdictDeny Verdict = "Deny"
	// VerdictWarn lets it through and warns the one who asks.
	VerdictWarn Verdict = "Warn"
)

// HubWebhooks configures the hub's admission webhooks.
type HubWebhooks struct {
	WebhookServer `json:",inline"`
	// TrafficDrain guards the drains of InferenceServices.
	// +optional
	TrafficDrain TrafficDrainGuard `json:"trafficDrain,omitempty"`
}

// TrafficDrainGuard configures the guard of the annotation ome.io/traffic-drain.
type TrafficDrainGuard struct {
	// UnknownCluster is what becomes of a drain of a cluster that is neither in the service's TrafficMap nor a
	// WorkloadCluster: Deny or Warn. When absent it is denied where the service has a TrafficMap, and warned of elsewhere.
	// +optional
	UnknownCluster Verdict `json:"unknownCluster,omitempty"`
	// Blackout is what becomes of a drain that would leave the service without traffic: Deny or Warn. Deny when absent.
	// +optional
	Blackout Verdict `json:"blackout,omitempty"`
}
